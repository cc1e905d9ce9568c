"""Laws of tips on random clusters: each changes something, no nearer value does, and none is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import clusters
from tests.unit.plan.planning import Plan, Raw

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.changes import read_changes
from moorage.dashboard.questions.tipping import answer, levers, rehearsals, wording
from moorage.plan.simulation.forked import in_fork
from moorage.plan.values.turning_values import TurningValues

pytestmark = pytest.mark.usefixtures("_gives_up_early")

GATES = {"AllAlpha": True, "AllBeta": True}
NUMBER = "risk"
#: Values on both sides of everything that the clusters' pods name.
TELLING = ("0", "4", "5", "6", "899", "900", "951")
MOST_BETWEEN = 8


def tips_of(base: Base) -> Raw:
    *_, last = parts_of(QUESTIONS["tipping"], base, {})
    return last


def does_something(base: Base, change: Raw) -> bool:
    def played() -> bool:
        asked = read_changes({"changes": [change]})
        _, difference, _ = base.planner.play(base.simulation, base.plan, asked.changes, asked.sources)
        return not difference.is_empty

    return bool(in_fork(played))


def between(now: str, value: str) -> list[str]:
    """Some of the numbers that are nearer to `now` than a value, those at both ends among them."""
    step = 1 if int(value) > int(now) else -1
    numbers = list(range(int(now) + step, int(value), step))
    if len(numbers) <= MOST_BETWEEN:
        return [str(number) for number in numbers]
    half = MOST_BETWEEN // 2
    return [str(number) for number in (*numbers[:half], *numbers[-half:])]


def scales(documents: list[Raw]) -> Iterator[tuple[str, str, Raw]]:
    """Yield each node with a taint of which the value is a number."""
    for one in documents:
        for taint in one["spec"].get("taints", ()) if one["kind"] == "Node" else ():
            if taint["key"] == NUMBER and taint["value"].isdecimal():
                yield one["metadata"]["name"], taint["value"], taint


def is_scale(base: Base) -> bool:
    """Whether the page has a slider for the key: a value that is no number makes it one of texts."""
    (part,) = parts_of(QUESTIONS["thresholds"], base, {})
    return bool(part["taints"].get(NUMBER, {}).get("stops"))


def law_of_tips(most: int = examples(50)) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(clusters())
    def law(documents: list[Raw]) -> None:
        plan = Plan(*documents, gates=GATES)
        if plan.simulation.stopped:
            return
        base = Base(plan.planner, plan.simulation, plan.outcome)
        last = tips_of(base)
        assert last["complete"]
        for tip in last["tips"]:
            assert does_something(base, tip["change"])
            if tip["key"] == NUMBER:
                what = tip["change"]["taint"]
                for value in between(tip["now"], tip["value"]):
                    assert not does_something(base, {"taint": {**what, "value": value}})
        of_key = [tip for tip in last["tips"] if tip["key"] == NUMBER]
        if len(of_key) == answer.MAX_OF_KEY or not is_scale(base):
            return  # others are left out
        tipped = {(tip["now"], int(tip["value"]) > int(tip["now"])) for tip in of_key}
        for name, now, taint in scales(documents):
            for value in TELLING:
                if value != now and (now, int(value) > int(now)) not in tipped:
                    assert not does_something(base, {"taint": {**taint, "nodes": [name], "value": value}})

    law()


def test_a_tip_is_the_nearest_value_that_does_something() -> None:
    law_of_tips()


def _claims_an_effect(effect_of: Callable[..., Any]) -> Callable[..., Any]:
    def claimed(*arguments: Any) -> Any:
        effect = effect_of(*arguments)
        effect.is_empty = False
        return effect

    return claimed


def test_a_tip_that_does_nothing_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "effect_of", _claims_an_effect(wording.effect_of))
    assert_notices(lambda: law_of_tips(300))


def test_a_nearer_value_that_is_passed_over_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = TurningValues.beyond

    def farther(self: TurningValues, now: str, direction: int) -> Iterator[str]:
        values = list(beyond(self, now, direction))
        return iter(values[1:] or values)

    monkeypatch.setattr(TurningValues, "beyond", farther)
    assert_notices(lambda: law_of_tips(300))


def test_a_filter_that_forgets_pods_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levers.Levers, "concerns_unsettled", lambda *_: False)
    assert_notices(lambda: law_of_tips(300))
