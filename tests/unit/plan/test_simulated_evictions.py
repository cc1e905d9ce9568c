"""An eviction by a taint is told as one change, unless a finalizer has a say; what it leaves is the same."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, pod, workload

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.plan.node_changes import TaintChange
from moorage.plan.simulation.api import SimulatedApi
from moorage.plan.what_if import Changes

TAINT = Changes(taints=(TaintChange("n1", "gone", "", "NoExecute"),))
Told = list[tuple[str, bool, bool]]


def _follow(plan: Plan) -> Told:
    """Return a list that gets the changes of pods on n1: the name, whether it has the condition, whether it leaves."""
    told: Told = []

    def changed(kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is KINDS.POD and old is not None and new is not None and old.view.spec.nodeName == "n1":
            conditions = {one.type for one in new.view.status.conditions}
            told.append((new.name, "DisruptionTarget" in conditions, new.view.metadata.deletionTimestamp is not None))

    plan.simulation.api.listeners.append(changed)
    return told


def test_condition_and_deletion_are_one_change() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=2))
    told = _follow(plan)
    difference = plan.what_if(TAINT)
    assert sorted(told) == sorted(
        (name.partition("/")[2], True, True) for name in (one.pod for one in difference.evicted)
    )
    assert len(difference.evicted) == 2


def test_a_pod_with_a_finalizer_is_told_of_twice() -> None:
    plan = Plan(node("n1"), pod("web", metadata={"finalizers": ["example.com/wait"]}))
    told = _follow(plan)
    plan.what_if(TAINT)
    assert told[:2] == [("web", True, False), ("web", True, True)]


def test_an_eviction_in_one_change_says_what_one_in_two_does(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> Any:
        documents = (node("n1"), node("n2"), workload("Deployment", "web", replicas=3), pod("alone"))
        plan = Plan(*documents)
        difference = plan.what_if(TAINT)
        api = plan.simulation.api
        return difference, plan.outcome, [one.pod.key for one in api.deletions], api.writes

    in_one = asked()
    monkeypatch.setattr(SimulatedApi, "delete_with_condition", lambda *_: False)
    assert asked() == in_one
