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
    ("operator", "actual", "wanted"),
    [
        ("Lt", "15", "16"),
        ("Lt", "-1", "0"),
        ("Lt", "9223372036854775807", None),
        ("Lt", "many", None),
        ("Gt", "15", "14"),
        ("Gt", "0", "-1"),
        ("Gt", "-9223372036854775808", None),
        ("SemverLt", "1.9.3", "1.9.4"),
        ("SemverLt", "v1.9", "1.9.1"),
        ("SemverLt", "1.9.3-rc.1", "1.9.3"),
        ("SemverLt", "soon", None),
        ("SemverGt", "1.9.3", "1.9.2"),
        ("SemverGt", "2.0.0", "2.0.0-0"),
        ("SemverGt", "2.0.0-rc.1", None),
        ("SemverEq", "v1.2", "1.2.0"),
        ("SemverEq", "1.2.3+build", "1.2.3"),
    ],
)
def test_wanted_value(operator: str, actual: str, wanted: str | None) -> None:
    assert comparison(operator).wanted_for(actual) == wanted
    if wanted is not None:
        assert comparison(operator).compile(wanted)(actual)


@pytest.mark.parametrize(
    ("operator", "wanted", "actual"),
    [
        ("Lt", "5", "4"),
        ("Gt", "5", "6"),
        ("Gt", "x", None),
        ("SemverLt", "1.2.3", "1.2.2"),
        ("SemverGt", "1.2.3", "1.2.4"),
        ("SemverEq", "1.2", "1.2.0"),
        ("SemverEq", "x", None),
    ],
)
def test_actual_value(operator: str, wanted: str, actual: str | None) -> None:
    assert comparison(operator).actual_for(wanted) == actual
    if actual is not None:
        assert comparison(operator).compile(wanted)(actual)


def test_nearer_thresholds_are_smaller_moves() -> None:
    assert CANONICAL_INTEGER.distance("5", "9") < CANONICAL_INTEGER.distance("5", "16")
    assert VERSION.distance("1.9.0", "1.8.0") < VERSION.distance("1.9.0", "0.9.0")
    assert VERSION.distance("1.9.5", "1.9.4") < VERSION.distance("1.9.5", "1.8.5")
    assert CANONICAL_INTEGER.distance("x", "9") == VERSION.distance("x", "9") == 0
