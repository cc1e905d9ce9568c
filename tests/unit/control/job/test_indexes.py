"""Sets of indexes and their texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.control.job.situation import Indexes, parse_indexes

_SETS = st.sets(st.integers(0, 30))


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "1,3-5,7,8", "4,6,10-20"])
def test_texts_are_as_short_as_they_can_be(text: str) -> None:
    assert str(parse_indexes(text, 100)) == text


@pytest.mark.parametrize(("text", "shown"), [("0-9", "0-4"), ("7", ""), ("x,2,3-y,-1", "2"), ("0,1,2", "0-2")])
def test_what_cannot_be_or_be_read_is_left_out(text: str, shown: str) -> None:
    assert str(parse_indexes(text, 5)) == shown


@given(_SETS, _SETS)
def test_they_are_sets(one: set[int], other: set[int]) -> None:
    ours, theirs = Indexes().plus(one), Indexes().plus(other)
    both = ours.united(theirs)
    assert both == Indexes().plus(one | other) == ours.plus(other)
    assert both.total == len(one | other)
    assert ours.overlap(theirs) == len(one & other)
    assert [index for index in range(32) if both.has(index)] == sorted(one | other)
    assert parse_indexes(str(both), 100) == both


@given(_SETS, st.integers(0, 9), st.integers(0, 33))
def test_the_lowest_that_are_missing_are_found(some: set[int], count: int, below: int) -> None:
    missing = [index for index in range(below) if index not in some]
    assert Indexes().plus(some).first_missing(count, below) == missing[:count]
