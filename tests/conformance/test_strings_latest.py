"""Where the specification's strings library is ahead of Kubernetes'."""

from typing import Any

import pytest
from tests.conformance.checks.cel_strings_latest import FUNCTIONS
from tests.unit.match.cel.libraries.calls import call

from moorage.match.cel.types import STRING
from moorage.match.cel.values import OPTIONAL_NONE, CelError, CelMap, Duration, Timestamp, UInt


@pytest.mark.parametrize(
    ("text", "arguments", "result"),
    [
        ("%s %s", ["a", b"b"], "a b"),
        ("%s", [[1, "a", True, 2.5, None]], "[1, a, true, 2.5, null]"),
        ("%s", [CelMap([("k2", Duration(10**9)), ("k1", Timestamp(0))])], "{k1: 1970-01-01T00:00:00Z, k2: 1s}"),
        ("%s", [STRING], "string"),
        ("%s %s %s", [1e23, 1e-7, 3.0], "100000000000000000000000 0.0000001 3"),
        ("%d %d %d", [1, UInt(2), 2.5], "1 2 2.5"),
        ("%f %.1f %f", [2, UInt(3), 1234.5], "2.000000 3.0 1234.500000"),
        ("%e %.2e", [2, 2.71828], "2.000000e+00 2.72e+00"),
        ("%f %e %d", [float("nan"), float("inf"), float("-inf")], "NaN Infinity -Infinity"),
        ("%x %o %b", [255, 8, True], "ff 10 1"),
    ],
)
def test_format(text: str, arguments: list[Any], result: str) -> None:
    assert call(FUNCTIONS, "string_format_latest", text, arguments) == result


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("%f", [None]),
        ("%e", ["NaN"]),
        ("%d", ["a"]),
        ("%s", [OPTIONAL_NONE]),
        ("%.2000f", [1.0]),
        ("%d", []),
        ("%", [1]),
    ],
)
def test_format_refuses(text: str, arguments: list[Any]) -> None:
    with pytest.raises(CelError):
        call(FUNCTIONS, "string_format_latest", text, arguments)


def test_offsets_must_lie_within_the_text() -> None:
    assert call(FUNCTIONS, "string_index_of_string_int", "tacocat", "a", 3) == 5
    assert call(FUNCTIONS, "string_last_index_of_string_int", "tacocat", "a", 3) == 1
    for overload_id in ("string_index_of_string_int", "string_last_index_of_string_int"):
        assert call(FUNCTIONS, overload_id, "tacocat", "", 3) == 3
        for offset in (-1, 7, 30):
            with pytest.raises(CelError, match=f"index out of range: {offset}"):
                call(FUNCTIONS, overload_id, "tacocat", "a", offset)


def test_reverse() -> None:
    assert call(FUNCTIONS, "string_reverse", "Ta©oCαt") == "tαCo©aT"
