"""Files that only their owner may read, and that nobody ever sees half written.

In: a path and bytes. Out: a file of mode 0600, put in place by a rename.
"""

import errno
import os
import secrets
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write the file, making the directories above it. OSError if that cannot be done; then there is no trace of it.

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
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
