"""Order and membership as the list functions see them.

Kubernetes: the Compare methods of cel-go common/types, whose errors the list functions ignore. Numbers compare across
types; everything else only with its own.
"""

from __future__ import annotations

from typing import Any

from moorage.match.cel.values import Duration, Timestamp, compare_numbers, equal, is_number


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
