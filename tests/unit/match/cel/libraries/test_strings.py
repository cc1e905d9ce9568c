"""The functions on strings, their errors and their costs."""

from typing import Any

import pytest
from tests.unit.match.cel.libraries.calls import call, cost, estimate

from moorage.match.cel.functions import MAX_COST, Argument, Interval
from moorage.match.cel.libraries.strings import FUNCTIONS
from moorage.match.cel.types import STRING, list_of
from moorage.match.cel.values import MAX_RESULT_SIZE, CelError


@pytest.mark.parametrize(
    ("overload_id", "values", "result"),
    [
        ("string_char_at_int", ("©αT", 1), "α"),
        ("string_char_at_int", ("abc", 3), ""),
        ("string_index_of_string", ("tacocat", "ac"), 1),
        ("string_index_of_string", ("tacocat", ""), 0),
        ("string_index_of_string", ("tacocat", "none"), -1),
        ("string_index_of_string_int", ("tacocat", "a", 3), 5),
        ("string_index_of_string_int", ("tacocat", "a", 30), -1),
        ("string_index_of_string_int", ("tacocat", "", -5), -5),
        ("string_last_index_of_string", ("tacocat", ""), 7),
        ("string_last_index_of_string", ("tacocat", "at"), 5),
        ("string_last_index_of_string", ("", "@@"), -1),
        ("string_last_index_of_string_int", ("tacocat", "a", 3), 1),
        ("string_last_index_of_string_int", ("bananananana", "nana", 7), 6),
        ("string_last_index_of_string_int", ("tacocat", "a", 7), -1),
        ("string_last_index_of_string_int", ("tacocat", "", 99), 99),
        ("string_lower_ascii", ("TacoCÆt",), "tacocÆt"),
        ("string_upper_ascii", ("tacoCαt",), "TACOCαT"),
        ("string_replace_string_string", ("abc", "", "-"), "-a-b-c-"),
        ("string_replace_string_string", ("aaa", "aa", "b"), "ba"),
        ("string_replace_string_string_int", ("aaa", "a", "b", 2), "bba"),
        ("string_replace_string_string_int", ("aaa", "a", "b", 0), "aaa"),
        ("string_replace_string_string_int", ("aaa", "a", "b", -1), "bbb"),
        ("string_replace_string_string_int", ("abc", "", "-", 2), "-a-bc"),
        ("string_split_string", ("a.b.c", "."), ["a", "b", "c"]),
        ("string_split_string", ("abc", ""), ["a", "b", "c"]),
        ("string_split_string", ("", ""), []),
        ("string_split_string", ("", "."), [""]),
        ("string_split_string_int", ("a.b.c", ".", 2), ["a", "b.c"]),
        ("string_split_string_int", ("a.b.c", ".", 1), ["a.b.c"]),
        ("string_split_string_int", ("a.b.c", ".", 0), []),
        ("string_split_string_int", ("a.b.c", ".", -1), ["a", "b", "c"]),
        ("string_split_string_int", ("abc", "", 2), ["a", "bc"]),
        ("string_split_string_int", ("abc", "", 9), ["a", "b", "c"]),
        ("string_split_string_int", ("", "", 1), []),
        ("string_substring_int", ("tacocat", 4), "cat"),
        ("string_substring_int", ("tacocat", 7), ""),
        ("string_substring_int_int", ("ta©o©αT", 2, 6), "©o©α"),
        ("string_trim", ("\u2000 \x85text\u3000",), "text"),
        ("string_trim", ("\x1ctext\u200b",), "\x1ctext\u200b"),
        ("strings_quote", ('a"\\\n\u00ff',), '"a\\"\\\\\\n\u00ff"'),
        ("list_join", (["a", "b"],), "ab"),
        ("list_join_string", (["a", "b"], "-"), "a-b"),
        ("list_join_string", ([], "-"), ""),
    ],
)
def test_results(overload_id: str, values: tuple[Any, ...], result: Any) -> None:
    assert call(FUNCTIONS, overload_id, *values) == result


@pytest.mark.parametrize(
    ("overload_id", "values", "message"),
    [
        ("string_char_at_int", ("abc", -1), "index out of range: -1"),
        ("string_char_at_int", ("abc", 4), "index out of range: 4"),
        ("string_index_of_string_int", ("abc", "a", -1), "index out of range: -1"),
        ("string_last_index_of_string_int", ("abc", "a", -1), "index out of range: -1"),
        ("string_substring_int", ("abc", 4), "index out of range: 4"),
        ("string_substring_int", ("abc", -1), "index out of range: -1"),
        ("string_substring_int_int", ("abc", 3, 1), "invalid substring range. start: 3, end: 1"),
        ("string_substring_int_int", ("abc", -2, 1), "index out of range: -2"),
        ("string_substring_int_int", ("abc", 0, 100), "index out of range: 100"),
        ("list_join", (["a", 1],), "join: invalid input: 1"),
        ("list_join", ([True],), "join: invalid input: true"),
    ],
)
def test_errors(overload_id: str, values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError) as caught:
        call(FUNCTIONS, overload_id, *values)
    assert str(caught.value) == message


def test_results_are_refused_before_they_are_built() -> None:
    big = "x" * 10_000
    with pytest.raises(CelError, match=f"exceeds the limit of {MAX_RESULT_SIZE}"):
        call(FUNCTIONS, "string_replace_string_string", big, "", big)
    with pytest.raises(CelError, match=f"exceeds the limit of {MAX_RESULT_SIZE}"):
        call(FUNCTIONS, "list_join_string", [big] * 600, big)
    with pytest.raises(CelError, match=f"exceeds the limit of {MAX_RESULT_SIZE}"):
        call(FUNCTIONS, "string_format", "%s" * 1001, [big] * 1001)


@pytest.mark.parametrize(
    ("overload_id", "values", "expected"),
    [
        ("string_char_at_int", ("abc", 1), 1),
        ("string_index_of_string", ("x" * 19, "a"), 1),
        ("string_index_of_string", ("é" * 10, "a"), 2),
        ("string_lower_ascii", ("x" * 11,), 2),
        ("string_lower_ascii", (CelError("failed"),), 1),
        ("string_replace_string_string", ("x" * 11, "a", "b"), 3),
        ("string_split_string", ("", "a"), 0),
        ("string_trim", ("",), 0),
        ("strings_quote", ("x" * 11,), 2),
        ("string_format", ("%s" * 6, []), 2),
        ("list_join", (["abc", "de"],), 1),
        ("list_join_string", (["abc", "def"], "-----"), 3),
        ("list_join", ([1],), 1),
        ("list_join", (CelError("failed"),), 1),
    ],
)
def test_costs(overload_id: str, values: tuple[Any, ...], expected: int) -> None:
    assert cost(FUNCTIONS, overload_id, *values) == expected


def _text(low: int, high: int) -> Argument:
    return Argument(STRING, Interval(low, high))


@pytest.mark.parametrize(
    ("old", "new", "size"),
    [
        ((1, 1), (1, 1), (0, 63)),
        ((1, 1), (2, 2), (0, 126)),
        ((0, 0), (2, 2), (2, 191)),
        ((2, 4), (0, 3), (0, 96)),
        ((3, 3), (1, 1), (0, 63)),
    ],
)
def test_the_size_of_a_replacement(old: tuple[int, int], new: tuple[int, int], size: tuple[int, int]) -> None:
    found = estimate(FUNCTIONS, "string_replace_string_string", _text(0, 63), _text(*old), _text(*new))
    assert found.cost == (0, 13)
    assert found.result_size == size


def test_estimates() -> None:
    unknown = Argument(STRING)
    assert estimate(FUNCTIONS, "string_lower_ascii", _text(1, 15)) == ((1, 2), (1, 15))
    assert estimate(FUNCTIONS, "string_index_of_string", _text(0, 317), unknown).cost == (0, 32)
    assert estimate(FUNCTIONS, "string_split_string", _text(0, 63), unknown) == ((0, 13), (0, 63))
    limit = Argument(STRING, None, None, 3)
    assert estimate(FUNCTIONS, "string_split_string_int", _text(0, 63), unknown, limit).result_size == (0, 3)
    limit = Argument(STRING, None, None, -1)
    assert estimate(FUNCTIONS, "string_split_string_int", _text(0, 63), unknown, limit).result_size == (0, MAX_COST)
    assert estimate(FUNCTIONS, "strings_quote", _text(0, 63)) == ((0, 7), (2, 128))
    assert estimate(FUNCTIONS, "strings_quote", unknown).result_size == (2, 0)
    assert estimate(FUNCTIONS, "string_format", _text(5, 15), unknown) == ((1, 2), None)
    texts = Argument(list_of(STRING), Interval(2, 2))
    assert estimate(FUNCTIONS, "list_join_string", texts, _text(1, 1)).cost == (1, 1844674407370955264)
    assert estimate(FUNCTIONS, "string_replace_string_string", unknown, _text(1, 1), _text(2, 2)).result_size == (
        0,
        MAX_COST,
    )
