"""Turn what mutations construct into JSON, as Go does for a merge and for the value of a JSON patch.

A merge keeps values in Go's own types, of which the schema of the kind may refuse some (times, nulls, unsigned
integers): those are `ForeignValue`. A JSON patch takes what protobuf's JSON has: times become texts, and integers too
if a double does not hold them. Kubernetes: ConvertToNative of cel-go's types, ObjectVal.Value and structpb. Differs:
maps that were written as literals may stand in lists and maps of a merge; upstream finds there that they are not maps.
"""

import base64
import math
from datetime import datetime, timedelta
from typing import Any

from moorage.admit.extension.policies.mutating.object_types import JsonPatchOperation, go_type_of
from moorage.match.cel.constructed import ConstructedValue
from moorage.match.cel.libraries.conversions import TO_STRING
from moorage.match.cel.types import Type
from moorage.match.cel.values import (
    MAX_NESTED_SIZE,
    CelError,
    CelMap,
    Duration,
    OpaqueValue,
    OptionalValue,
    Timestamp,
    UInt,
    type_of_value,
)
from moorage.model.api_error import Raw
from moorage.model.go.foreign_value import NULL_VALUE, ForeignValue
from moorage.model.go.integers import INT64_MAX
from moorage.model.go.times import duration_text
from moorage.model.well_known.limits import MAX_REQUEST_BYTES

_SAFE_INTEGER = 2**53 - 1
_EPOCH = datetime(1970, 1, 1)
_NANOS = 1_000_000_000
_INVALID_OBJECT = "invalid return type: *dynamic.ObjectVal"


class _Conversion:
    """One conversion. What is shared in an expression is written out wherever it stands, up to limits."""

    __slots__ = ("has_foreign", "left", "text_left")

    def __init__(self) -> None:
        self.left, self.text_left = MAX_NESTED_SIZE, MAX_REQUEST_BYTES
        self.has_foreign = False

    def text(self, value: str) -> str:
        self.text_left -= len(value)
        if self.text_left < 0:
            raise CelError(f"value too large: texts of more than {MAX_REQUEST_BYTES} characters")
        return value

    def count(self, items: Any) -> None:
        self.left -= len(items)
        if self.left < 0:
            raise CelError(f"value too large: more than {MAX_NESTED_SIZE} elements in nested lists and maps")

    def native(self, value: Any) -> Any:
        """Return a value for a merge."""
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind is bool:
            return value
        if kind is int:
            return value
        if kind is float:
            return _number(value)
        if isinstance(value, ConstructedValue) and not isinstance(value, JsonPatchOperation):
            self.count(value.fields)
            return {name: self.native(item) for name, item in value.fields.items()}
        if isinstance(value, CelMap):
            self.count(value)
            return {_field_name(key): self.native(item) for key, item in value.items()}
        if isinstance(value, list):
            self.count(value)
            return [self.native(item) for item in value]
        if isinstance(value, OptionalValue):
            return self.native(value.value if value.present else None)
        if isinstance(value, Type):
            return value.name
        self.has_foreign = True
        return _foreign(value)

    def json(self, value: Any) -> Any:
        """Return a value for a JSON patch."""
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind is bool or value is None:
            return value
        if kind is int or kind is UInt:
            return int(value) if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else str(int(value))
        if kind is float:
            if not math.isfinite(value):
                raise CelError(f"google.protobuf.Value.number_value has invalid {_infinite_text(value)} value")
            return _number(value)
        if kind is bytes:
            return base64.b64encode(value).decode()
        if kind is Duration or kind is Timestamp:
            return TO_STRING[kind](value)
        if isinstance(value, CelMap):
            self.count(value)
            return {_json_name(key): self.json(item) for key, item in value.items()}
        if isinstance(value, list):
            self.count(value)
            return [self.json(item) for item in value]
        if isinstance(value, OptionalValue):
            if not value.present:
                raise CelError("optional.none() dereference")
            return self.json(value.value)
        if isinstance(value, ConstructedValue) and not isinstance(value, JsonPatchOperation):
            return _protobuf(self.native(value))
        raise CelError(_unconvertible(value))


def merged_document(value: ConstructedValue) -> tuple[Raw, bool]:
    """Return what an Object stands for, and whether there are foreign values in it. Raises CelError."""
    conversion = _Conversion()
    try:
        document: Raw = conversion.native(value)
    except RecursionError:
        raise CelError("value too large: nested too deeply") from None
    return document, conversion.has_foreign


def patch_value(value: Any) -> Any:
    """Return the value of an operation of a JSON patch. Raises CelError."""
    try:
        return _Conversion().json(value)
    except RecursionError:
        raise CelError("value too large: nested too deeply") from None


def without_foreign(value: Any) -> Any:
    """Return a document with JSON in the place of foreign values."""
    if isinstance(value, dict):
        return {name: without_foreign(item) for name, item in value.items()}
    if isinstance(value, list):
        return [without_foreign(item) for item in value]
    return value.json if isinstance(value, ForeignValue) else value


def _number(value: float) -> int | float:
    """Return a double as it is read back from its text: whole numbers are integers."""
    return int(value) if value.is_integer() and abs(value) <= INT64_MAX else value


def _infinite_text(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _field_name(key: Any) -> str:
    if not isinstance(key, str):
        raise CelError(_INVALID_OBJECT)
    return key


def _json_name(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        raise CelError("type conversion error from bool to 'string'")
    raise CelError(f"unsupported type conversion from '{type_of_value(key).name}' to string")


def _protobuf(value: Any) -> Any:
    """Return a value of Go as a protobuf value, in which all numbers are doubles."""
    if isinstance(value, ForeignValue):
        raise CelError(f"proto: invalid type: {value.go_type}")
    if isinstance(value, dict):
        return {name: _protobuf(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_protobuf(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _SAFE_INTEGER:
        return _number(float(value))
    return value


def _unconvertible(value: Any) -> str:
    if isinstance(value, Type):
        return "type conversion not supported for 'type'"
    if isinstance(value, JsonPatchOperation):
        return "cannot convert to native type: *structpb.Value"
    name = type_of_value(value).name.rpartition(".")[2]
    return f"type conversion error from '{name}' to '*structpb.Value'"


def _foreign(value: Any) -> ForeignValue:
    """Return a value of a type that JSON has not."""
    if value is None:
        return NULL_VALUE
    if isinstance(value, UInt):
        return ForeignValue(str(int(value)), "uint64", hex(value), int(value))
    if isinstance(value, bytes):
        syntax = ", ".join(f"{byte:#x}" for byte in value)
        text = base64.b64encode(value).decode()
        return ForeignValue(f"[{' '.join(map(str, value))}]", "[]uint8", f"[]uint8{{{syntax}}}", text)
    if isinstance(value, Duration):
        return ForeignValue(duration_text(value.nanos), "time.Duration", str(value.nanos), value.nanos)
    if isinstance(value, Timestamp):
        return _time(value)
    name = type_of_value(value).name if isinstance(value, OpaqueValue) else go_type_of(value)
    return ForeignValue(name, name, name, None)


def _time(value: Timestamp) -> ForeignValue:
    seconds, nanos = divmod(value.nanos, _NANOS)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    text = f"{moment:%Y-%m-%d %H:%M:%S}{fraction} +0000 UTC"
    parts = f"{moment.year}, time.{moment:%B}, {moment.day}, {moment.hour}, {moment.minute}, {moment.second}, {nanos}"
    return ForeignValue(text, "time.Time", f"time.Date({parts}, time.UTC)", TO_STRING[Timestamp](value))
