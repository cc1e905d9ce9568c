"""Plans and explanations of pods whose classes are not in the input: they are taken to exist, with a note for each."""

from __future__ import annotations

import pytest
from tests.unit.plan.planning import LivePlan, Plan, Raw, node, pod, workload

from moorage.lint.finding import Severity
from moorage.plan.explain.explanation import explain_pod
from moorage.plan.explain.node import explain_node
from moorage.plan.explain.target import find_target

NO_PRIORITY_CLASS = (
    "PriorityClass gold is not in the input; the API server refuses pods that name one that does not exist; "
    "here the pods have the priority that they name, or 0"
)
NO_RUNTIME_CLASS = (
    "RuntimeClass kata is not in the input; the API server refuses pods that name one that does not exist; "
    "here it adds nothing to the pods"
)
GOLD: Raw = {"priorityClassName": "gold"}
KATA: Raw = {"runtimeClassName": "kata"}
NO_CPU = {"type": "Container", "max": {"cpu": "100m"}}
LIMITS = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [NO_CPU]}}
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}}


def warnings(plan: Plan) -> list[tuple[str, str]]:
    return [(note.object, note.message) for note in plan.outcome.notes if note.level is Severity.WARNING]


@pytest.mark.parametrize(("fields", "text"), [(GOLD, NO_PRIORITY_CLASS), (KATA, NO_RUNTIME_CLASS)])
def test_a_class_that_is_not_in_the_input_is_noted_once_and_its_pods_are_placed(fields: Raw, text: str) -> None:
    web = workload("Deployment", "web", pods=fields, replicas=2)
    pods = Plan(node("n1"), pod("a", "100m", **fields), pod("b", "100m", **fields), web)
    assert set(pods.where.values()) == {"n1"}
    assert len(pods.where) == 4
    assert warnings(pods) == [("Pod default/a", text)]
    assert pods.pod("a").spec.priority == 0


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_the_note_of_a_class_that_pods_of_workloads_name_is_about_the_workload(kind: str) -> None:
    plan = Plan(node("n1"), workload(kind, "web", pods={**GOLD, **KATA}), workload("DaemonSet", "zoo", pods=GOLD))
    assert len(plan.where) == 2
    assert sorted(message for _, message in warnings(plan)) == [NO_PRIORITY_CLASS, NO_RUNTIME_CLASS]
    assert (f"{kind} default/web", NO_RUNTIME_CLASS) in warnings(plan)


def account(name: str, **metadata: str) -> Raw:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, **metadata}}


@pytest.mark.parametrize("is_workload", [False, True])
def test_an_account_is_noted_once_if_the_input_has_others_of_its_namespace(is_workload: bool) -> None:
    names: Raw = {"serviceAccountName": "robot"}
    wanting = workload("Deployment", "web", pods=names, replicas=2) if is_workload else pod("web", **names)

    def notes(*documents: Raw) -> list[tuple[str, str]]:
        plan = Plan(node("n1"), wanting, *documents)
        assert set(plan.where.values()) == {"n1"}
        return [(note.level, note.message) for note in plan.outcome.notes]

    text = "ServiceAccount default/robot is not in the input; Kubernetes refuses pods that name one that does not exist"
    assert notes(account("builder"), pod("plain")) == [(Severity.INFO, text)]
    assert notes(account("builder"), account("robot")) == []
    assert notes(account("builder", namespace="other")) == []
    assert notes() == []


def test_a_pod_that_names_its_priority_keeps_it_if_its_class_is_not_in_the_input() -> None:
    plan = Plan(node("n1"), pod("a", priority=7, **GOLD))
    assert plan.pod("a").spec.priority == 7


@pytest.mark.parametrize("refusing", [LIMITS, QUOTA])
def test_a_class_is_noted_also_if_the_pods_are_refused_for_another_reason(refusing: Raw) -> None:
    assert ("Pod default/a", NO_PRIORITY_CLASS) in warnings(Plan(node("n1"), pod("a", **GOLD), refusing))
    plan = Plan(node("n1"), workload("Deployment", "web", pods=GOLD), refusing)
    assert len(plan.outcome.failed) == 1
    assert ("Deployment default/web", NO_PRIORITY_CLASS) in warnings(plan)


def test_a_live_cluster_refuses_pods_whose_class_it_does_not_have() -> None:
    plan = LivePlan(node("n1"), pod("a", **GOLD), pod("b", **KATA))
    assert plan.where == {}
    assert warnings(plan) == []
    assert [note.message for note in plan.outcome.notes if note.level is Severity.ERROR] == [
        'pods "a" is forbidden: no PriorityClass with name gold was found',
        'pods "b" is forbidden: pod rejected: RuntimeClass "kata" not found',
    ]


@pytest.mark.parametrize("document", [pod("web", **GOLD), workload("Deployment", "web", pods=GOLD)])
def test_explain_notes_a_class_that_is_not_in_the_input(document: Raw) -> None:
    plan = Plan(node("n1"), document)
    name = "default/web" if document["kind"] == "Pod" else "deployment/web"
    target = find_target(plan.simulation, plan.planner.inventory, name)
    explanation = explain_pod(plan.simulation, plan.planner.inventory, target)
    assert [note.message for note in explanation.notes] == [NO_PRIORITY_CLASS]
    of_node = explain_node(plan.simulation, plan.planner.inventory, "n1")
    assert [note.message for note in of_node.notes] == [NO_PRIORITY_CLASS]
