"""Prepare and lock the data directory of a store.

It is made for its owner alone, and held by one process at a time: the lock lasts until it is closed or the process
ends.
"""

import fcntl
import os
from pathlib import Path

from moorage.store.protocol import StoreError

LOCK_FILE = "lock"
_MAX_PID_LENGTH = 20


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
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
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
            _sync(self.path)
            _sync(self.path.parent)
        except OSError as error:
            raise StoreUnusable(f"{path} cannot be used: {error.strerror}") from error
        return path

    def close(self) -> None:
        os.close(self._lock)


def _sync(folder: Path) -> None:
    """Make the existence of a folder's files durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
