"""Convert JSON values to CEL values by their schema.

Times, durations and bytes are no strings there, and nulls of fields are absent. Kubernetes:
apiserver/pkg/cel/common/valuesunstructured.go.
"""

from collections.abc import Callable, Mapping
from typing import Any

from moorage.custom.expressions.declared_types import escape_name, with_object_fields
from moorage.custom.formats import duration_of
from moorage.custom.structural import Structural
from moorage.match.cel import types
from moorage.match.cel.libraries.calendar import parse_timestamp
from moorage.match.cel.values import CelError, CelMap, Duration, KeyedList, OpaqueValue, SetList
from moorage.model.go.pem_blocks import base64_complaint, decode_base64
from moorage.model.go.quoting import go_quote


class PreservedValue(OpaqueValue):
    """A value without a schema: it can be compared, and nothing else."""

    __slots__ = ("value",)
    cel_type = types.opaque("unknown")

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PreservedValue) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def cel_value(value: Any, schema: Structural, *, is_resource_root: bool = False) -> Any:
    """Return a validated value of a schema. Where it is of another type after all, a CelError is raised."""
    if value is None:
        return value
    if schema.intOrString:
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        raise CelError("invalid data, expected XIntOrString value to be either a string or integer")
    kind = schema.type
    if kind == "object" and isinstance(value, dict):
        if is_resource_root or schema.embeddedResource:
            return _object(value, with_object_fields(schema))
        if schema.properties or schema.additional is None:
            return _object(value, schema.properties)
        below = schema.additional
        return CelMap((name, _or_error(item, below)) for name, item in value.items())
    if kind == "array" and isinstance(value, list) and schema.items is not None:
        items = schema.items
        elements = [cel_value(item, items) for item in value]
        if schema.listType == "set":
            return SetList(elements)
        if schema.listType == "map":
            return KeyedList(elements, tuple(escape_name(key) or key for key in schema.listMapKeys))
        return elements
    if kind == "string" and isinstance(value, str):
        return _text(value, schema.format)
    if kind == "number" and isinstance(value, int | float):
        return float(value)
    if kind == "integer" and isinstance(value, int):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if not kind and schema.preserveUnknownFields:
        return PreservedValue(value)
    raise CelError(
        f"invalid data, expected {_CEL_NAMES.get(kind, kind)}, got {_GO_TYPES.get(type(value), type(value))}"
    )


_CEL_NAMES = {"integer": "int", "number": "float", "boolean": "bool"}
_GO_TYPES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def _or_error(value: Any, schema: Structural) -> Any:
    """Return a value, or the error that expressions fail with where they look at it."""
    try:
        return cel_value(value, schema)
    except CelError as error:
        return error


def _object(value: dict[str, Any], properties: Mapping[str, Structural]) -> CelMap:
    entries = []
    for name, item in value.items():
        schema = properties.get(name)
        escaped = None if schema is None else escape_name(name)
        if schema is None or escaped is None:
            # Expressions cannot name it, but objects that differ in it are not equal.
            entries.append((f"\0{name}", PreservedValue(item)))
        elif item is not None:
            entries.append((escaped, _or_error(item, schema)))
    return CelMap(entries)


def _text(value: str, form: str) -> Any:
    if form == "byte":
        if base64_complaint(value) is not None:
            raise CelError(f"Invalid byte formatted string {value}: illegal base64 data")
        return decode_base64(value)
    parse = _PARSERS.get(form)
    if parse is None:
        return value
    parsed = parse(value)
    if parsed is None:
        kind = form if form == "duration" else f"{form} formatted string"
        raise CelError(f"Invalid {kind} {value}{_time_complaint(value) if form == 'date-time' else ''}")
    return parsed


_TIME_LAYOUT = "2006-01-02T15:04:05"


def _time_complaint(text: str) -> str:
    """Return what Go says of a time in small letters, which the format allows and Go's parser does not."""
    shown = f": parsing time {go_quote(text)}"
    if text[10:11] == "t":
        return f'{shown} as "{_TIME_LAYOUT}": cannot parse {go_quote(text[10:])} as "T"'
    return f"{shown}: extra text: {go_quote(text[len(_TIME_LAYOUT) :])}"


def _duration(text: str) -> Duration | None:
    nanos = duration_of(text)
    return None if nanos is None else Duration(nanos)


_PARSERS: dict[str, Callable[[str], Any]] = {
    "duration": _duration,
    "date": lambda text: parse_timestamp(f"{text}T00:00:00Z"),
    "date-time": parse_timestamp,
}
