"""find and findAll: what matches, in Go's order, and what it costs."""

import pytest
from tests.unit.match.cel.libraries.calls import call, cost, estimate

from moorage.match.cel import patterns
from moorage.match.cel.functions import Argument, Interval
from moorage.match.cel.types import STRING
from moorage.match.cel.values import CelError


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("abc 123", "[0-9]+", "123"),
        ("abc", "xyz", ""),
        ("ab", "a|ab", "a"),
        ("äöü", ".", "ä"),
        ("abc", "", ""),
    ],
)
def test_find(text: str, pattern: str, found: str) -> None:
    assert call(patterns.FUNCTIONS, "string_find_string", text, pattern) == found


@pytest.mark.parametrize(
    ("text", "pattern", "limit", "found"),
    [
        ("123 abc 456", "[0-9]+", -1, ["123", "456"]),
        ("123 abc 456", "[0-9]+", 1, ["123"]),
        ("123 abc 456", "[0-9]+", 0, []),
        ("123 abc 456", "x", -1, []),
        ("abc", "", -1, ["", "", "", ""]),
        ("äö", "", -1, ["", "", ""]),
        ("baac", "a*", -1, ["", "aa", ""]),
        ("", "a*", -1, [""]),
        ("aaa", "^a", -1, ["a"]),
        ("ab cd", r"\b", -1, ["", "", "", ""]),
        ("ab", "b?", -1, ["", "b"]),
    ],
)
def test_find_all(text: str, pattern: str, limit: int, found: list[str]) -> None:
    assert call(patterns.FUNCTIONS, "string_find_all_string_int", text, pattern, limit) == found
    if limit < 0:
        assert call(patterns.FUNCTIONS, "string_find_all_string", text, pattern) == found


def test_a_broken_pattern() -> None:
    for overload_id in ("string_find_string", "string_find_all_string"):
        with pytest.raises(CelError) as caught:
            call(patterns.FUNCTIONS, overload_id, "x", "(")
        assert str(caught.value) == "Illegal regex: error parsing regexp: missing closing ): `(`"


def test_number_of_collected_matches_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "_MAX_MATCHES", 3)
    assert len(call(patterns.FUNCTIONS, "string_find_all_string", "aaa", "a")) == 3
    with pytest.raises(CelError, match="result too large"):
        call(patterns.FUNCTIONS, "string_find_all_string", "aaaa", "a")


def test_costs() -> None:
    assert cost(patterns.FUNCTIONS, "string_find_string", "x" * 10, "12345") == 4
    assert cost(patterns.FUNCTIONS, "string_find_string", "x", "") == 0
    text, pattern = Argument(STRING, Interval(0, 317)), Argument(STRING, Interval(6, 6))
    assert estimate(patterns.FUNCTIONS, "string_find_string", text, pattern) == ((2, 64), (0, 317))
