"""Laws of capacity curves on random clusters: a point is what a single plan says of every value in its range."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import clusters
from tests.unit.plan.planning import Plan, Raw, workload

from moorage.capacity.curving.curve import Point, planned_point, play_curve, point_of
from moorage.capacity.curving.steps import CurveStep
from moorage.capacity.curving.taint_axis import taint_axis
from moorage.capacity.curving.workload_axes import threshold_axis
from moorage.capacity.raised_value import RaisedValue, taints_of
from moorage.plan.values.turning_values import TurningValues

GATES = {"AllAlpha": True, "AllBeta": True}
VALUES = ("0", "2", "3", "4", "5", "6", "7", "800", "899", "900", "901", "950", "5000")


def numbers(point: Point) -> tuple[int, int, int, dict[str, int], int]:
    return point.placed, point.waiting, point.evicted, point.pending, point.nodes


def contains(words: str, value: str) -> bool:
    """Whether `> 4 and < 20` is true of a value."""
    holds = {
        ">": lambda limit: int(value) > limit,
        ">=": lambda limit: int(value) >= limit,
        "<": lambda limit: int(value) < limit,
        "=": lambda limit: int(value) == limit,
    }
    parts = [] if words == "any value" else [part.split() for part in words.split(" and ")]
    return all(len(part) == 2 and part[1].isdecimal() and holds[part[0]](int(part[1])) for part in parts)


def has_risk(documents: list[Raw]) -> bool:
    return any(taint["key"] == "risk" for one in documents for taint in (one["spec"].get("taints") or ()))


def law_of_taints(most: int = examples(16)) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(clusters(), st.lists(st.sampled_from(VALUES), min_size=2, max_size=4, unique=True))
    def law(documents: list[Raw], values: list[str]) -> None:
        assume(has_risk(documents))
        plan = Plan(*documents, gates=GATES)
        axis = taint_axis(plan.simulation, "risk", [])
        assume(any(contains(step.range, "5") for step in axis.steps))  # values that nothing orders have no ranges
        curve = play_curve(plan.planner, plan.simulation, plan.outcome, axis, workers=1)
        for value in values:
            [point] = [point for point in curve.points if contains(point.range, value)]
            assert numbers(point) == numbers(alone(documents, value))

    law()


def alone(documents: list[Raw], value: str) -> Point:
    """The value in a cluster that was planned for it."""
    plan = Plan(*documents, gates=GATES)
    nodes = [one["metadata"]["name"] for one in documents if has_risk([one])]
    changes = tuple(taints_of(plan.simulation, nodes, RaisedValue("risk", value)))
    axis = taint_axis(plan.simulation, "risk", [])
    return point_of(plan.planner, plan.simulation, plan.outcome, axis, CurveStep(value, "", taints=changes))


def test_points_of_a_taint_are_single_plans_at_every_value() -> None:
    law_of_taints()


def test_a_range_that_ends_at_the_wrong_value_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = TurningValues.cells

    def one_only(self: TurningValues, *given: Any) -> Iterator[tuple[str, str]]:
        yield from ((value, "any value") for value, _ in list(cells(self, *given))[:1])

    monkeypatch.setattr(TurningValues, "cells", one_only)
    assert_notices(lambda: law_of_taints(60))


def tolerating(operator: str, value: str, effect: str) -> Raw:
    tolerations = [{"key": "risk", "operator": operator, "value": value, "effect": effect}]
    return workload("Deployment", "compared", "1", {"tolerations": tolerations}, replicas=2)


@settings(LAW_SETTINGS, max_examples=examples(12))
@given(
    clusters(),
    st.sampled_from(["Lt", "Gt"]),
    st.sampled_from(["NoExecute", "NoSchedule"]),
    st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique=True),
)
def test_points_of_a_threshold_are_single_plans_of_the_edited_manifest(
    documents: list[Raw], operator: str, effect: str, values: list[str]
) -> None:
    compared = [*documents, tolerating(operator, "5", effect)]
    plan = Plan(*compared, gates=GATES)
    axis = threshold_axis(plan.simulation, plan.planner.inventory, "risk", ["deployment/compared"])
    curve = play_curve(plan.planner, plan.simulation, plan.outcome, axis, workers=1)
    for value in values:
        [point] = [point for point in curve.points if contains(point.range, value)]
        edited = Plan(*documents, tolerating(operator, value, effect), gates=GATES)
        assert numbers(point) == numbers(planned_point(edited.planner, CurveStep("", "")))
