"""Read a log that a running process appends to, also when it is truncated or replaced by a new file meanwhile.

Kubernetes: what `kubectl logs -f` and `tail -F` do.
"""

import codecs
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

_PIECE_BYTES = 65536
_LOOK_EVERY = 0.2


def read_log(path: Path, *, follows: bool, pause: Callable[[float], None] = time.sleep) -> Iterator[str]:
    """Yield the log's text piece by piece; with `follows` also what is written later, without end. Raises OSError."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    file: BinaryIO = path.open("rb")
    try:
        while True:
            while piece := file.read(_PIECE_BYTES):
                yield decoder.decode(piece)
            if not follows:
                yield decoder.decode(b"", final=True)
                return
            pause(_LOOK_EVERY)
            if (newer := _replacement(path, file)) is not None:
                while piece := file.read(_PIECE_BYTES):
                    yield decoder.decode(piece)
                file.close()
                file = newer
    finally:
        file.close()


def _replacement(path: Path, file: BinaryIO) -> BinaryIO | None:
    """Return the new file in the place of the old one, if any; go back to the beginning of a truncated one."""
    now = os.fstat(file.fileno())
    if now.st_size < file.tell():
        file.seek(0)
    try:
        there = path.stat()
        return path.open("rb") if (there.st_dev, there.st_ino) != (now.st_dev, now.st_ino) else None
    except FileNotFoundError:  # between the two steps of a rotation, or for good
        return None
