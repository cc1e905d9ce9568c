"""Equality, order and look-up of values across types."""

import math
from typing import Any

import pytest

from moorage.match.cel import types
from moorage.match.cel.values import (
    MAX_RESULT_SIZE,
    CelError,
    CelMap,
    Duration,
    OptionalValue,
    Timestamp,
    UInt,
    compare_numbers,
    equal,
    index_of,
    require_result_size,
    type_of_value,
)

BIG = 2**53 + 1


EQUALITY = pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (1, UInt(1), True),
        (1, 1.0, True),
        (-1, UInt(2**64 - 1), False),
        (BIG, float(BIG), True),
        (2**63 - 1, 2.0**63, True),
        (2**63 - 1, 2.0**64, False),
        (True, 1, False),
        (None, False, False),
        (None, None, True),
        ("a", b"a", False),
        (math.nan, math.nan, False),
        ([1, [2.0]], [1.0, [UInt(2)]], True),
        ([1], [1, 2], False),
        (CelMap([(1, "a")]), CelMap([(UInt(1), "a")]), True),
        (CelMap([(1, "a")]), CelMap([(1, "b")]), False),
        (CelMap([(1, "a")]), CelMap([(2, "a")]), False),
        (Duration(1), Duration(1), True),
        (Timestamp(1, 3600), Timestamp(1), True),
        (Timestamp(1), Duration(1), False),
        (OptionalValue.of(1), OptionalValue.of(1.0), True),
        (OptionalValue(False), OptionalValue.of(None), False),
        (types.LIST, types.list_of(types.INT), True),
    ],
)


@EQUALITY
def test_equality_of_long_lists_is_that_of_their_elements(a: Any, b: Any, want: bool) -> None:
    for filler in (1, "a", True, 1.5, UInt(1)):
        assert equal([filler] * 20 + [a], [filler] * 20 + [b]) is want
    assert equal([a] * 20, [b] * 20) is want


@pytest.mark.parametrize(
    ("items", "wanted", "index"),
    [
        ([3, 1], 1, 1),
        ([True, 1], 1, 1),
        ([1, True], True, 1),
        ([1.0], 1, 0),
        ([UInt(7), 7], 7, 0),
        ([True, UInt(1)], 1, 1),
        ([float(BIG)], BIG, 0),
        ([BIG], float(BIG), 0),
        ([True], 1, -1),
        (["b", "a"], "a", 1),
        ([b"a", "a"], "a", 1),
        ([math.nan], math.nan, -1),
        ([[1], [2]], [2.0], 1),
        ([], None, -1),
    ],
)
def test_the_index_of_a_value_is_that_of_the_first_equal_one(items: list[Any], wanted: Any, index: int) -> None:
    assert index_of(items, wanted) == index
    assert next((place for place, item in enumerate(items) if equal(item, wanted)), -1) == index


@EQUALITY
def test_equality(a: Any, b: Any, want: bool) -> None:
    assert equal(a, b) is want
    assert equal(b, a) is want


@pytest.mark.parametrize(
    ("a", "b", "want"),
    [
        (1, 2.5, -1),
        (UInt(3), 2.5, 1),
        (-1, UInt(0), -1),
        (2**63 - 1, 1e300, -1),
        (-(2**63), -1e300, 1),
        (UInt(0), -0.5, 1),
        (1, math.nan, None),
        (2, 2, 0),
    ],
)
def test_order_of_numbers(a: Any, b: Any, want: int | None) -> None:
    assert compare_numbers(a, b) == want
    assert compare_numbers(b, a) == (None if want is None else -want)


@pytest.mark.parametrize(
    ("key", "want"),
    [
        (1, "int"),
        (UInt(1), "uint"),
        (True, "bool"),
        (1.0, "int"),
        (2, "two"),
        (UInt(2), "two"),
        (2.5, None),
        ("1", None),
        (False, None),
        (b"x", "bytes"),
        (math.inf, None),
        (-2, None),
    ],
)
def test_keys_of_maps(key: Any, want: str | None) -> None:
    entries = CelMap([(1, "int"), (UInt(1), "uint"), (True, "bool"), (UInt(2), "two"), (b"x", "bytes")])
    assert entries.find(key) == want
    assert (key in entries) is (want is not None)


def test_maps_keep_the_order_of_insertion() -> None:
    entries = CelMap({"b": 1}.items())
    entries.insert_in_place("a", 2)
    assert entries.items() == [("b", 1), ("a", 2)]


def test_results_beyond_the_limit_are_refused() -> None:
    require_result_size(MAX_RESULT_SIZE)
    with pytest.raises(CelError, match="result too large"):
        require_result_size(MAX_RESULT_SIZE + 1)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (True, "bool"),
        (1, "int"),
        (UInt(1), "uint"),
        (None, "null_type"),
        ([], "list"),
        (CelMap(), "map"),
        (types.INT, "type"),
    ],
)
def test_types_of_values(value: Any, name: str) -> None:
    assert type_of_value(value).name == name
