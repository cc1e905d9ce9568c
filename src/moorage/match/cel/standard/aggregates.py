"""Functions on lists, maps and optionals: size, in, first, last, optional.*, and what transformMap() inserts with.

Kubernetes: cel-go common/stdlib/standard.go, cel/library.go (optionals), ext/comprehensions.go (map insertion).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import CallEstimate, EstimateContext, Function, Node, Overload, actual_size
from moorage.match.cel.standard.operators import evaluated_by_the_compiler
from moorage.match.cel.standard.rows import function, overload
from moorage.match.cel.types import BOOL, BYTES, DYN, INT, STRING, list_of, map_of, optional_of, type_param
from moorage.match.cel.values import (
    OPTIONAL_NONE,
    CelError,
    CelMap,
    Duration,
    OptionalValue,
    Timestamp,
    equal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_V = type_param("V")
_K = type_param("K")
_LIST = list_of(_V)
_MAP = map_of(_K, _V)
_OPTIONAL = optional_of(_V)
_OPTIONALS = list_of(_OPTIONAL)
# The zero of Go's time.Time: the year 1.
_ZERO_TIME = -62135596800 * 1_000_000_000


def _in_list(item: Any, items: list[Any]) -> bool:
    return any(equal(item, other) for other in items)


def _in_map(key: Any, entries: CelMap) -> bool:
    return key in entries


def _list_size_estimate(context: EstimateContext, _: Node | None, args: Sequence[Node]) -> CallEstimate:
    return CallEstimate(context.size(args[1]))


def _list_size_cost(args: Sequence[Any]) -> int:
    return actual_size(args[1])


def insert_entry(entries: CelMap, key: Any, value: Any) -> CelMap:
    """Return a map with one entry more, which must be new."""
    if key in entries:
        raise CelError(f"insert failed: key {show_key(key)} already exists")
    return entries.with_entry(key, value)


def insert_entries(entries: CelMap, added: CelMap) -> CelMap:
    """Return a map with more entries, which must be new."""
    for key, value in added.items():
        entries = insert_entry(entries, key, value)
    return entries


def show_key(key: Any) -> str:
    """Return a key as Go's %v prints it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(int(key)) if isinstance(key, int) else str(key)


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


def _value(optional: OptionalValue) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


def _unwrap(optionals: list[Any]) -> list[Any]:
    for item in optionals:
        if not isinstance(item, OptionalValue):
            raise CelError(f"value {item} is not optional")
    return [item.value for item in optionals if item.present]


AGGREGATES: tuple[Function, ...] = (
    function(
        "@in",
        Overload("in_list", (_V, _LIST), BOOL, _in_list, estimate=_list_size_estimate, cost=_list_size_cost),
        overload("in_map", (_K, _MAP), BOOL, _in_map),
    ),
    function(
        "size",
        overload("size_bytes", (BYTES,), INT, len),
        overload("bytes_size", (BYTES,), INT, len, member=True),
        overload("size_list", (_LIST,), INT, len),
        overload("list_size", (_LIST,), INT, len, member=True),
        overload("size_map", (_MAP,), INT, len),
        overload("map_size", (_MAP,), INT, len, member=True),
        overload("size_string", (STRING,), INT, len),
        overload("string_size", (STRING,), INT, len, member=True),
    ),
    function(
        "cel.@mapInsert",
        overload("cel_@mapInsert_map_key_value", (_MAP, _K, _V), _MAP, insert_entry),
        overload("cel_@mapInsert_map_map", (_MAP, _MAP), _MAP, insert_entries),
    ),
    function("optional.of", overload("optional_of", (_V,), _OPTIONAL, OptionalValue.of)),
    function("optional.ofNonZeroValue", overload("optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero)),
    function("optional.none", overload("optional_none", (), _OPTIONAL, lambda: OPTIONAL_NONE)),
    function("value", overload("optional_value", (_OPTIONAL,), _V, _value, member=True)),
    function(
        "hasValue", overload("optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.present, member=True)
    ),
    function(
        "or",
        overload("optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, evaluated_by_the_compiler, member=True),
    ),
    function(
        "orValue", overload("optional_orValue_value", (_OPTIONAL, _V), _V, evaluated_by_the_compiler, member=True)
    ),
    function("_?._", overload("select_optional_field", (DYN, STRING), _OPTIONAL, evaluated_by_the_compiler)),
    function(
        "last",
        overload(
            "list_last",
            (_LIST,),
            _OPTIONAL,
            lambda items: OptionalValue.of(items[-1]) if items else OPTIONAL_NONE,
            member=True,
        ),
    ),
    function(
        "first",
        overload(
            "list_first",
            (_LIST,),
            _OPTIONAL,
            lambda items: OptionalValue.of(items[0]) if items else OPTIONAL_NONE,
            member=True,
        ),
    ),
    function("optional.unwrap", overload("optional_unwrap", (_OPTIONALS,), _LIST, _unwrap)),
    function("unwrapOpt", overload("optional_unwrapOpt", (_OPTIONALS,), _LIST, _unwrap, member=True)),
)
