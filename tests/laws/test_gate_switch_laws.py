"""Laws of switching gates: a restart with the same gates changes nothing, and going back gives every pod back."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_worlds import Dimension, World, worlds

from moorage.model.gates import Component
from moorage.plan.gates import switching
from moorage.plan.gates.gate_file import Switch
from moorage.plan.gates.switching import NO_POD, play_switches
from moorage.plan.planner import Planner, Settings

DIMENSIONS = frozenset(Dimension)


def law_of_restarts() -> None:
    @LAW_SETTINGS
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        settings = Settings(world.gates, others=world.others)
        planner = Planner(settings)
        planner.load_objects(world.documents)
        same: Switch = {component: settings.gates_of(component) for component in Component}
        play = play_switches(planner, (), [same, same])
        if any("the simulation ends here" in note.message for note in play.before.notes) or play.before.loops:
            return  # what never comes to rest goes on after a restart
        for step in play.steps:
            assert step.switched == ()
            assert (step.summary, step.evicted, step.failed) == (NO_POD, [], [])
            assert not step.refused
            assert not step.dropped
        where = [{pod.key: pod.node for pod in plan.pods if pod.is_present} for plan in (play.before, play.after)]
        assert where[0] == where[1]

    law()


def test_restart_with_the_same_gates_changes_nothing() -> None:
    law_of_restarts()


def test_law_notices_a_restart_that_forgets_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    carried = switching._carried

    def without_pods(*arguments: object) -> object:
        made = carried(*arguments)  # type: ignore[arg-type]
        for key in [key for key in made.items if key.kind == "Pod"][:1]:
            del made.items[key]
        return made

    monkeypatch.setattr(switching, "_carried", without_pods)
    assert_notices(law_of_restarts)
