"""How far a node is from what a pod asks for: tables of values, the nearest first."""

from __future__ import annotations

import pytest

from moorage.match.comparison import (
    ABSENT,
    CANONICAL_INTEGER,
    DIFFERS,
    INTEGER,
    VERSION,
    ValueKind,
    amount_gap,
    value_gap,
)
from moorage.match.requirement import compile_requirement
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.schedule.plugins.taint_toleration import toleration_gap

GATES = gates_from({"AllAlpha": True})


@pytest.mark.parametrize(
    ("has", "needs", "gap"), [(8, 16, 0.5), (0, 16, 1.0), (15, 16, 0.0625), (-16, 16, 2.0), (0, 0, ABSENT)]
)
def test_amounts_count_by_what_is_missing_of_the_request(has: int, needs: int, gap: float) -> None:
    assert amount_gap(has, needs) == gap


@pytest.mark.parametrize(
    ("kind", "wanted", "nearest_first"),
    [
        (CANONICAL_INTEGER, "5", ["5", "6", "8", "15", "900", "high"]),
        (CANONICAL_INTEGER, "-5", ["-5", "-3", "5", "40"]),
        (INTEGER, "0", ["1", "-2", "3"]),
        (VERSION, "5.15.0", ["5.15.0", "5.15.0-generic", "5.15.2", "5.14.9", "5.4.0", "4.19.0", "not-a-version"]),
        (VERSION, "v1.36.99", ["v1.36.98", "1.35.1", "v1.30", "0.9"]),
    ],
)
def test_thresholds_count_by_how_far_the_value_is(kind: ValueKind, wanted: str, nearest_first: list[str]) -> None:
    gaps = [value_gap(kind, wanted, value) for value in nearest_first]
    assert gaps == sorted(set(gaps))
    assert gaps[0] < DIFFERS
    assert gaps[-1] <= DIFFERS < ABSENT


def test_labels_that_differ_are_nearer_than_labels_that_are_absent() -> None:
    near = compile_requirement("gen", "gt", ("7",))
    assert near.gap({"gen": "6"}) < near.gap({"gen": "1"}) < near.gap({"gen": "x"}) == DIFFERS < near.gap({})
    disk = compile_requirement("disk", "in", ("ssd",))
    assert (disk.gap({"disk": "hdd"}), disk.gap({})) == (DIFFERS, ABSENT)


@pytest.mark.parametrize(
    ("toleration", "gap"),
    [
        (Toleration("fp", "Lt", "9", "NoSchedule"), 0.9 / 10),
        (Toleration("fp", "Equal", "9", "NoSchedule"), DIFFERS),
        (Toleration("fp", "Lt", "9", "NoExecute"), DIFFERS),
        (Toleration("fp", "Lt", "nine", "NoSchedule"), DIFFERS),
        (Toleration("other", "Exists", "", "NoSchedule"), ABSENT),
        (Toleration(expression="taint.key == 'x'"), ABSENT),
    ],
)
def test_taints_count_by_the_nearest_toleration(toleration: Toleration, gap: float) -> None:
    far = Toleration("fp", "Equal", "77", "NoSchedule")
    taint = Taint("fp", "10", "NoSchedule")
    assert toleration_gap(compile_tolerations([toleration], GATES), taint) == pytest.approx(gap)
    assert toleration_gap(compile_tolerations([far, toleration], GATES), taint) == pytest.approx(min(gap, DIFFERS))
