"""Lock a data directory, prepare files in it, and say why one of them cannot be written."""

import errno
import fcntl
import os
import sqlite3
import time
from pathlib import Path

from moorage.store.protocol import StoreError

LOCK_FILE = "lock"
#: The store, and the mark that is kept of it, see `high_water`.
FILE_NAME, MARK_NAME = "moorage.db", "moorage.mark"
#: The folder of snapshots that a server takes by itself.
SNAPSHOTS = "snapshots"
#: What SQLite keeps beside a file, by the ends of their names.
SIDE_FILES = ("-wal", "-shm", "-journal")
_MAX_PID_LENGTH = 20
_LOOK_SECONDS = 0.05


class StoreUnusable(StoreError):
    """The data cannot be opened: it is in use, broken, or of a newer release. The text is for the user."""


class DataDirectory:
    """A directory that is locked until it is closed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(path / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreUnusable(f"data directory {path} cannot be used: {error.strerror}") from error
        try:
            _lock(self._lock)
        except BlockingIOError as error:
            holder = os.read(self._lock, _MAX_PID_LENGTH).decode("ascii", "replace").strip() or "unknown"
            os.close(self._lock)
            raise StoreUnusable(f"data directory {path} is in use by another process (pid {holder})") from error
        except OSError as error:
            os.close(self._lock)
            raise StoreUnusable(f"data directory {path} cannot be locked: {error.strerror}") from error
        os.ftruncate(self._lock, 0)
        os.write(self._lock, b"%d\n" % os.getpid())

    def prepare(self, name: str) -> Path:
        """The path of a file that only its owner can read; SQLite gives the files beside it the same mode."""
        path = self.path / name
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            sync(self.path)
            sync(self.path.parent)
        except OSError as error:
            raise StoreUnusable(f"{path} cannot be used: {error.strerror}") from error
        return path

    def close(self) -> None:
        os.close(self._lock)


def write_problem(error: Exception) -> str:
    """Return why a file could not be written; a full disk by its name, which SQLite does not tell from a full file."""
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    if is_full or getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return "the disk is full: no space left on device"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _lock(descriptor: int) -> None:
    """Lock a file, at the second try if another process has only looked whether it is locked. Raises OSError."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_LOOK_SECONDS)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync(path: Path) -> None:
    """Make the content of a file, or the existence of a folder's files, durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
