"""Convert between types: int(), uint(), double(), bool(), string(), bytes(), timestamp(), duration(), type(), dyn().

Kubernetes: cel-go common/stdlib/standard.go and the ConvertToType methods of common/types; Go's strconv for numbers in
text.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from moorage.match.cel.functions import STRING_FACTOR, Argument, CallEstimate, Function, Interval, argument_cost, row
from moorage.match.cel.libraries.calendar import format_timestamp, make_timestamp, parse_duration, parse_timestamp
from moorage.match.cel.types import BOOL, DOUBLE, DURATION, INT, STRING, TIMESTAMP, UINT, Type
from moorage.match.cel.values import CelError, Duration, Timestamp, UInt, type_of_value
from moorage.model.go.integers import INT64_MAX, UINT64_MAX, read_int
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text

_is_double = whole(r"(?i)[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|infinity|nan)")
_is_hex_double = whole(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)


def conversion_error(source: Type, target: Type) -> CelError:
    return CelError(f"type conversion error from '{source.name}' to '{target.name}'")


def _int_from_double(value: float) -> int:
    if math.isnan(value) or value <= -(2.0**63) or value >= 2.0**63:
        raise CelError("integer overflow")
    return int(value)


def _int_from_uint(value: UInt) -> int:
    if value > INT64_MAX:
        raise CelError("integer overflow")
    return int(value)


@reads_text("1", "0", "-", "x", raises=CelError)
def _int_from_string(text: str) -> int:
    if (value := read_int(text)) is not None:
        return value
    raise conversion_error(STRING, INT)


def _uint_from_string(text: str) -> UInt:
    if text[:1] not in ("+", "-") and (value := read_int(text, 0, UINT64_MAX)) is not None:
        return UInt(value)
    raise conversion_error(STRING, UINT)


def _uint_from_int(value: int) -> UInt:
    if value < 0:
        raise CelError("unsigned integer overflow")
    return UInt(value)


def _uint_from_double(value: float) -> UInt:
    if math.isnan(value) or value < 0 or value >= 2.0**64:
        raise CelError("unsigned integer overflow")
    return UInt(int(value))


@reads_text("1", "0", ".", "e", "-", "inf", "0x", "p", "f", raises=CelError)
def _double_from_string(text: str) -> float:
    if _is_double(text):
        value = float(text)
        if math.isinf(value) and not text.lower().lstrip("+-").startswith("inf"):
            raise conversion_error(STRING, DOUBLE)
        return value
    if _is_hex_double(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            raise conversion_error(STRING, DOUBLE) from None
    raise conversion_error(STRING, DOUBLE)


def _bytes_from_string(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _string_from_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


def format_double(value: float) -> str:
    """Write a double as Go's %g: the shortest digits that read back the same."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    digits, exponent = _shortest(value)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if exponent < -4 or exponent >= 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + _positional(digits, exponent)


def show_value(value: Any) -> str:
    """Return a map's key or a list's index as Go's %v prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_double(value)
    return str(int(value)) if isinstance(value, int) else str(value)


def _positional(digits: str, exponent: int) -> str:
    if exponent < 0:
        return f"0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return digits.ljust(exponent + 1, "0")
    return f"{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def _shortest(value: float) -> tuple[str, int]:
    """Return the significant digits of repr(), and the exponent of the first."""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    exponent = int(exponent_text or "0") + len(whole) - 1
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    return (digits, exponent - leading) if digits else ("0", 0)


def format_seconds(value: Duration) -> str:
    """Return a duration in seconds, in decimal notation, with no more digits than a double needs."""
    whole, nanos = divmod(abs(value.nanos), 1_000_000_000)
    text = _positional(*_shortest(float(whole) + float(nanos) / 1e9))
    return f"-{text}" if value.nanos < 0 else text


def _from_string(parse: Callable[[str], Any], target: Type) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        value = parse(text)
        if value is None:
            raise conversion_error(STRING, target)
        return value

    return convert


def _duration_from_int(_: int) -> Duration:
    # Declared by cel-go's checker, refused by its integers.
    raise conversion_error(INT, DURATION)


def _identity(value: Any) -> Any:
    return value


def _bytes_estimate(text: Argument) -> CallEstimate:
    size = text.size
    # A code point takes up to four bytes; upstream lets the product wrap around, which no known size reaches.
    return CallEstimate(size.by_factor(STRING_FACTOR), Interval(size.min, (size.max * 4) % 2**64))


def _text_estimate(raw: Argument) -> CallEstimate:
    size = raw.size
    return CallEstimate(size.by_factor(STRING_FACTOR), Interval(size.min // 4, size.max))


#: What string() makes of a value, by its Python type.
TO_STRING: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: show_value,
    bytes: _string_from_bytes,
    float: format_double,
    Duration: lambda value: f"{format_seconds(value)}s",
    int: str,
    Timestamp: format_timestamp,
    UInt: show_value,
}
_READS = argument_cost(STRING_FACTOR)
CONVERSIONS: tuple[Function, ...] = (
    row("type(T) -> type(T)", "type", type_of_value),
    row("bool(bool) -> bool", "bool_to_bool", _identity),
    row("bool(string) -> bool", "string_to_bool", _from_string(_BOOLS.get, BOOL)),
    row("bytes(bytes) -> bytes", "bytes_to_bytes", _identity),
    row("bytes(string) -> bytes", "string_to_bytes", _bytes_from_string, _bytes_estimate, _READS),
    row("double(double) -> double", "double_to_double", _identity),
    row("double(int) -> double", "int64_to_double", float),
    row("double(string) -> double", "string_to_double", _double_from_string),
    row("double(uint) -> double", "uint64_to_double", float),
    row("duration(duration) -> duration", "duration_to_duration", _identity),
    row("duration(int) -> duration", "int64_to_duration", _duration_from_int),
    row("duration(string) -> duration", "string_to_duration", _from_string(parse_duration, DURATION)),
    row("dyn(T) -> dyn", "to_dyn", _identity),
    row("int(int) -> int", "int64_to_int64", _identity),
    row("int(double) -> int", "double_to_int64", _int_from_double),
    row("int(duration) -> int", "duration_to_int64", lambda duration: duration.nanos),
    row("int(string) -> int", "string_to_int64", _int_from_string),
    row("int(timestamp) -> int", "timestamp_to_int64", lambda timestamp: timestamp.nanos // 1_000_000_000),
    row("int(uint) -> int", "uint64_to_int64", _int_from_uint),
    row("string(string) -> string", "string_to_string", _identity),
    row("string(bool) -> string", "bool_to_string", show_value),
    row("string(bytes) -> string", "bytes_to_string", _string_from_bytes, _text_estimate, _READS),
    row("string(double) -> string", "double_to_string", format_double),
    row("string(duration) -> string", "duration_to_string", TO_STRING[Duration]),
    row("string(int) -> string", "int64_to_string", str),
    row("string(timestamp) -> string", "timestamp_to_string", format_timestamp),
    row("string(uint) -> string", "uint64_to_string", show_value),
    row("timestamp(timestamp) -> timestamp", "timestamp_to_timestamp", _identity),
    row("timestamp(int) -> timestamp", "int64_to_timestamp", make_timestamp),
    row("timestamp(string) -> timestamp", "string_to_timestamp", _from_string(parse_timestamp, TIMESTAMP)),
    row("uint(uint) -> uint", "uint64_to_uint64", _identity),
    row("uint(double) -> uint", "double_to_uint64", _uint_from_double),
    row("uint(int) -> uint", "int64_to_uint64", _uint_from_int),
    row("uint(string) -> uint", "string_to_uint64", _uint_from_string),
)
