"""Find the manifests in files, directories and standard input, lazily and always in the same order."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import msgspec

STDIN = "-"
STDIN_NAME = "<stdin>"
EXTENSIONS = (".yaml", ".yml", ".json")
_DEEPEST = 200


class Source(msgspec.Struct, frozen=True):
    """Something to read. `explicit`: the user named it, so that it must hold objects; a directory may hold others."""

    name: str
    path: str = STDIN
    explicit: bool = True
    problem: str = ""
    content: bytes | None = None  # in memory; `path` is not read then


@contextmanager
def opened(source: Source) -> Iterator[BinaryIO]:
    """Open a source for reading. Raises OSError."""
    if source.content is not None:
        yield BytesIO(source.content)
    elif source.path == STDIN:
        if sys.stdin is None:
            raise OSError("standard input is closed")
        yield sys.stdin.buffer
    else:
        with open(source.path, "rb", buffering=0) as stream:  # noqa: PTH123 (a Path costs more than the file)
            yield cast("BinaryIO", stream)


def sources_of(paths: Iterable[str]) -> Iterator[Source]:
    """Yield every source of the given paths, directories searched for manifests in the order of their names."""
    for path in paths:
        if path == STDIN:
            yield Source(STDIN_NAME)
        elif Path(path).is_dir():
            yield from _in_directory(path, ())
        else:
            yield Source(path, path)


def _in_directory(directory: str, above: tuple[tuple[int, int], ...]) -> Iterator[Source]:
    """Search a directory; `above` are the directories on the way to it, so that a link back up ends here."""
    try:
        status = os.stat(directory)  # noqa: PTH116 (a path stays as the user wrote it: `./a` is not `a`)
        identity = (status.st_dev, status.st_ino)
        if identity in above:
            return
        if len(above) > _DEEPEST:
            yield Source(directory, directory, problem=f"more than {_DEEPEST} directories deep")
            return
        with os.scandir(directory) as entries:
            # One text for each, and no more: a directory may hold very many.
            names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries if _wanted(entry))
    except OSError as error:
        yield Source(directory, directory, problem=reason_of(error))
        return
    for name in names:
        path = os.path.join(directory, name)  # noqa: PTH118
        if name.endswith("/"):
            yield from _in_directory(path[:-1], (*above, identity))
        else:
            yield Source(path, path, explicit=False)


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.name.startswith("."):
        return False
    return entry.is_dir() or (entry.name.lower().endswith(EXTENSIONS) and entry.is_file())


def reason_of(error: OSError) -> str:
    """`No such file or directory`, without the number and the path that `str(error)` has around it."""
    return error.strerror or str(error) or type(error).__name__
