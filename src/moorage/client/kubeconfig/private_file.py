"""Write a file that only its owner can read, whole or not at all, and lock it as kubectl does while it is changed.

Processes that share a directory take turns in it by `alone_in`.
"""

import errno
import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_LOCK_SECONDS, _LOOK_EVERY = 5.0, 0.05


def write_private(path: Path, content: bytes) -> None:
    """Write the file, and create the directories above it. OSError leaves no trace of it."""
    with writing_private(path) as file:
        file.write(content)


@contextmanager
def writing_private(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to that replaces `path` at the end of the block; an exception leaves no trace of it.

    A link stays, and leads to the new file; a device or a pipe is refused, since a rename would replace it.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if path.parent.exists() and not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold `<path>.lock`, waiting some seconds for another holder. Raises OSError.

    Kubernetes: clientcmd's lockFile. Differs: waits, where kubectl fails at once.
    """
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            break
        except FileExistsError:
            if time.monotonic() >= until:
                why = f"another program is changing it; remove {lock} if none is"
                raise OSError(errno.EEXIST, why, str(path)) from None
            time.sleep(_LOOK_EVERY)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


@contextmanager
def alone_in(directory: Path | None) -> Iterator[None]:
    """Wait until no other process that asks for it is in the directory, which is made; None is not shared.

    The turn of a process that dies ends. Raises OSError.
    """
    if directory is None:
        yield
        return
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
