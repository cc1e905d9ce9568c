"""The lists library, version 3: slice, flatten, sort, lists.range, reverse, distinct, and what sortBy() expands to.

Kubernetes: cel-go ext/lists.go with ListsVersion(3). Differs: sorting is stable, and
lists.range() and flatten() are capped before they allocate. The costs are upstream's, charged beforehand.
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import MAX_COST, ONE, STRING_FACTOR, CallEstimate, Interval, actual_size, fixed, row
from moorage.match.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type, TypeKind
from moorage.match.cel.values import (
    CelError,
    Duration,
    Timestamp,
    compare_numbers,
    equal,
    is_number,
    require_result_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.match.cel.functions import Estimate, EstimateContext, Node


def is_comparable(value: Any) -> bool:
    """Return whether the value belongs to a type that has an order at all."""
    return is_number(value) or type(value) in (bool, str, bytes, Duration, Timestamp)


def three_way(first: Any, second: Any) -> int | None:
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


def contains(items: list[Any], wanted: Any) -> bool:
    """Return whether some item equals `wanted` in CEL's sense; for strings that is Python's."""
    if type(wanted) is str:
        return wanted in items
    return any(equal(item, wanted) for item in items)


_LIST_BASE = 10
_CALL = 1
COMPARABLE = (INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES)
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
        if not any(type(item) is list for item in items):
            break
        require_result_size(sum(len(item) if type(item) is list else 1 for item in items))
        flat: list[Any] = []
        for item in items:
            if type(item) is list:
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
    if not is_comparable(keys[0]):
        raise CelError("list elements must be comparable")
    kind = type(keys[0])
    if len(keys) > 1 and any(type(key) is not kind for key in keys):
        raise CelError("list elements must have the same type")
    order = cmp_to_key(lambda first, second: three_way(first, second) or 0)
    return [items[index] for index in sorted(range(len(keys)), key=lambda index: order(keys[index]))]


def _range(count: int) -> list[int]:
    require_result_size(count)
    return list(range(count))


def _distinct(items: list[Any]) -> list[Any]:
    """Return the first of every group of equal values. The charge of 2n² keeps the list short enough for this."""
    unique: list[Any] = []
    for item in items:
        if not contains(unique, item):
            unique.append(item)
    return unique


def _literal_int(node: Node, otherwise: int) -> int:
    """Return the value of an int literal, negative ones as 0."""
    if node.is_literal and type(node.literal) is int:
        return max(node.literal, 0)
    return otherwise


def _allocating(factor: float, size: Interval) -> CallEstimate:
    """factor × size for the work, 1 for the call, 10 for the new list."""
    return CallEstimate(size.by_factor(factor).plus(ONE).plus(fixed(_LIST_BASE)), size)


def _slice_estimate(context: EstimateContext, receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
    if receiver is None or len(arguments) != 2:
        return None
    start = _literal_int(arguments[0], 0)
    end = _literal_int(arguments[1], context.size(receiver).max)
    return _allocating(1.0, fixed((end - start) % 2**64))  # upstream subtracts unsigned numbers


def _range_estimate(_context: EstimateContext, receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
    if receiver is not None or len(arguments) != 1:
        return None
    return _allocating(1.0, fixed(_literal_int(arguments[0], MAX_COST)))


def _copy_estimate(context: EstimateContext, receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
    """One pass over the list, or one for each level to flatten."""
    if receiver is None:
        return None
    depth = _literal_int(arguments[0], MAX_COST) if arguments else 1
    return _allocating(float(depth), context.size(receiver))


def _sort_estimate(element: Type | None = None, *, by_keys: bool = False) -> Estimate:
    """n² comparisons of keys: the list itself, or the list of keys."""
    factor = _COMPARISONS
    if element is not None and element.kind in (TypeKind.STRING, TypeKind.BYTES):
        factor += STRING_FACTOR

    def estimate(context: EstimateContext, receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
        node = arguments[0] if by_keys else receiver
        return None if node is None else _allocating(factor, context.size(node).times(context.size(node)))

    return estimate


def _allocating_cost(factor: float, size: int) -> int:
    return int(float(size) * factor) + _CALL + _LIST_BASE


def _slice_cost(values: Sequence[Any]) -> int:
    """By the size of the result, which the bounds tell; a failed call counts as one element."""
    items, start, end = values
    if type(items) is list and type(start) is int and type(end) is int and 0 <= start <= end <= len(items):
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
    if type(items) is list and items and type(items[0]) in (str, bytes):
        factor += STRING_FACTOR
    return _allocating_cost(factor, size * size)


FUNCTIONS = (
    row("list(T).slice(int, int) -> list(T)", "list_slice", _slice, _slice_estimate, _slice_cost),
    row("list(list(T)).flatten() -> list(T)", "list_flatten", _flatten, _copy_estimate, _copy_cost),
    row("list(dyn).flatten(int) -> list(dyn)", "list_flatten_int", _flatten, _copy_estimate, _copy_cost),
    *(
        row(
            f"list({key}).sort() -> list({key})",
            f"list_{key.name}_sort",
            _sort_by_keys,
            _sort_estimate(key),
            _sort_cost,
        )
        for key in COMPARABLE
    ),
    *(
        row(
            f"list(T).@sortByAssociatedKeys(list({key})) -> list(T)",
            f"list_{key.name}_sortByAssociatedKeys",
            _sort_by_keys,
            _sort_estimate(key, by_keys=True),
            _sort_cost,
        )
        for key in COMPARABLE
    ),
    row("lists.range(int) -> list(int)", "lists_range", _range, _range_estimate, _range_cost),
    row("list(T).reverse() -> list(T)", "list_reverse", lambda items: items[::-1], _copy_estimate, _copy_cost),
    row("list(T).distinct() -> list(T)", "list_distinct", _distinct, _sort_estimate(), _sort_cost),
)
