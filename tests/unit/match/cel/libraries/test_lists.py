"""Both list libraries and the sets: results, errors, costs."""

import math
from typing import Any

import pytest
from tests.unit.match.cel.libraries.calls import call, cost, estimate

from moorage.match.cel.functions import MAX_COST, Argument, Function, Interval
from moorage.match.cel.libraries import lists
from moorage.match.cel.types import INT, STRING, list_of
from moorage.match.cel.values import CelError, Duration, Timestamp, UInt

ALL: tuple[Function, ...] = lists.FUNCTIONS


@pytest.mark.parametrize(
    ("overload_id", "values", "result"),
    [
        ("list_int_is_sorted_bool", ([1, 2, 2, 3],), True),
        ("list_int_is_sorted_bool", ([3, 1],), False),
        ("list_double_is_sorted_bool", ([1.0, math.nan, 0.5],), True),
        ("list_bool_is_sorted_bool", ([False, True],), True),
        ("list_timestamp_is_sorted_bool", ([Timestamp(2), Timestamp(1)],), False),
        ("list_string_is_sorted_bool", (["a", "B"],), False),
        ("list_int_is_sorted_bool", ([2, "a", 1],), True),
        ("list_int_sum_int", ([1, 2, 3],), 6),
        ("list_int_sum_int", ([],), 0),
        ("list_uint_sum_uint", ([UInt(1), UInt(2)],), UInt(3)),
        ("list_double_sum_double", ([1.5, 4.5],), 6.0),
        ("list_duration_sum_duration", ([Duration(1), Duration(2)],), Duration(3)),
        ("list_int_max_int", ([1, 3, 2],), 3),
        ("list_string_min_string", (["b", "a"],), "a"),
        ("list_double_max_double", ([math.nan, 1.0],), math.nan),
        ("list_bytes_max_bytes", ([b"a", b"b"],), b"b"),
        ("list_a_index_of_int", ([1, 2, 2], 2), 1),
        ("list_a_index_of_int", ([1, 2], UInt(2)), 1),
        ("list_a_index_of_int", ([], 2), -1),
        ("list_a_last_index_of_int", ([1, 2, 2], 2), 2),
        ("list_a_last_index_of_int", ([True], 1), -1),
        ("list_slice", ([1, 2, 3, 4], 1, 3), [2, 3]),
        ("list_slice", ([1], 1, 1), []),
        ("list_flatten", ([[1], [2, [3]]],), [1, 2, [3]]),
        ("list_flatten_int", ([1, [2, [3, [4]]]], 2), [1, 2, 3, [4]]),
        ("list_flatten_int", ([1, [2]], 0), [1, [2]]),
        ("list_flatten_int", ([1, [2]], 2**62), [1, 2]),
        ("list_int_sort", ([3, 1, 2],), [1, 2, 3]),
        ("list_string_sort", ([],), []),
        ("list_int_sortByAssociatedKeys", (["c", "a", "b"], [3, 1, 1]), ["a", "b", "c"]),
        ("lists_range", (3,), [0, 1, 2]),
        ("lists_range", (-3,), []),
        ("list_reverse", ([1, 2],), [2, 1]),
        ("list_distinct", ([1, UInt(1), 1.0, 2, "a", "a"],), [1, 2, "a"]),
        ("list_sets_contains_list", ([1, 2, 3], [3, 3, 1]), True),
        ("list_sets_contains_list", ([1, 2, 3], [4]), False),
        ("list_sets_contains_list", ([], []), True),
        ("list_sets_equivalent_list", ([1, 1], [1]), True),
        ("list_sets_equivalent_list", (["a"], ["a", "b"]), False),
        ("list_sets_intersects_list", ([1, 2], [2]), True),
        ("list_sets_intersects_list", ([], [2]), False),
    ],
)
def test_results(overload_id: str, values: tuple[Any, ...], result: Any) -> None:
    found = call(ALL, overload_id, *values)
    assert found == result or (found != found and result != result)
    assert type(found) is type(result)


@pytest.mark.parametrize(
    ("overload_id", "values", "message"),
    [
        ("list_int_min_int", ([],), "min called on empty list"),
        ("list_int_max_int", ([],), "max called on empty list"),
        ("list_int_sum_int", ([2**63 - 1, 1],), "integer overflow"),
        ("list_uint_sum_uint", ([UInt(2**64 - 1), UInt(1)],), "unsigned integer overflow"),
        ("list_duration_sum_duration", ([Duration(2**63 - 1), Duration(1)],), "integer overflow"),
        ("list_int_sum_int", (["a"],), "no such overload"),
        ("list_uint_sum_uint", ([1],), "no such overload"),
        ("list_double_sum_double", ([1],), "no such overload"),
        ("list_duration_sum_duration", ([1],), "no such overload"),
        ("list_slice", ([1], -1, 1), "cannot slice(-1, 1), negative indexes not supported"),
        ("list_slice", ([1], 3, 1), "cannot slice(3, 1), start index must be less than or equal to end index"),
        ("list_slice", ([1], 0, 2), "cannot slice(0, 2), list is length 1"),
        ("list_flatten_int", ([1], -1), "level must be non-negative"),
        ("list_int_sort", ([1, "a"],), "list elements must have the same type"),
        ("list_int_sort", ([[1]],), "list elements must be comparable"),
        (
            "list_int_sortByAssociatedKeys",
            ([1], [1, 2]),
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            "but got 1 and 2 elements respectively",
        ),
        ("lists_range", (10**9,), "result too large: 1000000000 exceeds the limit of 10000000"),
    ],
)
def test_errors(overload_id: str, values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError) as caught:
        call(ALL, overload_id, *values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("overload_id", "values", "expected"),
    [
        ("list_int_is_sorted_bool", ([1, 2, 3],), 3),
        ("list_string_is_sorted_bool", (["a", "b"],), 0),
        ("list_string_is_sorted_bool", (["a" * 19, "b" * 20],), 3),
        ("list_a_index_of_int", (CelError("failed"), 1), 1),
        ("list_slice", ([1, 2, 3], 1, 3), 13),
        ("list_slice", ([1, 2, 3], 3, 1), 12),
        ("list_slice", (CelError("failed"), 0, 1), 12),
        ("lists_range", (10,), 21),
        ("lists_range", (-10,), 11),
        ("lists_range", (10**12,), 10**12 + 11),
        ("lists_range", (CelError("failed"),), 12),
        ("list_reverse", ([1, 2],), 13),
        ("list_flatten", ([[1], [2]],), 13),
        ("list_flatten_int", ([[1], [2]], 3), 17),
        ("list_flatten_int", ([1], -12), MAX_COST),
        ("list_int_sort", ([3, 1, 2],), 29),
        ("list_string_sort", (["a", "b", "c"],), 29),
        ("list_string_sort", (["a"] * 10,), 221),
        ("list_int_sort", ([],), 11),
        ("list_int_sortByAssociatedKeys", (["a", "b"], [1, 2]), 19),
        ("list_distinct", ([1, 2],), 19),
        ("list_sets_contains_list", ([1, 2, 3], [1, 2]), 7),
        ("list_sets_equivalent_list", ([1, 2, 3], [1, 2]), 13),
    ],
)
def test_costs(overload_id: str, values: tuple[Any, ...], expected: int) -> None:
    assert cost(ALL, overload_id, *values) == expected


def _ints(low: int, high: int) -> Argument:
    return Argument(list_of(INT), Interval(low, high))


def _literal(value: int) -> Argument:
    return Argument(INT, None, None, value)


@pytest.mark.parametrize(
    ("overload_id", "nodes", "expected"),
    [
        ("list_int_sum_int", (_ints(3, 3),), (3, 3)),
        ("list_string_is_sorted_bool", (Argument(list_of(STRING), Interval(2, 2)),), (2, 3689348814741910530)),
        ("list_slice", (_ints(4, 4), _literal(1), _literal(3)), (13, 13)),
        ("list_slice", (_ints(0, 4), Argument(INT), Argument(INT)), (15, 15)),
        ("list_slice", (_ints(4, 4), _literal(3), _literal(1)), (MAX_COST, MAX_COST)),
        ("lists_range", (_literal(3),), (14, 14)),
        ("lists_range", (_literal(-3),), (11, 11)),
        ("lists_range", (Argument(INT),), (MAX_COST, MAX_COST)),
        ("list_reverse", (_ints(0, 63),), (11, 74)),
        ("list_flatten", (_ints(1, 2),), (12, 13)),
        ("list_flatten_int", (_ints(1, 2), _literal(3)), (14, 17)),
        ("list_distinct", (_ints(1, 3),), (13, 29)),
        ("list_int_sort", (_ints(3, 3),), (29, 29)),
        ("list_string_sort", (Argument(list_of(STRING), Interval(0, 63)),), (11, 8346)),
        ("list_int_sortByAssociatedKeys", (_ints(9, 9), _ints(2, 2)), (19, 19)),
        ("list_sets_contains_list", (_ints(3, 3), _ints(1, 2)), (4, 7)),
        ("list_sets_equivalent_list", (_ints(3, 3), _ints(1, 2)), (7, 13)),
    ],
)
def test_estimates(overload_id: str, nodes: tuple[Argument, ...], expected: tuple[int, int]) -> None:
    assert estimate(ALL, overload_id, *nodes).cost == expected
