"""Functions on lists, maps, optionals and strings: size, in, first, last, optional.*, contains, startsWith, endsWith.

Kubernetes: cel-go common/stdlib/standard.go, cel/library.go (optionals), ext/comprehensions.go (map insertion). Its
two costs of startsWith and endsWith disagree (the estimate reads the argument, the charge is for the receiver): so do
these rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moorage.match.cel.functions import (
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Function,
    actual_size,
    argument_cost,
    ceil_factor,
    no_such_overload,
    row,
)
from moorage.match.cel.standard.operators import MIN_SECONDS
from moorage.match.cel.values import OPTIONAL_NONE, CelError, CelMap, Duration, OptionalValue, Timestamp, index_of

_ZERO_TIME = MIN_SECONDS * 1_000_000_000  # of Go's time.Time: the year 1


def _in_list(item: Any, items: list[Any]) -> bool:
    return index_of(items, item) >= 0


def _in_list_estimate(_: Argument, items: Argument) -> CallEstimate:
    return CallEstimate(items.size)


def _in_list_cost(args: Sequence[Any]) -> int:
    return actual_size(args[1])


def _is_zero(value: Any) -> bool:
    if isinstance(value, Timestamp):
        return value.nanos == _ZERO_TIME
    if isinstance(value, Duration):
        return value.nanos == 0
    if value is None or isinstance(value, bool | int | float):
        return not value
    return isinstance(value, str | bytes | list | CelMap) and len(value) == 0


def _of_non_zero(value: Any) -> OptionalValue:
    return OPTIONAL_NONE if _is_zero(value) else OptionalValue.of(value)


def _element(items: list[Any], index: int) -> OptionalValue:
    return OptionalValue.of(items[index]) if items else OPTIONAL_NONE


def _value(optional: OptionalValue) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _unwrap(optionals: list[Any]) -> list[Any]:
    for item in optionals:
        if not isinstance(item, OptionalValue):
            raise CelError(f"value {item} is not optional")
    return [item.value for item in optionals if item.present]


def _contains_estimate(text: Argument, part: Argument) -> CallEstimate:
    return CallEstimate(text.size.by_factor(STRING_FACTOR).times(part.size.by_factor(STRING_FACTOR)))


def _contains_cost(args: Sequence[Any]) -> int:
    return ceil_factor(actual_size(args[0]), STRING_FACTOR) * ceil_factor(actual_size(args[1]), STRING_FACTOR)


def _affix_estimate(_: Argument, affix: Argument) -> CallEstimate:
    return CallEstimate(affix.size.by_factor(STRING_FACTOR))


_AFFIX = (_affix_estimate, argument_cost(STRING_FACTOR))
AGGREGATES: tuple[Function, ...] = (
    row("@in(V, list(V)) -> bool", "in_list", _in_list, _in_list_estimate, _in_list_cost),
    row("@in(K, map(K, V)) -> bool", "in_map", lambda key, entries: key in entries),
    row("size(bytes) -> int", "size_bytes", len),
    row("bytes.size() -> int", "bytes_size", len),
    row("size(list(V)) -> int", "size_list", len),
    row("list(V).size() -> int", "list_size", len),
    row("size(map(K, V)) -> int", "size_map", len),
    row("map(K, V).size() -> int", "map_size", len),
    row("size(string) -> int", "size_string", len),
    row("string.size() -> int", "string_size", len),
    row("cel.@mapInsert(map(K, V), K, V) -> map(K, V)", "cel_@mapInsert_map_key_value", no_such_overload),
    row("cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)", "cel_@mapInsert_map_map", no_such_overload),
    row("optional.of(V) -> optional_type(V)", "optional_of", OptionalValue.of),
    row("optional.ofNonZeroValue(V) -> optional_type(V)", "optional_ofNonZeroValue", _of_non_zero),
    row("optional.none() -> optional_type(V)", "optional_none", lambda: OPTIONAL_NONE),
    row("optional_type(V).value() -> V", "optional_value", _value),
    row("optional_type(V).hasValue() -> bool", "optional_hasValue", lambda optional: optional.present),
    row("optional_type(V).or(optional_type(V)) -> optional_type(V)", "optional_or_optional", no_such_overload),
    row("optional_type(V).orValue(V) -> V", "optional_orValue_value", no_such_overload),
    row("_?._(dyn, string) -> optional_type(V)", "select_optional_field", no_such_overload),
    row("list(V).last() -> optional_type(V)", "list_last", lambda items: _element(items, -1)),
    row("list(V).first() -> optional_type(V)", "list_first", lambda items: _element(items, 0)),
    row("optional.unwrap(list(optional_type(V))) -> list(V)", "optional_unwrap", _unwrap),
    row("list(optional_type(V)).unwrapOpt() -> list(V)", "optional_unwrapOpt", _unwrap),
    row("string.contains(string) -> bool", "contains_string", str.__contains__, _contains_estimate, _contains_cost),
    row("string.endsWith(string) -> bool", "ends_with_string", str.endswith, *_AFFIX),
    row("string.startsWith(string) -> bool", "starts_with_string", str.startswith, *_AFFIX),
)
