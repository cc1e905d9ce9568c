"""Read protobuf's wire format: the fields of a message as (number, value).

A value is an integer, or bytes for all that has a length. Nothing is allocated for what a length merely promises.
Kubernetes: gogo's generated unmarshalers.
"""

import struct
from collections.abc import Iterator

_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_MAX_VARINT_LENGTH = 10


class WireError(ValueError):
    """Bytes that are not protobuf."""


def read_fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Every field of a message, in order. Raises WireError."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _read_varint(message, at)
        number, kind = tag >> 3, tag & 7
        if not number:
            raise WireError("a field has no number")
        if kind == _VARINT:
            value, at = _read_varint(message, at)
            yield number, value
        elif kind == _BYTES:
            length, at = _read_varint(message, at)
            if length > end - at:
                raise WireError("unexpected EOF")
            yield number, message[at : at + length]
            at += length
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            size = 8 if kind == _EIGHT_BYTES else 4
            if size > end - at:
                raise WireError("unexpected EOF")
            yield number, message[at : at + size]
            at += size
        else:
            raise WireError(f"illegal wireType {kind}")


def as_signed(value: int | bytes, bits: int) -> int:
    """Negative numbers are sent as their two's complement in 64 bits."""
    if isinstance(value, bytes):
        raise WireError("bytes where a number belongs")
    value &= (1 << 64) - 1
    number = value - (1 << 64) if value >> 63 else value
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise WireError(f"{number} does not fit in {bits} bits")
    return number


def as_text(value: int | bytes) -> str:
    if not isinstance(value, bytes):
        raise WireError("a number where text belongs")
    return value.decode("utf-8", "replace")


def as_bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise WireError("a number where a message belongs")
    return value


def as_double(value: int | bytes) -> float:
    data = as_bytes(value)
    return float(struct.unpack("<d" if len(data) == 8 else "<f", data)[0])


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for position in range(_MAX_VARINT_LENGTH):
        if at >= len(message):
            raise WireError("unexpected EOF")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return value, at
    raise WireError("integer overflow")
