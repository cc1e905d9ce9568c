"""Compute the checksums that are kept beside rows and marks of a store's file, and verify them.

One covers everything that a row means: its revision, key, created revision and value, and whether it is a deletion.
CRC-32 notices every single flipped bit and every run of up to 32 damaged bits. It is no protection against an attacker,
who can write the file anyway. Kubernetes: the CRCs of etcd's write-ahead log, and etcdutl's hashes of its keys.
"""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

#: Revision, key, created, value; a deletion has no value.
Row = tuple[int, str, int, bytes | None]


def row_checksum(revision: int, key: str, created: int, value: bytes | None) -> int:
    """Return the checksum of a row. Raises UnicodeEncodeError for a key that is no text."""
    name = key.encode()
    size = -1 if value is None else len(value)
    checksum = crc32(name, crc32(b"%d %d %d %d " % (revision, created, len(name), size)))
    return checksum if value is None else crc32(value, checksum)


def mark_checksum(name: str, revision: int) -> int:
    return crc32(b"%d %s" % (revision, name.encode()))


def row_problem(row: tuple[Any, ...]) -> str:
    """Return what is wrong with a row and its checksum, as the file has them; empty if nothing is."""
    revision, key, created, value, checksum = row
    if type(key) is not str or type(created) is not int or not (value is None or type(value) is bytes):
        return "is no row of a store any more"
    return "" if checksum == row_checksum(revision, key, created, value) else "is not as it was written"


def is_sound_mark(name: Any, revision: Any, checksum: Any) -> bool:
    return type(name) is str and type(revision) is int and checksum == mark_checksum(name, revision)


class DamagedRow:
    """A row that is not as it was written. `key` is what can be read of it, which may be damaged itself."""

    __slots__ = ("key", "problem", "revision")

    def __init__(self, revision: int, key: Any, problem: str) -> None:
        self.revision, self.problem = revision, problem
        if isinstance(key, bytes):
            key = key.decode("utf-8", "backslashreplace")
        self.key = key if isinstance(key, str) and key else f"the row of revision {revision}"

    def __str__(self) -> str:
        return f"{self.key} (revision {self.revision}) {self.problem}"


def damage_summary(damaged: Iterable[DamagedRow]) -> str:
    """Name the first damaged row, and say how many there are."""
    rows = list(damaged)
    return f"{rows[0]}" if len(rows) == 1 else f"{rows[0]}, and {len(rows) - 1:,} more rows are damaged"
