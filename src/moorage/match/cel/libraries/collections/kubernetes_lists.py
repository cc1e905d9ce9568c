"""The Kubernetes lists library: isSorted, sum, min, max, indexOf, lastIndexOf.

Kubernetes: apiserver/pkg/cel/library/lists.go. One row per element type, since CEL has no "comparable". Elements that
cannot be compared with each other (a NaN, or mixed types behind dyn) count as not greater and not smaller, as upstream.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from moorage.match.cel.costs import traversal_estimate
from moorage.match.cel.functions import Function, Overload, traversal_cost
from moorage.match.cel.libraries.collections.lists import three_way
from moorage.match.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    type_param,
)
from moorage.match.cel.values import INT_MAX, INT_MIN, UINT_MAX, CelError, Duration, UInt, equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_A = type_param("A")
_SUMMABLE = (("int", INT), ("uint", UINT), ("double", DOUBLE), ("duration", DURATION))
_COMPARABLE = (
    ("int", INT),
    ("uint", UINT),
    ("double", DOUBLE),
    ("bool", BOOL),
    ("duration", DURATION),
    ("timestamp", TIMESTAMP),
    ("string", STRING),
    ("bytes", BYTES),
)


def _is_sorted(items: list[Any]) -> bool:
    return all(three_way(first, second) != 1 for first, second in pairwise(items))


def _extreme(name: str, beaten: int) -> Callable[[list[Any]], Any]:
    """The element no other one beats: the current best is replaced when it compares as `beaten` with the next."""

    def find(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        best = items[0]
        for item in items[1:]:
            if three_way(best, item) == beaten:
                best = item
        return best

    return find


_minimum = _extreme("min", 1)
_maximum = _extreme("max", -1)


def _sum_of_ints(items: list[Any]) -> int:
    total = 0
    for item in items:
        if type(item) is not int:
            raise CelError("no such overload")
        total += item
        if not INT_MIN <= total <= INT_MAX:
            raise CelError("integer overflow")
    return total


def _sum_of_uints(items: list[Any]) -> UInt:
    total = 0
    for item in items:
        if type(item) is not UInt:
            raise CelError("no such overload")
        total += item
        if total > UINT_MAX:
            raise CelError("unsigned integer overflow")
    return UInt(total)


def _sum_of_doubles(items: list[Any]) -> float:
    total = 0.0
    for item in items:
        if type(item) is not float:
            raise CelError("no such overload")
        total += item
    return total


def _sum_of_durations(items: list[Any]) -> Duration:
    total = 0
    for item in items:
        if type(item) is not Duration:
            raise CelError("no such overload")
        total += item.nanos
        if not INT_MIN <= total <= INT_MAX:
            raise CelError("integer overflow")
    return Duration(total)


_SUMS: dict[str, Callable[[list[Any]], Any]] = {
    "int": _sum_of_ints,
    "uint": _sum_of_uints,
    "double": _sum_of_doubles,
    "duration": _sum_of_durations,
}


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], wanted)), -1)


def _cost(values: Sequence[Any]) -> int:
    return traversal_cost(values[0])


def _over(overload_id: str, params: tuple[Type, ...], result: Type, implementation: Callable[..., Any]) -> Overload:
    return Overload(overload_id, params, result, implementation, True, traversal_estimate, _cost)


FUNCTIONS = (
    Function(
        "isSorted",
        tuple(_over(f"list_{name}_is_sorted_bool", (list_of(kind),), BOOL, _is_sorted) for name, kind in _COMPARABLE),
    ),
    Function(
        "sum", tuple(_over(f"list_{name}_sum_{name}", (list_of(kind),), kind, _SUMS[name]) for name, kind in _SUMMABLE)
    ),
    Function(
        "max", tuple(_over(f"list_{name}_max_{name}", (list_of(kind),), kind, _maximum) for name, kind in _COMPARABLE)
    ),
    Function(
        "min", tuple(_over(f"list_{name}_min_{name}", (list_of(kind),), kind, _minimum) for name, kind in _COMPARABLE)
    ),
    Function("indexOf", (_over("list_a_index_of_int", (list_of(_A), _A), INT, _index_of),)),
    Function("lastIndexOf", (_over("list_a_last_index_of_int", (list_of(_A), _A), INT, _last_index_of),)),
)
