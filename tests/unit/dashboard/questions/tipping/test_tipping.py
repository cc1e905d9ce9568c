"""The question `tipping`: values at which something changes, each tried."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, running, workload

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.tipping import answer, rehearsals
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates
from moorage.plan.planner import Planner, Settings

Raw = dict[str, Any]
GATES = {"AllAlpha": True, "AllBeta": True}
SPOT = "spot.example.com/failure-probability"


def base_of(*documents: Raw) -> Base:
    plan = Plan(*documents, gates=GATES)
    return Base(plan.planner, plan.simulation, plan.outcome)


def tips_of(base: Base) -> Raw:
    *_, last = parts_of(QUESTIONS["tipping"], base, {})
    return last


def sentences(*documents: Raw) -> list[str]:
    return [tip["sentence"] for tip in tips_of(base_of(*documents))["tips"]]


def risky(name: str, value: str, effect: str = "NoExecute", **more: Any) -> Raw:
    return node(name, taints=[{"key": "risk", "value": value, "effect": effect}], **more)


def tolerating(operator: str, value: str, **more: Any) -> Raw:
    return {"tolerations": [{"key": "risk", "operator": operator, "value": value, **more}]}


def test_the_example_tips_at_its_nearest_threshold() -> None:
    planner = Planner(Settings(all_gates()))
    planner.load(sources_of(["examples/cluster"]))
    simulation = planner.build()
    *earlier, last = parts_of(QUESTIONS["tipping"], Base(planner, simulation, planner.plan(simulation)), {})
    first, second, *others = last["tips"]
    assert first["sentence"] == "spot-1 would lose checkout at 5"
    taint = {"nodes": ["spot-1"], "key": SPOT, "value": "5", "effect": "NoExecute"}
    assert first["change"] == {"taint": taint}
    assert (first["now"], first["workloads"], first["pods"]) == ("3", ["Deployment shop/checkout"], 1)
    assert first["seconds"] == 0
    assert second["sentence"] == "spot-2 would lose 2 pods of reports at 20, and 2 would be Pending"
    assert others[0]["sentence"] == "next-release would get a node with ondemand-1 at v1.36.100"
    assert last["done"]
    assert last["complete"]
    assert [len(part["tips"]) for part in earlier] == list(range(1, len(last["tips"]) + 1))


def test_pods_of_several_workloads_are_counted_together() -> None:
    assert sentences(
        risky("n1", "3"),
        workload("Deployment", "a", "100m", tolerating("Lt", "20"), replicas=2),
        workload("Deployment", "b", "100m", tolerating("Lt", "20")),
    ) == ["n1 would lose 3 pods of a and b at 20, and 3 would be Pending"]


def test_nearer_thresholds_at_which_nothing_happens_are_passed_over() -> None:
    """A toleration of a pod elsewhere is a threshold, and moves nothing."""
    documents = [
        risky("n1", "3"),
        node("calm"),
        running("here", "n1", **tolerating("Lt", "9")),
        running("elsewhere", "calm", **tolerating("Lt", "5")),
    ]
    assert sentences(*documents) == ["n1 would lose here at 9"]


def test_a_value_that_expressions_name_is_a_threshold() -> None:
    expression = {"tolerations": [{"expression": "taint.key == 'risk' && int(taint.value) <= 900"}]}
    documents = [risky("n1", "950", "NoSchedule"), workload("Deployment", "a", "100m", expression)]
    assert sentences(*documents) == ["a would get a node with n1 at 900"]


def test_the_time_until_pods_leave_is_told() -> None:
    lasting = tolerating("Lt", "5", effect="NoExecute", tolerationSeconds=30)
    lasting["tolerations"].insert(0, {"key": "risk", "operator": "Lt", "value": "4", "effect": "NoExecute"})
    last = tips_of(base_of(risky("n1", "3"), node("calm"), running("here", "n1", **lasting)))
    tip = last["tips"][0]
    assert (tip["sentence"], tip["seconds"]) == ("n1 would lose here at 4", 30)


def test_labels_and_daemon_sets_have_tips_too() -> None:
    above = {"matchExpressions": [{"key": "generation", "operator": "Gt", "values": ["3"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [above]}}
    agent = workload("DaemonSet", "agent", "100m", {"affinity": {"nodeAffinity": required}})
    found = sentences(node("n1", generation="3"), node("n2", generation="7"), agent)
    assert "n2 would lose agent at 3" in found
    assert "agent would get a node with n1 at 4" in found


def test_a_cluster_without_a_scale_gets_a_drain_or_a_removal() -> None:
    web = workload("Deployment", "web", "100m", replicas=2)
    assert sentences(node("n1"), web) == ["draining n1 would evict 2 pods of web, and 2 would be Pending"]
    assert sentences(node("n1"), workload("DaemonSet", "agent", "100m")) == ["removing n1 would evict agent"]
    # The change is as the page's editors have it: with its nodes.
    assert tips_of(base_of(node("n1"), web))["tips"][0]["change"] == {"drain": {"nodes": ["n1"]}}


def test_a_drain_that_a_budget_holds_names_the_budget_and_the_pod() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    (sentence,) = sentences(node("n1"), workload("Deployment", "web", "100m"), budget)
    assert re.fullmatch(r"draining n1: budget all would hold web-\S+", sentence)


@pytest.mark.parametrize("documents", [[], [node("n1")], [risky("n1", "3")]])
def test_a_cluster_in_which_nothing_does_anything_says_so(documents: list[Raw]) -> None:
    last = tips_of(base_of(*(documents or [workload("Deployment", "web")])))
    assert last["tips"] == []
    assert last["why"] == answer.NOTHING


def test_many_nodes_with_one_value_are_tried_together_first(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []
    play = rehearsals.Rehearsals.play

    def counted(self: rehearsals.Rehearsals, changes: list[Raw], *more: Any) -> Any:
        played.append(len(changes[0]["taint"]["nodes"]))
        return play(self, changes, *more)

    monkeypatch.setattr(rehearsals.Rehearsals, "play", counted)
    nodes = [risky(f"n{number:02}", "9", "NoSchedule") for number in range(30)]
    pinned = {"nodeSelector": {"kubernetes.io/hostname": "n17"}}
    tips = tips_of(base_of(*nodes, workload("Deployment", "a", "1", tolerating("Lt", "5") | pinned)))["tips"]
    assert [tip["sentence"] for tip in tips] == ["a would get a node with n17 at 4"]
    assert played == [30, 1]


def test_tries_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "MAX_TRIES", 1)
    monkeypatch.setattr(rehearsals.Rehearsals, "_played", lambda *_: None)
    waits = workload("Deployment", "a", "100m", tolerating("Lt", "5"))
    last = tips_of(base_of(risky("n1", "9", "NoSchedule"), risky("n2", "8", "NoSchedule"), waits))
    assert last["tips"] == []
    assert not last["complete"]
    assert last["why"].endswith("as far as was tried")
