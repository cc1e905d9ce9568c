"""Intervals by example: how they are written, what is nearest, and what each operator accepts as a set."""

from __future__ import annotations

import pytest

from moorage.match.comparison import VERSION
from moorage.match.intervals import (
    INTEGERS,
    VERSIONS,
    Interval,
    Intervals,
    above,
    at_least,
    at_most,
    below,
    cells,
    everything,
    exactly,
)
from moorage.match.operators import (
    NODE_SELECTOR,
    OPERATORS,
    TOLERATION,
    AcceptedValues,
    OperatorPlace,
    accepted_values,
)

MAX, MIN = 2**63 - 1, -(2**63)


def version(text: str) -> object:
    return VERSION.read(text)


def accepted(name: str, *values: str, place: OperatorPlace = TOLERATION) -> AcceptedValues:
    found = accepted_values(name, place, values)
    assert found is not None
    return found


def test_open_and_closed_bounds_are_written_in_one_way() -> None:
    assert above(INTEGERS, 5) == at_least(INTEGERS, 6)
    assert below(INTEGERS, 6) == at_most(INTEGERS, 5)
    assert above(VERSIONS, version("1.2.3")) == at_least(VERSIONS, version("1.2.4-0"))
    assert above(VERSIONS, version("1.2.3-rc")) == at_least(VERSIONS, version("1.2.3-rc.0"))
    assert above(INTEGERS, 5) & below(INTEGERS, 7) == exactly(INTEGERS, 6)


def test_intervals_that_touch_are_one() -> None:
    assert below(INTEGERS, 5) | at_least(INTEGERS, 5) == everything(INTEGERS)
    assert (below(INTEGERS, 5) | above(INTEGERS, 5)).parts == (Interval(MIN, 5), Interval(6))


def test_nothing_is_beyond_the_ends() -> None:
    assert above(INTEGERS, MAX).is_empty
    assert below(INTEGERS, MIN).is_empty
    assert below(VERSIONS, version("0.0.0-0")).is_empty
    highest = ".".join([str(2**64 - 1)] * 3)
    assert above(VERSIONS, version(highest)).is_empty
    assert exactly(INTEGERS, MAX).contains(MAX)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (above(INTEGERS, 5), "> 5"),
        (above(INTEGERS, 5) & below(INTEGERS, 9), "> 5 and < 9"),
        (~exactly(INTEGERS, 7), "< 7 or > 7"),
        (exactly(INTEGERS, MAX), f"= {MAX}"),
        (everything(INTEGERS), "any value"),
        (Intervals(INTEGERS), "no value"),
        (above(VERSIONS, version("v1.2")), "> 1.2.0"),
        (at_least(VERSIONS, version("1.2")), ">= 1.2.0"),
        (above(VERSIONS, version("1.2.0-rc.1")) & below(VERSIONS, version("2")), "> 1.2.0-rc.1 and < 2.0.0"),
    ],
)
def test_sets_are_written_as_inequalities(values: Intervals, text: str) -> None:
    assert str(values) == text


def test_cells_lie_between_the_bounds() -> None:
    found = cells(INTEGERS, (below(INTEGERS, 5), below(INTEGERS, 20)))
    assert found == [Interval(MIN, 5), Interval(5, 20), Interval(20)]


def test_equal_accepts_one_text_and_not_its_other_spellings() -> None:
    assert accepted("Equal", "1.2").contains("1.2")
    assert not accepted("Equal", "1.2").contains("1.2.0")
    assert accepted("", "x").contains("x")


def test_what_cannot_be_read_is_outside_every_interval() -> None:
    for row in OPERATORS:
        for place, use in row.places.items():
            if use.comparison is not None:
                values = accepted_values(row.name, place, ("5",))
                assert values is not None
                assert not values.contains("1.32-rc1")
                assert not values.contains("")
    assert accepted("SemverGt", "1.32-rc1").is_empty


def test_node_affinity_reads_numbers_as_strconv_does() -> None:
    assert accepted("Gt", "5", place=NODE_SELECTOR).contains("007")
    assert not accepted("Gt", "5").contains("007")


def test_an_operator_that_is_not_of_the_place_has_no_set() -> None:
    assert accepted_values("In", TOLERATION, ("a",)) is None
    assert accepted_values("Ge", TOLERATION, ("a",)) is None


@pytest.mark.parametrize(
    ("values", "like", "example"),
    [
        (accepted("Lt", "0"), "0", None),
        (accepted("Lt", "1"), "1", "0"),
        (accepted("Gt", "-7"), "-7", "0"),
        (accepted("SemverEq", "1.2.3-" + "a" * 70), "", None),
        (accepted("SemverGt", "v1.2.3"), "v1.2.3", "v1.2.4"),
        (
            accepted("Gt", "5", place=NODE_SELECTOR) & accepted("NotIn", "6", place=NODE_SELECTOR),
            "5",
            "7",
        ),
        (accepted("In", "b", "a", place=NODE_SELECTOR), "b", "b"),
        (accepted("In", "a", "b", place=NODE_SELECTOR) & accepted("NotIn", "a", place=NODE_SELECTOR), "a", "b"),
        (accepted("In", "3", "8", place=NODE_SELECTOR) & accepted("Gt", "5", place=NODE_SELECTOR), "5", "8"),
        (accepted("Lt", "5", place=NODE_SELECTOR) & accepted("Gt", "5", place=NODE_SELECTOR), "5", None),
        (accepted("Exists"), "", "true"),
        (accepted("DoesNotExist", place=NODE_SELECTOR), "", None),
    ],
)
def test_an_example_is_a_label_value_that_is_accepted(values: AcceptedValues, like: str, example: str | None) -> None:
    assert values.example(like) == example
    assert values.is_empty is (example is None)
