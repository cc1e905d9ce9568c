"""Differences of texts: as difflib writes them where they are short, bounded where they are not."""

import difflib
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS

from moorage.admit.messages.text_difference import unified_difference

_LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "}", ""]), max_size=30)


@LAW_SETTINGS
@given(_LINES, _LINES, _LINES, _LINES)
def test_a_difference_turns_one_text_into_the_other(
    begin: list[str], old: list[str], new: list[str], end: list[str]
) -> None:
    before, after = begin + old + end, begin + new + end
    assert applied(before, unified_difference(before, after)) == after


def applied(before: list[str], difference: str) -> list[str]:
    """Apply hunks as `patch` does, and check the lines that they say are there."""
    after, at = list[str](), 0
    for line in difference.splitlines():
        if line.startswith("@@"):
            first, _, count = line.split()[1][1:].partition(",")
            start = int(first) - (count != "0")
            after += before[at:start]
            at = start
        elif line[0] == "+":
            after.append(line[1:])
        else:
            assert before[at] == line[1:]
            after += [line[1:]] if line[0] == " " else []
            at += 1
    return after + before[at:]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("abcdefghijkl", "abcdeXghijkl"),
        ("abc", "xabc"),
        ("abc", "abcx"),
        ("abc", ""),
        ("", "abc"),
        ("abXdefghij", "abYdefghiZ"),
    ],
)
def test_short_differences_are_those_of_difflib(before: str, after: str) -> None:
    expected = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    assert unified_difference(list(before), list(after)) == "\n".join(expected) + "\n"


def test_equal_texts_have_no_difference() -> None:
    assert unified_difference(["a"], ["a"]) == ""


def test_a_long_difference_is_cut_and_says_so() -> None:
    before, after = ([f"{name} {number}" for number in range(50_000)] for name in ("old", "new"))
    difference = unified_difference(before, after)
    assert len(difference) < 25_000
    assert difference.endswith("… (99200 more lines)\n")
    long = unified_difference(["a" * 1_000_000], ["b" * 1_000_000])
    assert len(long) < 25_000
    assert "more characters" in long


def _calls(lines: int) -> int:
    """Count the lines of Python that a difference of this size takes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = [f'"name": "V{number % 7}",' for number in range(lines)]
    sys.settrace(trace)
    try:
        unified_difference(before, ["x", *before[::-1]])
    finally:
        sys.settrace(None)
    return count


def test_the_work_for_a_difference_is_in_proportion_to_the_texts() -> None:
    assert _calls(12_000) < 2.3 * _calls(6_000)
