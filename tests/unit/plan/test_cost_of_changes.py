"""A small change costs little in a large cluster: no reading is made ready, and past evictions are not listed again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, pod, workload

from moorage.lint.sources import Source
from moorage.plan.departures import DepartureLog, evictions_of, loops_of
from moorage.plan.input.registry import InventoryRegistry
from moorage.plan.node_changes import TaintChange
from moorage.plan.simulation.usage import SimulatedObjects
from moorage.plan.what_if import Changes
from moorage.usage.label_classes import LabelClasses

TAINT = TaintChange("a", "fp", "3", "NoExecute")
MANIFEST = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "more"}, "spec": {"containers": [{"name": "c"}]}}'


def _calls(monkeypatch: pytest.MonkeyPatch, owner: type, name: str) -> list[Any]:
    """Return a list that gets an entry for every call of a method, which goes on to do what it does."""
    calls: list[Any] = []
    original = getattr(owner, name)

    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        return original(self, *arguments, **options)

    monkeypatch.setattr(owner, name, counted)
    return calls


def _plan() -> Plan:
    return Plan(node("a"), node("b"), workload("Deployment", "web", replicas=6))


def test_a_taint_makes_no_registry_of_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan()
    made = _calls(monkeypatch, InventoryRegistry, "__init__")
    difference = plan.what_if(Changes(taints=(TAINT,)))
    assert difference.departures
    assert not made


def test_a_manifest_is_still_read(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan()
    made = _calls(monkeypatch, InventoryRegistry, "__init__")
    sources = [Source("more.json", content=MANIFEST)]
    outcome, _, _ = plan.planner.what_if(plan.simulation, plan.outcome, Changes(files=("more.json",)), sources)
    assert made
    assert "default/more" in {line.key for line in outcome.pods}


def test_departures_are_paired_once_where_no_eviction_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan()
    paired = _calls(monkeypatch, DepartureLog, "pair")
    difference = plan.what_if(Changes(taints=(TAINT,)))
    assert difference.departures
    assert len(paired) == 1


def test_evictions_that_are_repeated_are_found() -> None:
    leaves = {"key": "fp", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
    taint = {"key": "fp", "value": "3", "effect": "NoExecute"}
    template = {"tolerations": [leaves]}
    plan = Plan(node("a", taints=[taint]), workload("Deployment", "web", replicas=1, pods=template))
    plan.what_if(Changes(taints=(TaintChange("a", "fp", "4", "NoExecute"),)))
    (loop,) = loops_of(plan.simulation)
    assert [loop] == evictions_of(plan.simulation)[1]
    assert loop.workload == "Deployment default/web"


def test_labels_are_put_once_for_a_pod_whose_labels_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    put, changed = _calls(monkeypatch, LabelClasses, "put"), _calls(monkeypatch, SimulatedObjects, "changed")
    plan = Plan(node("a"), pod("p"))
    assert plan.outcome
    assert [key for key, labels in put if labels is not None] == ["default/p"]
    assert len(changed) > len(put) + 2
