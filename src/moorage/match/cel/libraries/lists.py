"""Implement the lists libraries of cel-go (slice, sort, …) and of Kubernetes (isSorted, sum, …), and sets.

Kubernetes: cel-go ext/lists.go with ListsVersion(3), ext/sets.go; apiserver/pkg/cel/library/lists.go. One row per
element type, since CEL has no "comparable"; elements that cannot be compared with each other (a NaN, or mixed types
behind dyn) count as not greater and not smaller. Functions on sets cost the product of the sizes, twice that for
`equivalent`, plus one for the call.
Differs: sorting is stable, and lists.range() and flatten() are capped before they allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import islice, pairwise
from operator import le
from typing import Any

from moorage.match.cel.functions import (
    MAX_COST,
    ONE,
    STRING_FACTOR,
    TRAVERSES,
    Argument,
    CallEstimate,
    Estimate,
    Function,
    Interval,
    actual_size,
    fixed,
    row,
)
from moorage.match.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type, TypeKind
from moorage.match.cel.values import (
    CelError,
    Duration,
    Timestamp,
    UInt,
    compare_numbers,
    equal,
    index_of,
    is_number,
    only_type,
    require_result_size,
)
from moorage.model.go.integers import INT64_MAX, UINT64_MAX


def _is_comparable(value: Any) -> bool:
    """Return whether the value belongs to a type that has an order at all."""
    return is_number(value) or type(value) in (bool, str, bytes, Duration, Timestamp)


def _three_way(first: Any, second: Any) -> int | None:
    """-1, 0 or 1 as `first` is smaller than, equal to or greater than `second`; None if neither."""
    if is_number(first) and is_number(second):
        return compare_numbers(first, second)
    kind = type(first)
    if kind is not type(second):
        return None
    if kind is Duration or kind is Timestamp:
        return int(first.nanos > second.nanos) - int(first.nanos < second.nanos)
    if kind in (str, bytes, bool):
        return int(first > second) - int(first < second)
    return None


def _includes(items: list[Any], item: Any) -> bool:
    return index_of(items, item) >= 0


# Types whose values Python orders as CEL does, among their own kind.
_ORDERED_BY_PYTHON = frozenset((int, UInt, str, bytes, bool))
_LIST_BASE = 10
_CALL = 1
_COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
_COMPARISONS = 2.0


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise CelError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise CelError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise CelError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise CelError("level must be non-negative")
    for _ in range(depth):
        if not any(isinstance(item, list) for item in items):
            break
        require_result_size(sum(len(item) if isinstance(item, list) else 1 for item in items))
        flat: list[Any] = []
        for item in items:
            if isinstance(item, list):
                flat += item
            else:
                flat.append(item)
        items = flat
    return items


def _sort_by_keys(items: list[Any], keys: list[Any] | None = None) -> list[Any]:
    """Return the items in the order of their keys; equal keys keep their order. Without keys, items are their own."""
    keys = items if keys is None else keys
    if len(items) != len(keys):
        raise CelError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, "
            f"but got {len(items)} and {len(keys)} elements respectively"
        )
    if not items:
        return items
    if not _is_comparable(keys[0]):
        raise CelError("list elements must be comparable")
    kind = type(keys[0])
    if len(keys) > 1 and any(type(key) is not kind for key in keys):
        raise CelError("list elements must have the same type")
    order = cmp_to_key(lambda first, second: _three_way(first, second) or 0)
    return [items[index] for index in sorted(range(len(keys)), key=lambda index: order(keys[index]))]


def _range(count: int) -> list[int]:
    require_result_size(count)
    return list(range(count))


def _distinct(items: list[Any]) -> list[Any]:
    """Return the first of every group of equal values. The charge of 2n² keeps the list short enough for this."""
    unique: list[Any] = []
    for item in items:
        if not _includes(unique, item):
            unique.append(item)
    return unique


def _literal_int(argument: Argument, otherwise: int) -> int:
    """Return the value of an int literal, negative ones as 0."""
    return max(argument.literal, 0) if type(argument.literal) is int else otherwise


def _allocating(factor: float, size: Interval) -> CallEstimate:
    """factor × size for the work, 1 for the call, 10 for the new list."""
    return CallEstimate(size.by_factor(factor).plus(ONE).plus(fixed(_LIST_BASE)), size)


def _slice_estimate(items: Argument, first: Argument, last: Argument) -> CallEstimate:
    start, end = _literal_int(first, 0), _literal_int(last, items.size.max)
    return _allocating(1.0, fixed((end - start) % 2**64))  # upstream subtracts unsigned numbers


def _range_estimate(count: Argument) -> CallEstimate:
    return _allocating(1.0, fixed(_literal_int(count, MAX_COST)))


def _copy_estimate(items: Argument, levels: Argument | None = None) -> CallEstimate:
    """One pass over the list, or one for each level to flatten."""
    return _allocating(float(1 if levels is None else _literal_int(levels, MAX_COST)), items.size)


def _sort_estimate(element: Type | None = None) -> Estimate:
    """n² comparisons of keys: the list itself, or the list of keys, which comes last."""
    factor = _COMPARISONS
    if element is not None and element.kind in (TypeKind.STRING, TypeKind.BYTES):
        factor += STRING_FACTOR
    return lambda *lists: _allocating(factor, lists[-1].size.times(lists[-1].size))


def _allocating_cost(factor: float, size: int) -> int:
    return int(float(size) * factor) + _CALL + _LIST_BASE


def _slice_cost(values: Sequence[Any]) -> int:
    """By the size of the result, which the bounds tell; a failed call counts as one element."""
    items, start, end = values
    if isinstance(items, list) and type(start) is int and type(end) is int and 0 <= start <= end <= len(items):
        return _allocating_cost(1.0, end - start)
    return _allocating_cost(1.0, 1)


def _range_cost(values: Sequence[Any]) -> int:
    return _allocating_cost(1.0, max(values[0], 0) if type(values[0]) is int else 1)


def _copy_cost(values: Sequence[Any]) -> int:
    depth = values[1] if len(values) == 2 and type(values[1]) is int else 1
    return _allocating_cost(float(depth), actual_size(values[0])) % 2**64  # a negative depth wraps around


def _sort_cost(values: Sequence[Any]) -> int:
    """By the keys, which come last."""
    items = values[-1]
    size = actual_size(items)
    factor = _COMPARISONS
    if isinstance(items, list) and items and type(items[0]) in (str, bytes):
        factor += STRING_FACTOR
    return _allocating_cost(factor, size * size)


def _is_sorted(items: list[Any]) -> bool:
    if only_type(items) in _ORDERED_BY_PYTHON:
        return all(map(le, items, islice(items, 1, None)))
    return all(_three_way(first, second) != 1 for first, second in pairwise(items))


def _extreme(name: str, beaten: int) -> Callable[[list[Any]], Any]:
    """The element no other one beats: the current best is replaced when it compares as `beaten` with the next."""

    def find(items: list[Any]) -> Any:
        if not items:
            raise CelError(f"{name} called on empty list")
        if only_type(items) in _ORDERED_BY_PYTHON:
            return min(items) if beaten == 1 else max(items)
        best = items[0]
        for item in items[1:]:
            if _three_way(best, item) == beaten:
                best = item
        return best

    return find


_minimum = _extreme("min", 1)
_maximum = _extreme("max", -1)


def _sum(kind: type, highest: float, overflow: str) -> Callable[[list[Any]], Any]:
    """Return the sum of elements of one type, which fails as soon as a partial sum is out of range."""
    lowest = 0 if kind is UInt else -highest - 1

    def add(items: list[Any]) -> Any:
        if kind is int and only_type(items) is int and sum(map(abs, items)) <= highest:
            return sum(items)
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
    "int": _sum(int, INT64_MAX, "integer overflow"),
    "uint": _sum(UInt, UINT64_MAX, "unsigned integer overflow"),
    "double": _sum(float, 0, ""),
    "duration": _sum(Duration, INT64_MAX, "integer overflow"),
}


def _last_index_of(items: list[Any], item: Any) -> int:
    return next((index for index in range(len(items) - 1, -1, -1) if equal(items[index], item)), -1)


def _contains(items: list[Any], part: list[Any]) -> bool:
    return all(_includes(items, item) for item in part)


def _equivalent(first: list[Any], second: list[Any]) -> bool:
    return _contains(first, second) and _contains(second, first)


def _intersects(first: list[Any], second: list[Any]) -> bool:
    return any(_includes(second, item) for item in first)


def _set_row(
    name: str, overload_id: str, implementation: Callable[[list[Any], list[Any]], bool], passes: int
) -> Function:
    """Return a function of two lists that compares every element with every element, `passes` times."""

    def estimate(first: Argument, second: Argument) -> CallEstimate:
        return CallEstimate(first.size.times(second.size).by_factor(float(passes)).plus(ONE))

    def cost(values: Sequence[Any]) -> int:
        return 1 + actual_size(values[0]) * actual_size(values[1]) * passes

    return row(f"{name}(list(T), list(T)) -> bool", overload_id, implementation, estimate, cost)


def _sort_row(signature: str, overload_id: str, key: Type) -> Function:
    return row(signature, overload_id, _sort_by_keys, _sort_estimate(key), _sort_cost)


FUNCTIONS = (
    row("list(T).slice(int, int) -> list(T)", "list_slice", _slice, _slice_estimate, _slice_cost),
    row("list(list(T)).flatten() -> list(T)", "list_flatten", _flatten, _copy_estimate, _copy_cost),
    row("list(dyn).flatten(int) -> list(dyn)", "list_flatten_int", _flatten, _copy_estimate, _copy_cost),
    *(_sort_row(f"list({key}).sort() -> list({key})", f"list_{key.name}_sort", key) for key in _COMPARABLE),
    *(
        _sort_row(
            f"list(T).@sortByAssociatedKeys(list({key})) -> list(T)", f"list_{key.name}_sortByAssociatedKeys", key
        )
        for key in _COMPARABLE
    ),
    row("lists.range(int) -> list(int)", "lists_range", _range, _range_estimate, _range_cost),
    row("list(T).reverse() -> list(T)", "list_reverse", lambda items: items[::-1], _copy_estimate, _copy_cost),
    row("list(T).distinct() -> list(T)", "list_distinct", _distinct, _sort_estimate(), _sort_cost),
    *(
        row(f"list({kind}).isSorted() -> bool", f"list_{kind}_is_sorted_bool", _is_sorted, *TRAVERSES)
        for kind in _COMPARABLE
    ),
    *(row(f"list({kind}).sum() -> {kind}", f"list_{kind}_sum_{kind}", add, *TRAVERSES) for kind, add in _SUMS.items()),
    *(row(f"list({kind}).max() -> {kind}", f"list_{kind}_max_{kind}", _maximum, *TRAVERSES) for kind in _COMPARABLE),
    *(row(f"list({kind}).min() -> {kind}", f"list_{kind}_min_{kind}", _minimum, *TRAVERSES) for kind in _COMPARABLE),
    row("list(A).indexOf(A) -> int", "list_a_index_of_int", index_of, *TRAVERSES),
    row("list(A).lastIndexOf(A) -> int", "list_a_last_index_of_int", _last_index_of, *TRAVERSES),
    _set_row("sets.contains", "list_sets_contains_list", _contains, 1),
    _set_row("sets.equivalent", "list_sets_equivalent_list", _equivalent, 2),
    _set_row("sets.intersects", "list_sets_intersects_list", _intersects, 1),
)
