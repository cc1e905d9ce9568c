"""DaemonSets are explained node by node: where a pod is and how it is, where none is and why, also if DESIRED is 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_clusters import Scene, scenes
from tests.objects import taint
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

import moorage
from moorage.cli.commands.explain import command
from moorage.match.daemon_pods import DaemonObjections, DaemonTemplate
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.explain.daemon_set import DaemonExplanation, DaemonState, explain_daemon_set, plain_daemon_set
from moorage.plan.explain.daemon_text import DaemonText
from moorage.plan.explain.target import TargetError, daemon_set_named
from moorage.plan.planner import Planner, Settings

GATES = gates_from({"AllAlpha": True})


def explained(*documents: Raw, node: str = "", alone: bool = False) -> DaemonExplanation:
    planner = Planner(Settings(GATES))
    planner.load(written(*documents))
    simulation, inventory = planner.build(), planner.inventory
    item = daemon_set_named(inventory, "ds/agent")
    assert item is not None
    return explain_daemon_set(simulation, inventory, item, node, alone=alone)


def agent(cpu: str = "1", **pods: Any) -> Raw:
    return workload("DaemonSet", "agent", cpu, pods)


def states(told: DaemonExplanation) -> dict[str, str]:
    return {name: group.state.value for group in told.groups for name in group.nodes}


def why(told: DaemonExplanation, name: str) -> list[str]:
    (group,) = (group for group in told.groups if name in group.nodes)
    verdicts = [refusal.verdict for refusal in group.refused.refusals]
    return [text for verdict in verdicts for text in verdict.details or verdict.reasons]


def printed(told: DaemonExplanation, *, everything: bool = False) -> str:
    return " ".join("\n".join(DaemonText(width=200, everything=everything).daemon_lines(told)).split())


def in_term(*expressions: Raw) -> Raw:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


@pytest.mark.parametrize(
    ("given", "pods", "state", "reasons"),
    [
        (node("n1"), {}, "Running", []),
        (
            node("n1", taints=[taint("spot", "15")]),
            {},
            "NoPod",
            ["taint spot=15 is not tolerated: no toleration is for its key and effect"],
        ),
        (
            node("n1", taints=[taint("spot", "15", "NoExecute")]),
            {"tolerations": [{"key": "spot", "operator": "Lt", "value": "10"}]},
            "NoPod",
            ["taint spot=15 is not tolerated: 15 < 10 is false (toleration Lt 10)"],
        ),
        (node("n1", taints=[taint("spot", "15", "PreferNoSchedule")]), {}, "Running", []),
        (node("n1", taints=[taint("node.kubernetes.io/unschedulable", "")]), {}, "Running", []),
        (node("n1", taints=[taint("node.kubernetes.io/disk-pressure", "")]), {}, "Running", []),
        (node("n1", disk="hdd"), {"nodeSelector": {"disk": "ssd"}}, "NoPod", ["label disk=hdd: hdd = ssd is false"]),
        (
            node("n1", gen="3"),
            {"affinity": in_term({"key": "gen", "operator": "Gt", "values": ["7"]})},
            "NoPod",
            ["label gen=3: 3 > 7 is false"],
        ),
        (node("n1"), {"nodeName": "other"}, "NoPod", ["the template asks for node other"]),
        (
            node("n1", taints=[taint("a", "1"), taint("b", "2")]),
            {"nodeSelector": {"disk": "ssd"}},
            "NoPod",
            [
                "taint a=1 is not tolerated: no toleration is for its key and effect",
                "taint b=2 is not tolerated: no toleration is for its key and effect",
                "label disk is missing, disk=ssd is required",
            ],
        ),
    ],
)
def test_a_node_has_a_pod_or_every_reason_why_not(given: Raw, pods: Raw, state: str, reasons: list[str]) -> None:
    told = explained(given, agent(**pods))
    assert (states(told), why(told, "n1")) == ({"n1": state}, reasons)
    assert (told.desired, told.current, told.ready) == ((1, 1, 1) if state == "Running" else (0, 0, 0))
    assert not told.is_pending


def test_room_is_the_schedulers_matter() -> None:
    told = explained(node("small", "2"), node("large"), agent("3"))
    assert states(told) == {"small": "Pending", "large": "Running"}
    assert why(told, "small") == ["cpu: 3 <= 2 is false (allocatable 2, requested 0)"]
    assert (told.desired, told.current, told.ready, told.available) == (2, 2, 1, 1)
    assert told.is_pending
    assert told.message == "1 of the 2 nodes that should run a pod does not"
    assert told.pending is not None
    assert "cpu 3 → at most 2 (lower by 1)" in [one.change.summary for one in told.suggestions]
    text = printed(told)
    assert "Pending on 1 of 2 nodes small NodeResourcesFit: Insufficient cpu cpu: 3 <= 2 is false" in text
    assert f"pod {told.pending.pod}" in text


def test_pods_that_the_api_server_refuses() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    told = explained(node("a"), node("b"), node("c", taints=[taint("k", "1")]), quota, agent())
    assert sorted(states(told).values()) == ["NoPod", "Refused", "Running"]
    (refused,) = told.of_state(DaemonState.REFUSED)
    assert "exceeded quota: q" in why(told, refused.nodes[0])[0]
    assert (told.desired, told.current) == (2, 1)
    assert "ResourceQuota q: pods 1 → 2" in [one.change.summary for one in told.suggestions]
    assert "Its pods would be let in with any one of these changes (each was tried)" in printed(told)


def test_a_pod_stays_though_none_would_be_made_again() -> None:
    old = running("agent-1", "n1", ("DaemonSet", "agent"), labels={"app": "agent"})
    old["metadata"]["ownerReferences"][0]["uid"] = "uid-of-agent"
    daemons = agent()
    daemons["metadata"]["uid"] = "uid-of-agent"
    told = explained(node("n1", taints=[taint("maintenance", "1")]), daemons, old)
    assert states(told) == {"n1": "Stays"}
    assert why(told, "n1") == ["taint maintenance=1 is not tolerated: no toleration is for its key and effect"]
    assert "A pod that stays, though none would be made there again on 1 of 1 node" in printed(told)
    gone = explained(node("n1", taints=[taint("maintenance", "1", "NoExecute")]), daemons, old)
    assert states(gone) == {"n1": "NoPod"}


def test_desired_0_names_the_reason_that_keeps_most_nodes_out() -> None:
    nodes = [node("a", disk="hdd"), node("b"), node("c", disk="ssd", taints=[taint("gpu", "a100")])]
    told = explained(*nodes, node("d", taints=[taint("gpu", "t4")]), agent(nodeSelector={"disk": "ssd"}))
    assert (told.desired, told.nodes) == (0, 4)
    assert told.message == (
        "no node should run a pod; one reason keeps out 3 of 4 nodes: label disk=hdd: hdd = ssd is false"
    )
    text = printed(told)
    assert "DESIRED 0 CURRENT 0 READY 0 UP-TO-DATE 0 AVAILABLE 0" in text
    assert "No pod is wanted on 4 of 4 nodes" in text
    assert all(f" {name} " in text for name in "abcd")
    assert "It would run with any one of these changes (each was tried)" in text
    opened = {one.change.summary: one.nodes for one in told.suggestions}
    assert opened["drop disk: ssd from nodeSelector"] == ("a", "b")
    assert opened["add a toleration for gpu: Equal a100, NoSchedule"] == ("c",)
    remedy = next(one.remedy for one in told.suggestions if one.change.summary == "drop disk: ssd from nodeSelector")
    assert remedy is not None
    assert remedy.target is not None
    assert (remedy.target.kind, remedy.target.name) == ("DaemonSet", "agent")


def test_every_suggestion_makes_the_controller_run_a_pod_there() -> None:
    documents = [node("a", disk="hdd"), node("b", disk="ssd", taints=[taint("fp", "30")]), node("c", "1")]
    pods: Raw = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "fp", "operator": "Lt", "value": "5"}]}
    told = explained(*documents, agent(**pods))
    assert len(told.suggestions) > 3
    for suggestion in told.suggestions:
        remedy = suggestion.remedy
        assert remedy is not None
        after = moorage.plan([*documents, agent(**pods)], change=remedy.manifest, gates={"AllAlpha": True})
        on = {line.node for line in after.pods if line.workload == "DaemonSet default/agent"}
        assert set(suggestion.nodes) <= on | {""}, suggestion.change.summary
        assert on, suggestion.change.summary


def test_no_suggestion_takes_a_pod_from_a_node() -> None:
    documents = node("a", disk="ssd"), node("b", disk="hdd"), agent(nodeSelector={"disk": "ssd"})
    opened = {one.change.summary: one.nodes for one in explained(*documents).suggestions}
    assert "nodeSelector disk: ssd → hdd" not in opened
    assert opened["drop disk: ssd from nodeSelector"] == ("b",)


def test_nodes_are_put_together_and_all_prints_each() -> None:
    nodes = [node(f"n{i}", taints=[taint("spot", str(i))]) for i in range(30)]
    told = explained(*nodes, agent())
    text = printed(told)
    assert "30 nodes, such as n0, n1 one reason away" in text
    full = printed(told, everything=True)
    assert all(f"taint spot={i} is not tolerated" in full for i in range(30))
    assert len(plain_daemon_set(told)["groups"]) == 30


def test_one_node() -> None:
    told = explained(node("a"), node("b", taints=[taint("k", "1")]), agent(), node="b")
    assert states(told) == {"b": "NoPod"}
    assert [one.nodes for one in told.suggestions] != []
    assert all(one.nodes == ("b",) for one in told.suggestions)
    with pytest.raises(TargetError, match="there is no node 'x'"):
        explained(node("a"), agent(), node="x")


def test_no_nodes_and_pods_not_placed_yet() -> None:
    assert explained(agent()).message == "there are no nodes in the input"
    assert states(explained(node("a"), agent(), alone=True)) == {"a": "Pending"}


def ran(tmp_path: Path, *arguments: str, documents: list[Raw]) -> Any:
    path = tmp_path / "cluster.json"
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return CliRunner().invoke(command, [*arguments, "-f", str(path)], standalone_mode=False)


def test_the_command_and_the_library_say_the_same(tmp_path: Path) -> None:
    documents = [node("a", "1"), node("b"), agent("2"), pod("other")]
    done = ran(tmp_path, "daemonset/agent", "-o", "json", "--strict", documents=documents)
    assert done.return_value == 1
    document = json.loads(done.stdout)
    assert (document["standing"], document["desired"], document["ready"]) == ("Pending", 2, 1)
    assert [group["state"] for group in document["groups"]] == ["Running", "Pending"]
    told = moorage.explain("daemonset/agent", documents)
    assert isinstance(told, DaemonExplanation)
    assert (told.message, told.is_pending) == (document["message"], True)
    assert ran(tmp_path, "ds/agent", "--strict", documents=[node("b"), agent("2")]).return_value == 0
    page = ran(tmp_path, "ds/agent", "-o", "html", "--strict", documents=documents)
    assert page.return_value == 1
    assert "1 of the 2 nodes that should run a pod does not" in page.stdout
    missing = ran(tmp_path, "ds/agnet", documents=documents)
    assert missing.return_value == 2
    assert "there is no DaemonSet 'agnet' in the input; did you mean agent?" in missing.stderr


class HalfBlind(DaemonTemplate):
    """Broken on purpose: says nothing of taints."""

    def objections(self, node: Node) -> DaemonObjections:
        return super().objections(node)._replace(taints=[])


def _law(kind: type[DaemonTemplate]) -> Any:
    @LAW_SETTINGS
    @given(scenes())
    def law(scene: Scene) -> None:
        template = kind(convert_view(scene.pod, Pod).spec, GATES)
        for raw in scene.nodes:
            view = convert_view(raw, Node)
            objections = template.objections(view)
            assert template.fits(view).should_run is objections.is_empty
            assert bool(template.sentences(objections)) is not objections.is_empty

    return law


def test_a_node_without_a_pod_has_a_reason_and_no_other_node_has() -> None:
    _law(DaemonTemplate)()


def test_reasons_that_leave_out_taints_are_noticed() -> None:
    assert_notices(_law(HalfBlind))
