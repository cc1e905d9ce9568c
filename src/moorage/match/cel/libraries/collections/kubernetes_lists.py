"""The Kubernetes lists library (isSorted, sum, min, max, indexOf, lastIndexOf) and the sets library.

One row per element type, since CEL has no "comparable". Elements that cannot be compared with each other (a NaN, or
mixed types behind dyn) count as not greater and not smaller, as upstream. Functions on sets cost the product of the
sizes, twice that for `equivalent`, plus one for the call.
Kubernetes: apiserver/pkg/cel/library/lists.go, cel-go ext/sets.go.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from moorage.match.cel.costs import receiver_traversal_cost, traversal_estimate
from moorage.match.cel.functions import ONE, CallEstimate, Function, actual_size, row
from moorage.match.cel.libraries.collections.lists import COMPARABLE, contains, three_way
from moorage.match.cel.values import INT_MAX, UINT_MAX, CelError, Duration, UInt, equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.cel.functions import EstimateContext, Node


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


def _sum(kind: type, highest: float, overflow: str) -> Callable[[list[Any]], Any]:
    """Return the sum of elements of one type, which fails as soon as a partial sum is out of range."""
    lowest = 0 if kind is UInt else -highest - 1

    def add(items: list[Any]) -> Any:
        total: Any = 0.0 if kind is float else 0
        for item in items:
            if type(item) is not kind:
                raise CelError("no such overload")
            total += item.nanos if isinstance(item, Duration) else item
            if not lowest <= total <= highest and kind is not float:
                raise CelError(overflow)
        return total if kind is int or kind is float else kind(total)

    return add


_SUMS = {
    "int": _sum(int, INT_MAX, "integer overflow"),
    "uint": _sum(UInt, UINT_MAX, "unsigned integer overflow"),
    "double": _sum(float, 0, ""),
    "duration": _sum(Duration, INT_MAX, "integer overflow"),
}


def _index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index_of(items: list[Any], wanted: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], wanted)), -1)


def _row(signature: str, overload_id: str, implementation: Callable[..., Any]) -> Function:
    return row(signature, overload_id, implementation, traversal_estimate, receiver_traversal_cost)


FUNCTIONS = (
    *(_row(f"list({kind}).isSorted() -> bool", f"list_{kind}_is_sorted_bool", _is_sorted) for kind in COMPARABLE),
    *(_row(f"list({kind}).sum() -> {kind}", f"list_{kind}_sum_{kind}", add) for kind, add in _SUMS.items()),
    *(_row(f"list({kind}).max() -> {kind}", f"list_{kind}_max_{kind}", _maximum) for kind in COMPARABLE),
    *(_row(f"list({kind}).min() -> {kind}", f"list_{kind}_min_{kind}", _minimum) for kind in COMPARABLE),
    _row("list(A).indexOf(A) -> int", "list_a_index_of_int", _index_of),
    _row("list(A).lastIndexOf(A) -> int", "list_a_last_index_of_int", _last_index_of),
)


def _contains(items: list[Any], part: list[Any]) -> bool:
    return all(contains(items, wanted) for wanted in part)


def _equivalent(first: list[Any], second: list[Any]) -> bool:
    return _contains(first, second) and _contains(second, first)


def _intersects(first: list[Any], second: list[Any]) -> bool:
    return any(contains(second, item) for item in first)


def _set_row(
    name: str, overload_id: str, implementation: Callable[[list[Any], list[Any]], bool], passes: int
) -> Function:
    """Return a function of two lists that compares every element with every element, `passes` times."""

    def estimate(context: EstimateContext, _receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
        if len(arguments) != 2:
            return None
        pairs = context.size(arguments[0]).times(context.size(arguments[1]))
        return CallEstimate(pairs.by_factor(float(passes)).plus(ONE))

    def cost(values: Sequence[Any]) -> int:
        return 1 + actual_size(values[0]) * actual_size(values[1]) * passes

    return row(f"{name}(list(T), list(T)) -> bool", overload_id, implementation, estimate, cost)


SET_FUNCTIONS = (
    _set_row("sets.contains", "list_sets_contains_list", _contains, 1),
    _set_row("sets.equivalent", "list_sets_equivalent_list", _equivalent, 2),
    _set_row("sets.intersects", "list_sets_intersects_list", _intersects, 1),
)
