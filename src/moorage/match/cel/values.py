"""Define the values CEL computes with, their equality and their order.

| CEL | Python |
|---|---|
| int | `int` (never `bool`, never `UInt`), within int64 |
| uint | `UInt`, within uint64 |
| double | `float` |
| bool, null | `bool`, `None` |
| string | `str`; sizes and offsets count code points, as CEL's do |
| bytes | `bytes` |
| list | `list`, never changed after it was made; `SetList` and `KeyedList` in custom objects whose schema says so |
| map | `CelMap` |
| duration, timestamp | `Duration`, `Timestamp` |
| optional_type(T) | `OptionalValue` (`OPTIONAL_NONE`, `OptionalValue.of(x)`) |
| type | `moorage.match.cel.types.Type` |
| anything else (net.IP, kubernetes.URL, …) | a subclass of `OpaqueValue` |

An error is not a value: it is raised as `CelError`, whose text is cel-go's.

Kubernetes: cel-go common/types. Differs: no protobuf messages, no unknowns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.types import Type
from moorage.model.go.integers import INT64_MAX, INT64_MIN, UINT64_MAX

# No result may be larger than this many code points, bytes or elements. cel-go has no such bound: there, nested
# replace() calls grow a string without limit at next to no cost.
MAX_RESULT_SIZE = 10_000_000
# No function is given more elements than this within lists of lists.
MAX_NESTED_SIZE = 200_000


class CelError(Exception):
    """Evaluation failed; `str(error)` is cel-go's text (`no such key: x`, `division by zero`, …).

    `cost` is what was charged until then.
    """

    cost: int = 0


class CelCancelled(CelError):
    """Evaluation was stopped (cost or time); `&&`, `||` and macros do not absorb it."""


class UInt(int):
    """A CEL uint. Arithmetic on it gives plain ints: the operators' rows wrap results again."""

    __slots__ = ()


class OpaqueValue:
    """Base of the values libraries add. `==` is CEL's equality; `cel_size` is what cel-go's Sizer says, if any."""

    __slots__ = ()
    cel_type: Type

    def cel_size(self) -> int | None:
        return None

    def is_zero(self) -> bool:
        return False


@dataclass(slots=True, unsafe_hash=True)
class Duration:
    """A span of nanoseconds within int64, as Go's time.Duration."""

    nanos: int


@dataclass(slots=True, unsafe_hash=True)
class Timestamp:
    """Nanoseconds since 1970-01-01 UTC, with the offset it was written with, which shows in string() only."""

    nanos: int
    offset_seconds: int = field(default=0, compare=False)


@dataclass(slots=True, eq=False)
class OptionalValue:
    """optional_type(T): a value or none. Ask `present`, then read `value`."""

    present: bool
    value: Any = None

    @staticmethod
    def of(value: Any) -> OptionalValue:
        return OptionalValue(True, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OptionalValue) or self.present != other.present:
            return False
        return not self.present or equal(self.value, other.value)

    def __hash__(self) -> int:
        return hash(("optional", self.present))

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


OPTIONAL_NONE = OptionalValue(False)
_MISSING = object()


class CelMap:
    """An immutable map. Keys keep their types apart (`1`, `1u` and `true` are three keys).

    Look-ups fall back to a numerically equal key of another type, so `{1: 'a'}[1u]` and `{1: 'a'}[1.0]` find 'a'.
    `absent` is what a look-up of any other key finds, if given; such a key is still not `in` the map.
    """

    __slots__ = ("_absent", "_slots")

    def __init__(self, entries: Iterable[tuple[Any, Any]] = (), absent: Any = _MISSING) -> None:
        self._absent = absent
        slots: dict[Any, tuple[Any, Any]] = {}
        for key, value in entries:
            slots[_slot(key)] = (key, value)
        self._slots = slots

    @classmethod
    def over(cls, entries: dict[Any, tuple[Any, Any]]) -> CelMap:
        """Return the map of entries (key and value by key), which may be a dictionary that makes them when asked."""
        made = cls()
        made._slots = entries
        return made

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._slots.values()])

    def items(self) -> list[tuple[Any, Any]]:
        return list(self._slots.values())

    def find(self, key: Any, default: Any = None) -> Any:
        kind = type(key)
        entry = self._slots.get(key if kind is str or kind is int else _slot(key))
        if entry is not None:
            return entry[1]
        for other in _equal_numbers(key):
            entry = self._slots.get(_slot(other))
            if entry is not None:
                return entry[1]
        return default if self._absent is _MISSING else self._absent

    def __contains__(self, key: Any) -> bool:
        if type(key) is str or (type(key) is int and key in self._slots):
            return key in self._slots
        return any(_slot(number) in self._slots for number in (key, *_equal_numbers(key)))

    def insert_in_place(self, key: Any, value: Any) -> None:
        """Add an entry to a map that is not shared yet."""
        self._slots[_slot(key)] = (key, value)

    def growing(self) -> dict[Any, tuple[Any, Any]]:
        """Return the entries of a map that is not shared yet, for generated code; ints and strings are keys."""
        return self._slots

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CelMap) or len(self) != len(other):
            return False
        for key, value in self._slots.values():
            theirs = other.find(key, _MISSING)
            if theirs is _MISSING or not equal(value, theirs):
                return False
        return True

    def __hash__(self) -> int:
        return hash(("map", len(self)))

    def __repr__(self) -> str:
        return f"CelMap({self.items()!r})"


class SetList(list[Any]):
    """A list in which every element is there once: equal in any order, `+` adds elements that are not there yet."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and len(self) == len(other) and all(map(self._finder(), other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Any) -> SetList:
        is_simple = only_type([*self, *other]) in _PYTHON_EQUALITY
        known = set(self) if is_simple else None
        merged = SetList(self)
        for item in other:
            if known is None:
                if index_of(merged, item) < 0:
                    merged.append(item)
            elif item not in known:
                known.add(item)
                merged.append(item)
        return merged

    def _finder(self) -> Callable[[Any], bool]:
        """Return the function that tells whether an element is in the list."""
        if only_type(self) in _PYTHON_EQUALITY:
            return set(self).__contains__
        return lambda item: index_of(self, item) >= 0


class KeyedList(list[Any]):
    """A list of maps with some keys that tell them apart: equal in any order, `+` replaces maps of the same keys."""

    __slots__ = ("_names",)
    __hash__ = None

    def __init__(self, items: Iterable[Any], names: tuple[str, ...]) -> None:
        super().__init__(items)
        self._names = names

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list) or len(self) != len(other):
            return False
        mine = {self._key(item): item for item in self}
        return all((key := self._key(item)) in mine and equal(mine[key], item) for item in other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: Any) -> KeyedList:
        merged = KeyedList(self, self._names)
        places = {self._key(item): place for place, item in enumerate(self)}
        for item in other:
            place = places.get(self._key(item))
            if place is None:
                merged.append(item)
            else:
                merged[place] = item
        return merged

    def _key(self, item: Any) -> tuple[Any, ...]:
        return tuple(item.find(name) for name in self._names) if isinstance(item, CelMap) else ()


def _slot(key: Any) -> Any:
    kind = type(key)
    if kind is str or kind is int or kind is bytes:
        return key
    return (kind, key)


def _equal_numbers(key: Any) -> tuple[Any, ...]:
    """Return the keys of other numeric types that equal this one without loss."""
    kind = type(key)
    if kind is int:
        return (UInt(key),) if key >= 0 else ()
    if kind is UInt:
        return (int(key),) if key <= INT64_MAX else ()
    if kind is float and math.isfinite(key) and key == math.trunc(key):
        number = int(key)
        ints: tuple[Any, ...] = (number,) if INT64_MIN <= number <= INT64_MAX else ()
        return (*ints, UInt(number)) if 0 <= number <= UINT64_MAX else ints
    return ()


def is_number(value: Any) -> bool:
    kind = type(value)
    return kind is int or kind is float or kind is UInt


def equal(a: Any, b: Any) -> bool:
    """Return CEL's `==`: numbers across types (ints meet doubles in double precision), all else within one type."""
    kind = type(a)
    other = type(b)
    if kind is other:
        if kind is list:
            if len(a) != len(b):
                return False
            if len(a) > _FEW and only_type(a) in _PYTHON_EQUALITY and only_type(a) is only_type(b):
                return bool(a == b)
            return all(map(equal, a, b))
        if isinstance(a, types.Type):
            return bool(a.name == b.name)
        return bool(a == b)
    if is_number(a) and is_number(b):
        return compare_numbers(a, b) == 0
    if isinstance(a, list) and isinstance(b, list):
        return bool(a == b) if kind is not list else len(a) == len(b) and all(map(equal, a, b))
    return isinstance(a, OpaqueValue) and isinstance(b, OpaqueValue) and bool(a == b)


def only_type(items: list[Any]) -> type | None:
    """Return the Python type that all of the items have."""
    kinds = set(map(type, items))
    return kinds.pop() if len(kinds) == 1 else None


def index_of(items: list[Any], searched: Any) -> int:
    """Return where the first item is that equals `wanted`, else -1."""
    kind = type(searched)
    if kind in _FOUND_BY_PYTHON and (kind is not int or -_EXACT_DOUBLES <= searched <= _EXACT_DOUBLES):
        try:
            index = items.index(searched)
        except ValueError:
            return -1
        if type(items[index]) is kind:
            return index
    return next((index for index, item in enumerate(items) if equal(item, searched)), -1)


def compare_numbers(a: Any, b: Any) -> int | None:
    """Return -1, 0 or 1 for two numbers of any types, None where one is NaN (it equals nothing and has no order)."""
    if type(a) is float or type(b) is float:
        if a != a or b != b:
            return None
        if type(a) is float and type(b) is float:
            return (a > b) - (a < b)
        if type(a) is float:
            low, high = (0, UINT64_MAX) if type(b) is UInt else (INT64_MIN, INT64_MAX)
            if a < low:
                return -1
            if a > float(high):
                return 1
            return (a > float(b)) - (a < float(b))
        reverse = compare_numbers(b, a)
        return None if reverse is None else -reverse
    return int(a > b) - int(a < b)


def require_result_size(size: int) -> None:
    """Raise unless a result of this many code points, bytes or elements may be built. Call it before building."""
    if size > MAX_RESULT_SIZE:
        raise CelError(f"result too large: {size} exceeds the limit of {MAX_RESULT_SIZE}")


def require_modest_nesting(value: Any) -> None:
    """Raise if the containers within a list or map hold together more than can be walked through in good time.

    Ten lists of ten references to ten lists … cost next to nothing to build, and take forever to compare or to print.
    """
    if type(value) is OptionalValue and type(value.value) not in CONTAINERS:
        return
    count = -len(value) if isinstance(value, list | CelMap) else 0
    waiting = [value]
    while waiting:
        container = waiting.pop()
        if isinstance(container, OptionalValue):
            waiting.append(container.value)
            continue
        if isinstance(container, CelMap):
            items = [entry for _, entry in container.items()]
        elif isinstance(container, list):
            items = container
        else:
            continue
        count += len(items)
        if count > MAX_NESTED_SIZE:
            raise CelError(f"value too large: more than {MAX_NESTED_SIZE} elements in nested lists and maps")
        waiting.extend(item for item in items if type(item) in CONTAINERS)


def type_of_value(value: Any) -> Type:
    known = _TYPES.get(type(value))
    if known is not None:
        return known
    if isinstance(value, OpaqueValue):
        return value.cel_type
    return types.DYN


CONTAINERS = frozenset((list, SetList, KeyedList, CelMap, OptionalValue))
# Types of which Python's equality is CEL's, among their own kind; and for ints among all kinds, but for bools, as long
# as doubles are exact.
_PYTHON_EQUALITY = frozenset((str, int, bytes, bool, UInt))
_FOUND_BY_PYTHON = frozenset((str, int, bytes))
_EXACT_DOUBLES = 2**53 - 1
_FEW = 8
_TYPES: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
    list: types.LIST,
    SetList: types.LIST,
    KeyedList: types.LIST,
    CelMap: types.MAP,
    Duration: types.DURATION,
    Timestamp: types.TIMESTAMP,
    OptionalValue: types.OPTIONAL,
    types.Type: types.TYPE,
}
