"""Implement the standard operators and functions on numbers, lists, maps, optionals and strings.

Kubernetes: cel-go common/stdlib/standard.go, common/types/overflow.go and the Add, Compare, … methods of common/types,
cel/library.go (optionals), ext/comprehensions.go (map insertion). `&&`, `||`, `?:`, `==` and indexing have rows here
for their types and costs; compiler.py evaluates them itself. cel-go's two costs of startsWith and endsWith disagree
(the estimate reads the argument, the charge is for the receiver): so do these rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.constructed import ConstructedValue
from moorage.match.cel.functions import (
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Function,
    Interval,
    actual_size,
    argument_cost,
    ceil_factor,
    no_such_overload,
    row,
    smaller_size_cost,
    smaller_size_estimate,
)
from moorage.match.cel.values import (
    OPTIONAL_NONE,
    CelError,
    CelMap,
    Duration,
    OpaqueValue,
    OptionalValue,
    Timestamp,
    UInt,
    compare_numbers,
    equal,
    index_of,
    require_result_size,
)
from moorage.model.go.integers import INT64_MAX, INT64_MIN, UINT64_MAX

# Concatenation costs 1 however long the lists, so doubling would be the cheapest way to exhaust memory.
MAX_LIST_SIZE = 1_000_000
MIN_SECONDS = -62135596800
MAX_SECONDS = 253402300799
_NANOS = 1_000_000_000


def _int(value: int) -> int:
    if INT64_MIN <= value <= INT64_MAX:
        return value
    raise CelError("integer overflow")


def _uint(value: int) -> UInt:
    if 0 <= value <= UINT64_MAX:
        return UInt(value)
    raise CelError("unsigned integer overflow")


def divide_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(a) // abs(b)
    return _int(quotient if (a < 0) == (b < 0) else -quotient)


def modulo_int(a: int, b: int) -> int:
    if b == 0:
        raise CelError("modulus by zero")
    if a == INT64_MIN and b == -1:
        raise CelError("integer overflow")
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def _divide_uint(a: int, b: int) -> UInt:
    if b == 0:
        raise CelError("division by zero")
    return UInt(int(a) // int(b))


def _modulo_uint(a: int, b: int) -> UInt:
    if b == 0:
        raise CelError("modulus by zero")
    return UInt(int(a) % int(b))


def _divide_double(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def shift_timestamp(start: Timestamp, nanos: int) -> Timestamp:
    """Return a timestamp moved by nanoseconds, if that is still one."""
    moved = start.nanos + nanos
    if not MIN_SECONDS <= moved // _NANOS <= MAX_SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(moved, start.offset_seconds)


def _elapsed(end: Any, start: Any) -> Duration:
    return Duration(_int(end.nanos - start.nanos))


def _concat(a: Any, b: Any) -> Any:
    require_result_size(len(a) + len(b))
    return a + b


def _concat_lists(a: list[Any], b: list[Any]) -> list[Any]:
    if len(a) + len(b) > MAX_LIST_SIZE:
        raise CelError(f"result too large: {len(a) + len(b)} exceeds the limit of {MAX_LIST_SIZE}")
    return a + b


def _ordered(test: Callable[[int, int], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers of any types from one of their three-way comparison."""

    def compare(a: Any, b: Any) -> bool:
        order = compare_numbers(a, b)
        if order is None:
            raise CelError("NaN values cannot be ordered")
        return test(order, 0)

    return compare


def _of_nanos(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: test(a.nanos, b.nanos)


_COMPARISONS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("_<_", "less", operator.lt),
    ("_<=_", "less_equals", operator.le),
    ("_>_", "greater", operator.gt),
    ("_>=_", "greater_equals", operator.ge),
)
_NUMBERS = (("int64", "int"), ("uint64", "uint"), ("double", "double"))


def _comparison(name: str, prefix: str, test: Callable[[Any, Any], bool]) -> Iterator[Function]:
    yield row(f"{name}(bool, bool) -> bool", f"{prefix}_bool", test)
    for left_name, left in _NUMBERS:
        others = sorted(pair for pair in _NUMBERS if pair[1] != left)
        for right_name, right in [(left_name, left), *others]:
            id_ = f"{prefix}_{left_name}" if left == right else f"{prefix}_{left_name}_{right_name}"
            exact = left == right != "double"
            yield row(f"{name}({left}, {right}) -> bool", id_, test if exact else _ordered(test))
    for type_ in ("string", "bytes"):
        signature = f"{name}({type_}, {type_}) -> bool"
        yield row(signature, f"{prefix}_{type_}", test, smaller_size_estimate, smaller_size_cost)
    for type_ in ("timestamp", "duration"):
        yield row(f"{name}({type_}, {type_}) -> bool", f"{prefix}_{type_}", _of_nanos(test))


def _sum_of_sizes_cost(args: Sequence[Any]) -> int:
    return ceil_factor(actual_size(args[0]) + actual_size(args[1]), STRING_FACTOR)


def _equality_estimate(first: Argument, second: Argument) -> CallEstimate:
    """Kubernetes' own types are compared in one step; named formats and URLs by their length."""
    type_ = first.type
    if type_.name == second.type.name:
        if type_ in (types.IP, types.CIDR, types.QUANTITY, types.SEMVER, *types.AUTHORIZATION):
            return CallEstimate(Interval(1, 1))
        if type_ == types.FORMAT:
            return CallEstimate(Interval(1, 64).by_factor(0.1))
        if type_ == types.URL:
            return CallEstimate(Interval(1, second.known_size.max if second.known_size else 1).by_factor(0.1))
    return smaller_size_estimate(first, second)


def equality_cost(args: Sequence[Any]) -> int:
    return 1 if isinstance(args[0], OpaqueValue) else smaller_size_cost(args)


def equals(a: Any, b: Any) -> bool:
    """Return a == b; Kubernetes' own types (versions, quantities, …) refuse to be compared with any other but null."""
    is_strict = isinstance(a, OpaqueValue) and not isinstance(a, ConstructedValue)
    if is_strict and type(a) is not type(b) and b is not None:
        raise CelError("no such overload")
    return equal(a, b)


OPERATORS: tuple[Function, ...] = (
    row("_?_:_(bool, T, T) -> T", "conditional", no_such_overload),
    row("_&&_(bool, bool) -> bool", "logical_and", no_such_overload),
    row("_||_(bool, bool) -> bool", "logical_or", no_such_overload),
    row("!_(bool) -> bool", "logical_not", operator.not_),
    row("@not_strictly_false(bool) -> bool", "not_strictly_false", no_such_overload),
    row("_==_(T, T) -> bool", "equals", equals, _equality_estimate, equality_cost),
    row("_!=_(T, T) -> bool", "not_equals", lambda a, b: not equal(a, b), smaller_size_estimate, smaller_size_cost),
    row("_+_(bytes, bytes) -> bytes", "add_bytes", _concat, cost=_sum_of_sizes_cost),
    row("_+_(double, double) -> double", "add_double", operator.add),
    row("_+_(duration, duration) -> duration", "add_duration_duration", lambda a, b: Duration(_int(a.nanos + b.nanos))),
    row("_+_(duration, timestamp) -> timestamp", "add_duration_timestamp", lambda d, t: shift_timestamp(t, d.nanos)),
    row("_+_(timestamp, duration) -> timestamp", "add_timestamp_duration", lambda t, d: shift_timestamp(t, d.nanos)),
    row("_+_(int, int) -> int", "add_int64", lambda a, b: _int(a + b)),
    row("_+_(list(T), list(T)) -> list(T)", "add_list", _concat_lists),
    row("_+_(string, string) -> string", "add_string", _concat, cost=_sum_of_sizes_cost),
    row("_+_(uint, uint) -> uint", "add_uint64", lambda a, b: _uint(a + b)),
    row("_/_(double, double) -> double", "divide_double", _divide_double),
    row("_/_(int, int) -> int", "divide_int64", divide_int),
    row("_/_(uint, uint) -> uint", "divide_uint64", _divide_uint),
    row("_%_(int, int) -> int", "modulo_int64", modulo_int),
    row("_%_(uint, uint) -> uint", "modulo_uint64", _modulo_uint),
    row("_*_(double, double) -> double", "multiply_double", operator.mul),
    row("_*_(int, int) -> int", "multiply_int64", lambda a, b: _int(a * b)),
    row("_*_(uint, uint) -> uint", "multiply_uint64", lambda a, b: _uint(int(a) * int(b))),
    row("-_(double) -> double", "negate_double", operator.neg),
    row("-_(int) -> int", "negate_int64", lambda a: _int(-a)),
    row("_-_(double, double) -> double", "subtract_double", operator.sub),
    row("_-_(duration, duration) -> duration", "subtract_duration_duration", _elapsed),
    row("_-_(int, int) -> int", "subtract_int64", lambda a, b: _int(a - b)),
    row(
        "_-_(timestamp, duration) -> timestamp",
        "subtract_timestamp_duration",
        lambda a, b: shift_timestamp(a, _int(-b.nanos)),
    ),
    row("_-_(timestamp, timestamp) -> duration", "subtract_timestamp_timestamp", _elapsed),
    row("_-_(uint, uint) -> uint", "subtract_uint64", lambda a, b: _uint(int(a) - int(b))),
    *(one for name, prefix, test in _COMPARISONS for one in _comparison(name, prefix, test)),
    row("_[_](list(V), int) -> V", "index_list", no_such_overload),
    row("_[_](map(K, V), K) -> V", "index_map", no_such_overload),
    row("_[_](optional_type(list(V)), int) -> optional_type(V)", "optional_list_index_int", no_such_overload),
    row("_[_](optional_type(map(K, V)), K) -> optional_type(V)", "optional_map_index_value", no_such_overload),
    row("_[?_](list(V), int) -> optional_type(V)", "list_optindex_optional_int", no_such_overload),
    row(
        "_[?_](optional_type(list(V)), int) -> optional_type(V)",
        "optional_list_optindex_optional_int",
        no_such_overload,
    ),
    row("_[?_](map(K, V), K) -> optional_type(V)", "map_optindex_optional_value", no_such_overload),
    row(
        "_[?_](optional_type(map(K, V)), K) -> optional_type(V)",
        "optional_map_optindex_optional_value",
        no_such_overload,
    ),
)
# Durations can be negated when their type is only known at run time: cel-go declares no overload for it.
NEGATE_DURATION = row("-_(duration) -> duration", "negate_duration", lambda a: Duration(_int(-a.nanos))).overloads[0]


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
    if isinstance(value, OpaqueValue):
        return value.is_zero()
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
