"""How far a threshold has to be moved, for every operator; what is suggested must hold."""

from __future__ import annotations

import pytest

from moorage.match.comparison import CANONICAL_INTEGER, VERSION, Comparison
from moorage.match.operators import TOLERATION, comparison_of


def comparison(operator: str) -> Comparison:
    found = comparison_of(operator, TOLERATION)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("operator", "now", "actual", "threshold"),
    [
        ("Lt", "5", "15", "16"),
        ("Lt", "-9", "-1", "0"),
        ("Lt", "5", "9223372036854775807", None),
        ("Lt", "5", "9223372036854775806", "9223372036854775807"),
        ("Lt", "5", "many", None),
        ("Gt", "20", "15", "14"),
        ("Gt", "9007199254740993", "9007199254740993", "9007199254740992"),
        ("Gt", "5", "0", "-1"),
        ("Gt", "5", "-9223372036854775808", None),
        ("SemverLt", "1.0.0", "1.9.3", "1.9.4"),
        ("SemverLt", "1.0.0", "v1.9", "1.9.1"),
        ("SemverLt", "1.0.0", "1.9.3-rc.1", "1.9.3"),
        ("SemverLt", "1.0.0", "soon", None),
        ("SemverGt", "1.9.9", "1.9.3", "1.9.2"),
        ("SemverGt", "2.1.0", "2.0.0", "2.0.0-0"),
        ("SemverGt", "2.1.0", "2.0.0-rc.1", "2.0.0-0"),
        ("SemverGt", "2.1.0", "2.0.0-0", "1.99.99"),
        ("SemverGt", "2.1.0", "0.0.0-0", None),
        ("SemverGt", "5.15.0", "5.15.0-91-generic", "5.15.0-0"),
        ("SemverEq", "1.3.0", "v1.2", "1.2.0"),
        ("SemverEq", "1.3.0", "1.2.3+build", "1.2.3"),
    ],
)
def test_the_smallest_move_of_a_threshold_matches(operator: str, now: str, actual: str, threshold: str | None) -> None:
    assert comparison(operator).threshold_for(actual, now) == threshold
    if threshold is not None:
        assert comparison(operator).compile(threshold)(actual)


@pytest.mark.parametrize(
    ("operator", "now", "actual", "threshold"),
    [
        ("SemverGt", "v1.36.99", "v1.35.2", "v1.35.1"),
        ("SemverGt", "v1.36.99", "1.35.2", "v1.35.1"),
        ("SemverLt", "1.30", "1.32.0-rc.1", "1.32"),
        ("SemverLt", "1.30", "1.32.0", "1.32.1"),
        ("SemverEq", "7", "v8.0.0", "8"),
        ("SemverEq", "1.30", "1.32.0-rc.1", "1.32.0-rc.1"),
        ("SemverLt", "not a version", "v1.32.0", "v1.32.1"),
    ],
)
def test_a_moved_threshold_keeps_its_spelling(operator: str, now: str, actual: str, threshold: str) -> None:
    assert comparison(operator).threshold_for(actual, now) == threshold


def test_a_threshold_that_matches_stays() -> None:
    assert comparison("SemverGt").threshold_for("v2.0.0", "v1.9") == "v1.9"


def test_values_around_a_threshold() -> None:
    assert CANONICAL_INTEGER.around("5") == ["4", "5", "6"]
    assert VERSION.around("v1.2") == ["1.2.0-0", "1.2.0", "1.2.1"]
    assert CANONICAL_INTEGER.around("1.2") == VERSION.around("x") == []


def test_nearer_thresholds_are_smaller_moves() -> None:
    assert CANONICAL_INTEGER.move("5", "9") < CANONICAL_INTEGER.move("5", "16")
    assert VERSION.move("1.9.0", "1.8.0") < VERSION.move("1.9.0", "0.9.0")
    assert VERSION.move("1.9.5", "1.9.4") < VERSION.move("1.9.5", "1.8.5")
    assert VERSION.move("5.15.0", "5.15.0-0") < VERSION.move("5.15.0", "5.4.0-0")
    assert CANONICAL_INTEGER.move("x", "9") == VERSION.move("x", "9") == 0


def test_neighbours_beyond_the_exact_range_of_floats_are_sorted() -> None:
    near, far = str(2**53 + 1), str(2**53 + 2)
    assert CANONICAL_INTEGER.nearest_first(str(2**53), [far, near]) == [near, far]
