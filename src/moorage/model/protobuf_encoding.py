"""Encode protobuf's wire format: numbers of variable length, and fields with their tags."""

_VARINT, _LENGTH = 0, 2  # wire types


def encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_number(field: int, value: int) -> bytes:
    """Encode a field that is a number or a boolean."""
    return encode_varint(field << 3 | _VARINT) + encode_varint(value)


def encode_bytes(field: int, value: bytes) -> bytes:
    """Encode a field that is a string, a message or a packed list."""
    return encode_varint(field << 3 | _LENGTH) + encode_varint(len(value)) + value
