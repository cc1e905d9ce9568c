"""The questions `what-if` and `rollout`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from tests.unit.plan.planning import Plan, node, workload

from moorage.cli.commands.plan import command
from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.changes import kubectl_commands, read_changes

Raw = dict[str, Any]
GATES = {"AllAlpha": True, "AllBeta": True}
PATIENT = [{"key": "risk", "operator": "Lt", "value": "20", "effect": "NoExecute", "tolerationSeconds": 300}]
SPOT = {"label": {"key": "pool", "value": "spot"}}
CLUSTER: list[Raw] = [
    node("spot-1", taints=[{"key": "risk", "value": "5", "effect": "NoExecute"}], pool="spot"),
    node("spot-2", pool="spot"),
    node("calm", pool="calm"),
    workload("Deployment", "web", "1", {"nodeSelector": {"pool": "spot"}}, replicas=2),
    workload("Deployment", "batch", "1", {"tolerations": PATIENT, "nodeSelector": {"pool": "spot"}}, replicas=2),
]


def ask(changes: list[Raw] | Any, question: str = "what-if", **more: Any) -> list[Raw]:
    plan = Plan(*CLUSTER, gates=GATES)
    arguments = {"changes": changes, **more} if question == "what-if" else {**more}
    return list(parts_of(QUESTIONS[question], Base(plan.planner, plan.simulation, plan.outcome), arguments))


def taint(nodes: Any, value: str = "9", effect: str = "NoExecute") -> Raw:
    return {"taint": {"nodes": nodes, "key": "risk", "value": value, "effect": effect}}


def printed(tmp_path: Path, asked: str) -> Raw:
    """What the command prints as `whatIf` for the command line of an answer."""
    (tmp_path / "cluster.yaml").write_text("---\n".join(yaml.safe_dump(one) for one in CLUSTER))
    words = shlex.split(asked)
    assert words[:2] == ["moorage", "plan"]
    gates = ["--feature-gates", "AllAlpha=true,AllBeta=true"]
    result = CliRunner().invoke(
        command, [str(tmp_path / "cluster.yaml"), *words[2:], *gates, "-o", "json"], standalone_mode=False
    )
    found: Raw = json.loads(result.output)["whatIf"]
    return found


@pytest.mark.parametrize(
    "changes",
    [
        [taint(["spot-2"])],
        [taint("all", "30")],
        [taint({"label": {"key": "pool", "value": "spot"}}, "30")],
        [{"untaint": {"nodes": "all", "key": "risk"}}],
        [{"label": {"nodes": ["calm"], "key": "pool", "value": "spot"}}, {"cordon": "spot-2"}],
        [{"label": {"nodes": ["spot-2"], "key": "pool", "value": None}}, {"drain": "spot-1"}],
        [{"scale": {"workload": "deployment/default/web", "replicas": 5}}, {"remove": "spot-2"}],
        [{"drain": {"nodes": SPOT}}],
        [{"cordon": {"nodes": "all"}}, {"remove": {"nodes": ["spot-1", "spot-2"]}}],
        [{"drain": ["calm", "spot-1"]}, {"remove": {"nodes": {"label": {"key": "pool", "value": "calm"}}}}],
        [{"addNodes": {"count": 2, "like": "spot-2"}}, taint(["spot-2"], effect="NoSchedule")],
    ],
)
def test_the_answer_is_what_the_command_prints(changes: list[Raw], tmp_path: Path) -> None:
    *_, last = ask(changes)
    found = printed(tmp_path, last["plan"])
    assert found["changes"]
    assert {name: last[name] for name in found} == found


def test_the_eviction_of_a_pod_is_what_the_command_prints(tmp_path: Path) -> None:
    pod = next(line for line in Plan(*CLUSTER, gates=GATES).outcome.pods if line.node == "spot-2")
    changes = [{"evict": pod.key}, {"cordon": "spot-2"}]
    *_, last = ask(changes)
    (left,) = last["evicted"]
    assert (left["pod"], left["cause"], left["newNode"]) == (pod.key, "eviction", "")
    assert "node(s) were unschedulable" in left["message"]
    assert last["plan"] == f"moorage plan --cordon spot-2 --evict {pod.key}"
    found = printed(tmp_path, last["plan"])
    assert {name: last[name] for name in found} == found
    assert last["kubectl"][1].splitlines() == [
        f"kubectl create --raw /api/v1/namespaces/default/pods/{pod.name}/eviction -f - <<'EOF'",
        f'{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{pod.name}","namespace":"default"}}}}',
        "EOF",
    ]


@pytest.mark.parametrize("key", ["web-1", "/web-1", "default/", "a/b/c", "", None, 5])
def test_an_eviction_names_a_pod_with_its_namespace(key: Any) -> None:
    (answer,) = ask([{"evict": key}])
    assert answer["error"].startswith("changes[0].evict: ")


def test_the_drain_of_a_pool_is_that_of_all_its_nodes() -> None:
    *_, last = ask([{"drain": {"nodes": SPOT}}])
    assert last["changes"] == ["drain nodes with label pool=spot"]
    *_, named = ask([{"drain": ["spot-1", "spot-2"]}])
    same = ("moved", "pending", "drained", "blocked", "nodes", "summary", "sentence")
    assert {name: last.get(name) for name in same} == {name: named.get(name) for name in same}
    assert {row["name"] for row in last["nodes"] if not row["schedulable"]} == {"spot-1", "spot-2"}
    *_, last = ask([{"label": {"nodes": ["calm"], "key": "pool", "value": "spot"}}, {"drain": {"nodes": SPOT}}])
    assert {row["name"] for row in last["nodes"] if not row["schedulable"]} == {"spot-1", "spot-2", "calm"}


def test_the_first_part_tells_who_leaves_and_when() -> None:
    first, last = ask([taint(["spot-2"])])
    assert first["part"] == "evictions"
    leaving = {(one["workload"], one["node"], one["afterSeconds"]) for one in first["evicted"]}
    assert leaving >= {("Deployment default/web", "spot-2", 0)}
    assert {one["pod"] for one in first["evicted"]} == {one["pod"] for one in last["evicted"]}
    assert all(one["newNode"] or one["message"] for one in last["evicted"])
    assert last["done"]


def test_pods_that_stay_for_a_while_and_for_good_are_told_apart() -> None:
    first, _ = ask([taint(["spot-2"])])
    patient = [one for one in first["evicted"] if one["workload"].endswith("/batch")]
    assert all(one["afterSeconds"] == 300 and "is tolerated for 300 s" in one["because"] for one in patient)
    first, _ = ask([{"untaint": {"nodes": ["spot-1"], "key": "risk"}}])
    assert [one["pod"] for one in first["evicted"] if one["node"] == "spot-1"] == []
    first, last = ask([taint(["spot-2"])], until=60)
    assert all(one["afterSeconds"] == 0 for one in (*first["evicted"], *last["evicted"]))


def test_pods_whose_time_runs_already_are_told_apart() -> None:
    first, last = ask([{"cordon": "calm"}])
    assert {one["workload"] for one in last["anyway"]} == {"Deployment default/batch"}  # risk=5, for 300 seconds
    for part in (first, last):
        assert part["anyway"]
        assert not part["evicted"]
    assert last["sentence"].startswith("No changes: ")
    assert not last["isWorse"]
    first, last = ask([taint(["spot-1"], value="30")])  # not tolerated at all: they leave sooner
    for part in (first, last):
        sooner = [one for one in part["evicted"] if one["node"] == "spot-1" and one["afterSeconds"] == 0]
        assert sooner
        assert not [one for one in part["anyway"] if one["node"] == "spot-1"]
    sooner = [one for one in last["evicted"] if one["workload"] == "Deployment default/batch"]
    assert any("without the changes: evicted after 300 s: risk=5 is tolerated" in one["without"] for one in sooner)


def test_a_taint_that_is_refused_is_not_played() -> None:
    (part,) = ask([taint(["calm"], value="-5")])
    assert 'Invalid value: "-5"' in part["error"]


def test_nodes_that_changed_come_with_their_usage() -> None:
    *_, last = ask([taint(["spot-2"])])
    rows = {row["name"]: row for row in last["nodes"]}
    assert rows["spot-2"]["taints"] == ["risk=9:NoExecute"]
    assert "calm" not in rows
    assert rows["spot-2"]["resources"]["cpu"][1] == 4000
    assert last["summary"]["nodes"] == 3


def test_the_commands_of_kubectl_make_the_same_changes() -> None:
    *_, last = ask(
        [
            {"cordon": "calm"},
            {"scale": {"workload": "web", "replicas": 3}},
            {"untaint": {"nodes": ["spot-1"], "key": "risk", "effect": "NoExecute"}},
            {"label": {"nodes": ["calm"], "key": "pool", "value": "x"}},
            {"label": {"nodes": "all", "key": "pool", "value": None}},
            taint("all"),
            taint({"label": {"key": "pool", "value": "spot"}}, ""),
            taint(["spot-1", "calm"]),
        ]
    )
    assert last["kubectl"] == [
        "kubectl taint nodes --all risk=9:NoExecute --overwrite",
        "kubectl taint nodes -l pool=spot risk:NoExecute --overwrite",
        "kubectl taint nodes spot-1 calm risk=9:NoExecute --overwrite",
        "kubectl taint nodes spot-1 risk:NoExecute-",
        "kubectl label nodes calm pool=x --overwrite",
        "kubectl label nodes --all pool- --overwrite",
        "kubectl scale deployment/web -n default --replicas=3",
        "kubectl cordon calm",
    ]


def test_the_commands_of_kubectl_name_nodes_by_scope() -> None:
    named, everywhere = ["spot-1", "spot-2"], {"nodes": "all"}
    changes = [
        {"cordon": {"nodes": SPOT}},
        {"cordon": everywhere},
        {"drain": "calm"},
        {"drain": {"nodes": named}},
        {"drain": {"nodes": SPOT}},
        {"remove": {"nodes": named}},
        {"remove": everywhere},
    ]
    flags = "--ignore-daemonsets --delete-emptydir-data --force"
    assert kubectl_commands(read_changes({"changes": changes}), Plan(*CLUSTER).planner.inventory) == [
        "kubectl cordon -l pool=spot",
        "kubectl cordon $(kubectl get nodes -o name)",
        f"kubectl drain calm spot-1 spot-2 {flags}",
        f"kubectl drain -l pool=spot {flags}",
        "kubectl delete nodes spot-1 spot-2",
        "kubectl delete nodes --all",
    ]


def test_manifests_are_applied_and_device_taints_are_rules() -> None:
    text = yaml.safe_dump(workload("Deployment", "new", "1", replicas=1))
    device = {"driver": "gpu.example.com", "pool": "p", "key": "health", "value": "3", "effect": "NoExecute"}
    *_, last = ask([{"apply": text}, {"deviceTaint": device}])
    assert [one["workload"] for one in last["placed"]] == ["Deployment default/new"]
    assert last["changes"] == ["apply what-if-1.yaml", "apply what-if-2.yaml"]
    rule = yaml.safe_load(last["kubectl"][1].partition("\n")[2].removesuffix("EOF"))
    assert (rule["kind"], rule["spec"]["deviceSelector"]) == (
        "DeviceTaintRule",
        {"driver": "gpu.example.com", "pool": "p"},
    )
    assert last["plan"] == "moorage plan --change what-if-1.yaml --change what-if-2.yaml"
    assert last["notes"] == []


def test_a_manifest_cannot_end_its_command_early() -> None:
    asked = read_changes({"changes": [{"apply": "# a\nEOF\nrm -rf x\n"}]})
    commands = kubectl_commands(asked, Plan(*CLUSTER).planner.inventory)
    assert commands == ["kubectl apply -f - <<'EOF_'\n# a\nEOF\nrm -rf x\nEOF_"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("# nothing\n", "what-if-1.yaml: no Kubernetes object: it has nothing"),
        ("a: [b\n", "what-if-1.yaml:1: yaml: did not find expected"),
        ("- 1\n", "what-if-1.yaml:1: array where an API object should be"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_an_error(text: str, reason: str) -> None:
    *_, last = ask([{"apply": text}])
    assert reason in last["error"]


def test_a_manifest_that_is_refused_is_noted() -> None:
    *_, last = ask([{"apply": "apiVersion: v1\nkind: Pod\nmetadata: {name: A_B}\nspec: {}\n"}])
    assert any("A_B" in note for note in last["notes"])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (None, "changes: must be a list"),
        ([{"taint": {}, "drain": "n"}], "changes[0]: must be an object with one name"),
        ([{"explode": "n"}], "changes[0]: 'explode' is no change; there are taint,"),
        ([{"taint": "n"}], "changes[0].taint: must be an object"),
        ([taint("spot-1")], "changes[0].taint.nodes: must be a list of names"),
        ([taint([])], "changes[0].taint.nodes: must name from 1 to"),
        ([taint(["*"])], "changes[0].taint.nodes[0]: '*' is no name of a node"),
        ([taint(["spot-9"])], "there is no node 'spot-9' in the input; is it spot-"),
        ([taint({"label": {"key": "pool", "value": "none"}})], "there are no nodes with label pool=none in the input"),
        ([taint(["calm"], effect="Never")], "changes[0].taint.effect: must be one of NoSchedule"),
        ([taint(["calm"], value="a b")], 'Invalid value: "a b"'),
        ([{"untaint": {"nodes": "all", "key": "other"}}], "none of the nodes has taint other"),
        ([{"label": {"nodes": ["calm"], "key": "other", "value": None}}], "node calm has no label other"),
        ([{"label": {"nodes": ["calm"], "key": "a b", "value": "x"}}], "name part must consist of alphanumeric"),
        ([{"scale": {"workload": "web", "replicas": -1}}], "changes[0].scale.replicas: must be a number from 0 to"),
        ([{"scale": {"workload": "webb", "replicas": 1}}], "is it web?"),
        ([{"scale": {"workload": "web", "size": 1}}], "changes[0].scale: has no field 'size'"),
        ([{"deviceTaint": {"key": "k", "effect": "None"}}], "changes[0].deviceTaint: must name a driver"),
        ([{"apply": ""}], "changes[0].apply: must be a text that is not empty"),
        ([{"drain": 3}], "changes[0].drain[0]: must be a text"),
        ([{"drain": {"nodes": "spot-1"}}], "changes[0].drain.nodes: must be a list of names"),
        ([{"cordon": {"node": "spot-1"}}], "changes[0].cordon: has no field 'node'; there are nodes"),
        (
            [{"remove": {"nodes": {"label": {"key": "pool", "value": "none"}}}}],
            "there are no nodes with label pool=none",
        ),
        ([{"addNodes": {"count": 0, "like": "calm"}}], "changes[0].addNodes.count: must be a number from 1 to"),
        ([{"drain": "calm"}] * 1001, "changes: at most 1,000 are made together"),
    ],
)
def test_changes_that_make_no_sense_are_refused_with_their_path(changes: Any, said: str) -> None:
    *_, last = ask(changes)
    assert said in last["error"]
    assert last["done"]


@pytest.mark.parametrize("until", [-1, "soon", True, 1e12])
def test_a_time_that_makes_no_sense_is_refused(until: Any) -> None:
    (part,) = ask([], until=until)
    assert part["error"].startswith("until: must be a number of seconds")


def test_a_rollout_is_followed_step_by_step() -> None:
    (part,) = ask(None, "rollout", workload="deployment/default/web")
    assert part["rollout"]["completes"]
    assert part["rollout"]["maxSurge"] == 1
    assert [step["number"] for step in part["rollout"]["steps"]] == list(range(1, len(part["rollout"]["steps"]) + 1))
    template = yaml.safe_dump(workload("Deployment", "web", "9", {"nodeSelector": {"pool": "spot"}}, replicas=2))
    (part,) = ask(None, "rollout", workload="web", template=template)
    assert not part["rollout"]["completes"]
    assert part["whatIf"]["changes"] == ["apply template.yaml"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "workload: must name a Deployment"),
        ({"workload": "job/web"}, "workload: there is no"),
        ({"workload": "webb"}, "is it web?"),
        ({"workload": "web", "template": 3}, "template: must be a manifest"),
    ],
)
def test_a_rollout_of_nothing_is_refused(arguments: Raw, said: str) -> None:
    (part,) = ask(None, "rollout", **arguments)
    assert said in part["error"]
