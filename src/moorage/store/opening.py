"""Open the file of a data directory, or refuse it in one line that says what is lost and which command goes on.

SQLite takes a file of 0 bytes for a new one, and a write-ahead log that is cut for one that never had more. So before
it may write, the mark beside the file is compared with what can be read: the identity of the store, the length of its
log, the highest revision. What is refused stays as it is.
"""

import shlex
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from moorage.store.data_directory import FILE_NAME, MARK_NAME, DataDirectory, StoreUnusable
from moorage.store.high_water import HighWater, MarkFile, MarkUnreadable, read_mark
from moorage.store.log_file import IDENTITY, MIGRATIONS, REACHED, LogFile, Migration
from moorage.store.soundness import ValueCheck, unusable


class Reached(NamedTuple):
    """What a file says of itself: its identity, None before it has one, and the highest revision it has."""

    identity: int | None
    revision: int


def open_log_file(
    directory: DataDirectory,
    *,
    migrations: Sequence[Migration] = MIGRATIONS,
    check: ValueCheck | None = None,
    siblings: Collection[str] = (),
) -> LogFile:
    """Open the file of a directory, which is made if it is missing, and keep its mark. Raises StoreUnusable.

    `check` is asked for values of older releases. `siblings` are names of files and folders that a directory has only
    beside a store: where there is one of them, a missing file is not made but missed.
    """
    path = directory.path / FILE_NAME
    mark = _mark_of(directory.path)
    problem = emptiness(path, mark, siblings)
    if problem:
        raise StoreUnusable(_with_commands(problem, directory.path, is_empty=True))
    if mark is not None:
        try:
            problem = lost(path, mark)
        except sqlite3.Error as error:
            raise unusable(path, error) from error
        if problem:
            raise StoreUnusable(_with_commands(problem, directory.path, is_empty=False))
    file = LogFile(directory.prepare(FILE_NAME), migrations, check)
    try:
        file.keep_mark(MarkFile(directory.path / MARK_NAME, file.identity(), file.last_revision()))
    except BaseException:
        file.close()
        raise
    return file


def _mark_of(directory: Path) -> HighWater | None:
    """Return the mark of a directory. Raises StoreUnusable."""
    path = directory / MARK_NAME
    try:
        return read_mark(path)
    except MarkUnreadable:
        place = shlex.quote(str(directory))
        raise StoreUnusable(
            f"{path} is damaged, so it is not known whether the end of the store is missing. Nothing is served. "
            f"`moorage store repair {place} --accept-missing` goes on with what is there"
        ) from None
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be read: {error.strerror}") from None


def emptiness(path: Path, mark: HighWater | None, siblings: Collection[str] = ()) -> str:
    """Return why a file that is missing or has 0 bytes cannot be that of a new store; empty if it can, or has more."""
    try:
        size = path.stat().st_size
        state = "has 0 bytes"
    except FileNotFoundError:
        size, state = 0, "is missing"
    except OSError as error:
        raise StoreUnusable(f"{path} cannot be read: {error.strerror}") from None
    if size:
        return ""
    if mark is not None:
        return f"{path} {state}, but {MARK_NAME} says that it has been at revision {mark.revision}"
    if log_bytes(path):
        return f"{path} {state}, but its write-ahead log is there"
    for name in siblings:
        if (path.parent / name).exists():
            return f"{path} {state}, but {name} of a cluster is there: its objects are gone"
    return ""


def lost(path: Path, mark: HighWater) -> str:
    """Return what a file has lost that its mark knows of; empty if it has everything. Raises sqlite3.Error."""
    reached = reached_by(path)
    if reached.identity is not None and reached.identity != mark.identity:
        return f"{path} is not the store that {MARK_NAME} was written for: it has been exchanged"
    size = log_bytes(path)
    log = f"{path.name}-wal"
    what = ""
    if size < mark.log_bytes:
        how = "missing" if not size else f"cut: it has {size:,} bytes of {mark.log_bytes:,} or more"
        what = f"the write-ahead log ({log}) is {how}"
    if reached.revision < mark.revision:
        what = what or (f"the end of the write-ahead log ({log}) is damaged" if size else "the end of it is missing")
        first = reached.revision + 1
        revisions = f"revision {first} is" if first == mark.revision else f"revisions {first}–{mark.revision} are"
        return f"{path} is damaged: {what}; {revisions} missing"
    return f"{path} is damaged: {what}" if what else ""


def log_bytes(path: Path) -> int:
    """Return the length of a file's write-ahead log, 0 without one."""
    with suppress(OSError):
        return path.with_name(f"{path.name}-wal").stat().st_size
    return 0


def reached_by(path: Path) -> Reached:
    """Return what a file has reached, without changing it or its log. Raises sqlite3.Error."""
    with opened_for_reading(path) as connection:
        marks = dict(connection.execute("SELECT name, revision FROM marks WHERE name IN (?, ?)", (IDENTITY, REACHED)))
        (last,) = connection.execute("SELECT max(revision) FROM log").fetchone()
    if any(type(revision) is not int for revision in marks.values()):
        raise sqlite3.DatabaseError("a mark is not as it was written")
    return Reached(marks.get(IDENTITY), max(last or 0, marks.get(REACHED, 0)))


@contextmanager
def opened_for_reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a file so that its log is read but not brought home, also when it is closed. Raises sqlite3.Error."""
    side_files = [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")]
    made = [file for file in side_files if not file.exists()]
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
    try:
        yield connection
    finally:
        connection.close()
        for file in made:
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _with_commands(problem: str, directory: Path, *, is_empty: bool) -> str:
    place = shlex.quote(str(directory))
    goes_on = "--new begins with an empty store" if is_empty else "--accept-missing goes on without them"
    return (
        f"{problem}. Nothing is served. `moorage store repair {place}` says what can be done: "
        f"--restore-snapshot restores one, {goes_on}"
    )
