"""Python's values and type names as CEL's, and back: what the public module `moorage.cel` accepts and returns.

In: `list(string)` as a text, dicts, lists, datetime and timedelta. Out: types, CelMap, Timestamp and Duration.
Durations and timestamps come back in microseconds, which is as fine as Python's are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment, ObjectField
from moorage.match.cel.values import CelError, CelMap, Duration, OptionalValue, Timestamp

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def declared_type(text: str) -> types.Type:
    """Read a type as CEL writes it, such as `map(string, list(int))`; raises ValueError."""
    found, rest = types.leading_type(text)
    if found is None or rest or found.has_type_param:
        raise ValueError(f"not a type: {text!r}")
    return found


def declared_environment(
    variables: Mapping[str, str | Mapping[str, str]], max_sizes: Mapping[str, int], *, predicate: bool
) -> Environment:
    """Declare variables: a type, or an object given by the types of its fields."""
    found: dict[str, types.Type] = {}
    objects: dict[str, dict[str, ObjectField]] = {}
    for name, declared in variables.items():
        if isinstance(declared, str):
            found[name] = declared_type(declared)
            continue
        found[name] = types.struct(name)
        objects[name] = {
            field: ObjectField(declared_type(text), max_sizes.get(f"{name}.{field}"))
            for field, text in declared.items()
        }
    return Environment(KUBERNETES_FUNCTIONS, found, objects, predicate=predicate)


class Record:
    """An object variable: its declared fields as attributes."""

    def __init__(self, name: str, value: Any, fields: Iterable[str]) -> None:
        self._name = name
        for field in fields:
            if isinstance(value, Mapping):
                if field in value:
                    setattr(self, field, to_cel(value[field]))
            elif hasattr(value, field):
                setattr(self, field, to_cel(getattr(value, field)))

    def __getattr__(self, field: str) -> Any:
        raise CelError(f"no such attribute(s): {self._name}.{field}")


def to_cel(value: Any) -> Any:
    """Convert a Python value to CEL's; values that CEL shares with Python stay as they are."""
    if isinstance(value, Mapping):
        return CelMap((key, to_cel(entry)) for key, entry in value.items())
    if isinstance(value, list | tuple):
        return [to_cel(entry) for entry in value]
    if isinstance(value, datetime):
        offset = value.utcoffset() or timedelta()
        return Timestamp((value - _EPOCH) // _MICROSECOND * 1000, int(offset.total_seconds()))
    if isinstance(value, timedelta):
        return Duration(value // _MICROSECOND * 1000)
    return value


def from_cel(value: Any) -> Any:
    """Convert a result to Python: maps to dicts, times to datetime and timedelta, an absent optional to None."""
    if isinstance(value, CelMap):
        return {key: from_cel(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [from_cel(entry) for entry in value]
    if isinstance(value, Timestamp):
        return _EPOCH + timedelta(microseconds=value.nanos // 1000)
    if isinstance(value, Duration):
        return timedelta(microseconds=value.nanos // 1000)
    if isinstance(value, OptionalValue):
        return from_cel(value.value) if value.present else None
    return value
