"""Laws of comparisons: an input compared with itself differs in nothing, and removed workloads leave no pods behind."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_worlds import Dimension, World, worlds

from moorage.admit.raw import Raw
from moorage.lint.sources import Source
from moorage.plan.difference import two_inputs
from moorage.plan.difference.difference import Difference
from moorage.plan.difference.two_inputs import Edit, InputDiff
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.what_if import Changes

#: Pods that run already are part of a state, which is not applied once more.
DIMENSIONS = frozenset(Dimension) - {Dimension.RUNNING_PODS, Dimension.UNREADY_NODES}
WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "Job"})


def source_of(documents: list[Raw]) -> list[Source]:
    content = msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": documents})
    return [Source("input.json", "input.json", content=content)]


def compared(world: World, new: list[Raw]) -> tuple[Outcome, Difference, InputDiff]:
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load(source_of(world.created))
    diff = InputDiff("old", "new", list(planner.inventory.items), allows_empty=True)
    simulation = planner.build()
    before = planner.with_evictions(simulation, planner.plan(simulation))
    after, difference, _ = planner.what_if(simulation, before, Changes(diff=diff), source_of(new))
    return after, difference, diff


def law_of_itself() -> None:
    @LAW_SETTINGS
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        _, difference, diff = compared(world, world.created)
        assert diff.objects == []
        if not any("the simulation ends here" in note.message for note in difference.after.notes):
            assert difference.is_empty

    law()


def law_of_removal() -> None:
    @LAW_SETTINGS
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        kept = [document for document in world.created if document["kind"] not in WORKLOADS]
        after, _, diff = compared(world, kept)
        assert {one.change for one in diff.objects} <= {Edit.REMOVED}
        assert not [pod for pod in after.pods if pod.is_present and pod.workload]

    law()


def test_input_compared_with_itself_differs_in_nothing() -> None:
    law_of_itself()


def test_removed_workloads_leave_no_pods_behind() -> None:
    law_of_removal()


def test_law_notices_defaults_that_count_as_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = two_inputs._fields
    monkeypatch.setattr(two_inputs, "_fields", lambda old, new: fields(old, {**new, "spec": {}}))
    assert_notices(law_of_itself)


def test_law_notices_objects_that_are_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_inputs, "_delete", lambda simulation, inventory, item: None)
    assert_notices(law_of_removal)
