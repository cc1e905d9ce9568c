"""Find the one bit that was flipped in a row, by its checksum, and flip it back.

CRC-32 is linear: a flipped bit changes the checksum by a pattern that depends on its place only. So the patterns of all
places are compared with the difference between the checksum that is kept and that of the row as it is. Where exactly
one place fits, the row is as it was written.
"""

from collections.abc import Iterator
from typing import Any
from zlib import crc32

from moorage.store.checksums import Row, row_checksum

_ALL = 0xFFFFFFFF
_TABLE = tuple(crc32(bytes((byte,)), _ALL) ^ _ALL for byte in range(256))
#: Longer rows are not searched.
MOST_BYTES = 4 * 1024 * 1024
_REVISION_BITS = 63


def mended_row(row: tuple[Any, ...]) -> Row | None:
    """Return the row as it was written, if one flipped bit explains what is wrong with it; None if not."""
    revision, key, created, value, checksum = row
    if type(key) is not str or type(created) is not int or type(checksum) is not int:
        return None
    if not (value is None or type(value) is bytes) or len(value or b"") > MOST_BYTES:
        return None
    try:
        difference = checksum ^ row_checksum(revision, key, created, value)
    except UnicodeEncodeError:
        return None
    name = key.encode()
    fitting: list[Row] = [(revision, key, created, value)] if difference.bit_count() == 1 else []
    for place, mask in _places(name + (value or b""), difference):
        content = bytearray(name + (value or b""))
        content[place] ^= mask
        try:
            new_key = bytes(content[: len(name)]).decode()
        except UnicodeDecodeError:
            continue
        fitting.append((revision, new_key, created, None if value is None else bytes(content[len(name) :])))
    for bit in range(_REVISION_BITS):
        for candidate in ((revision ^ (1 << bit), key, created, value), (revision, key, created ^ (1 << bit), value)):
            if row_checksum(*candidate) == checksum:
                fitting.append(candidate)
    return fitting[0] if len(fitting) == 1 else None


def _places(content: bytes, difference: int) -> Iterator[tuple[int, int]]:
    """Yield each byte's index, and the bit of it, whose flip changes a checksum over the content by the difference."""
    patterns = [(_TABLE[1 << bit], 1 << bit) for bit in range(8)]
    for place in reversed(range(len(content))):
        for pattern, mask in patterns:
            if pattern == difference:
                yield place, mask
        patterns = [(_TABLE[pattern & 255] ^ (pattern >> 8), mask) for pattern, mask in patterns]
