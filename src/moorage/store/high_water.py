"""Keep a mark outside of a store's file: which store it is, the revision it has acknowledged, how long its log is.

SQLite drops what a write-ahead log has lost, without a word: a log that is cut, damaged or missing looks like one that
never had more. So every commit is noted here before it is acknowledged, by one small write in place that waits for no
disk; the mark is synced about once a second. Two slots are written in turn, each with a checksum, so that one of them
is always whole. After the end of a process the mark is exact. After a power failure it may be a second old, and is then
lower than what the log has, never higher: it is written after the commit it notes.
`log_bytes` is the least length of the write-ahead log: it is set to 0, and synced, before the log is cut off.
Kubernetes: nothing alike; etcd members compare hashes of their contents with each other.
"""

import os
import secrets
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from moorage.store.data_directory import StoreUnusable, sync, write_problem

SYNC_SECONDS = 1.0
#: What it begins with, identity, revision, least length of the log, how often the mark was written; then the checksum.
_SLOT = struct.Struct(">8sQQQQ")
_CHECKSUM = struct.Struct(">I")
_MAGIC = b"moormrk1"
_SLOT_BYTES = _SLOT.size + _CHECKSUM.size


class HighWater(NamedTuple):
    """What a mark says."""

    identity: int
    revision: int
    log_bytes: int
    written: int = 0


class MarkUnreadable(Exception):
    """Neither slot of a mark is whole."""


def read_mark(path: Path) -> HighWater | None:
    """Return the newest whole slot of a mark; None if there is no mark. Raises MarkUnreadable, OSError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    slots = [content[begin : begin + _SLOT_BYTES] for begin in (0, _SLOT_BYTES)]
    whole = [mark for slot in slots if (mark := _parsed(slot)) is not None]
    if not whole:
        raise MarkUnreadable
    return max(whole, key=lambda mark: mark.written)


def _parsed(slot: bytes) -> HighWater | None:
    if len(slot) != _SLOT_BYTES or _CHECKSUM.unpack(slot[_SLOT.size :])[0] != crc32(slot[: _SLOT.size]):
        return None
    magic, *numbers = _SLOT.unpack(slot[: _SLOT.size])
    return HighWater(*numbers) if magic == _MAGIC else None


class MarkFile:
    """The mark of a store that is open. Methods are called by the thread that writes the store's file."""

    def __init__(self, path: Path, identity: int, revision: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Write it whole, for a store at this revision whose log is empty. Raises StoreUnusable."""
        self._identity, self._revision = identity, revision
        self._clock, self._synced_at = clock, clock()
        self._written = 0
        self._is_synced = True
        unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            self._descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                self.note_cut()
                unfinished.replace(path)
                sync(path.parent)
            except BaseException:
                os.close(self._descriptor)
                unfinished.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StoreUnusable(f"{path} cannot be written: {write_problem(error)}") from error

    def note(self, revision: int, log_bytes: int) -> None:
        """Note what is durable now; it is synced later. Raises OSError."""
        self._revision = max(self._revision, revision)
        self._write(log_bytes)
        self._is_synced = False

    def note_cut(self) -> None:
        """Note durably, in both slots, that the log may be cut off. Raises OSError."""
        self._write(0)
        self._write(0)
        self.sync()

    @property
    def is_synced(self) -> bool:
        return self._is_synced

    def sync_if_due(self) -> None:
        """Make the mark durable if that has not been done for a while. Raises OSError."""
        if not self._is_synced and self._clock() - self._synced_at >= SYNC_SECONDS:
            self.sync()

    def sync(self) -> None:
        """Make the mark durable. Raises OSError."""
        os.fdatasync(self._descriptor) if hasattr(os, "fdatasync") else os.fsync(self._descriptor)
        self._is_synced, self._synced_at = True, self._clock()

    def close(self) -> None:
        os.close(self._descriptor)

    def _write(self, log_bytes: int) -> None:
        self._written += 1
        slot = _SLOT.pack(_MAGIC, self._identity, self._revision, log_bytes, self._written)
        os.pwrite(self._descriptor, slot + _CHECKSUM.pack(crc32(slot)), (self._written % 2) * _SLOT_BYTES)
