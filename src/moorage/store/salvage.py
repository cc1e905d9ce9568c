"""Read what is left of a damaged store, and put a new file in its place; the damaged one is kept aside.

Rows are read from both ends of the log, as far as SQLite gets; each is verified by its checksum, and one with a single
flipped bit is mended. An object whose newest row is lost is not shown as it was before: it is left out, and named.
Revisions go on above all that was ever acknowledged, and history begins there, so that clients list again.
"""

import secrets
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from moorage.store.checksums import DamagedRow, Row, row_problem
from moorage.store.data_directory import FILE_NAME, MARK_NAME, SIDE_FILES, StoreUnusable, sync
from moorage.store.high_water import HighWater, MarkUnreadable, read_mark
from moorage.store.log_file import ALL_PARTS, HAS_CHECKSUMS, MAX_ROWS, REACHED, LogFile
from moorage.store.mending import mended_row
from moorage.store.opening import emptiness, lost, opened_for_reading
from moorage.store.partition import Forgotten
from moorage.store.soundness import ValueCheck
from moorage.store.state import FIRST_REVISION

_COLUMNS = "revision, key, created, value"


class Salvaged(NamedTuple):
    """What is left of a store.

    `rows` are the newest of all objects, in order; `damaged` are rows that cannot be mended, `mended` those that could;
    `problems` are those of the file itself; `missing` says what the file has lost at its end, or all of it;
    `reached` is the highest revision that is known to have been acknowledged.
    """

    rows: list[Row]
    damaged: list[DamagedRow]
    mended: list[DamagedRow]
    problems: list[str]
    missing: str
    reached: int

    @property
    def is_sound(self) -> bool:
        return not (self.damaged or self.mended or self.problems or self.missing)


def salvage(directory: Path, check: ValueCheck | None = None) -> Salvaged:
    """Read the store in a directory that is locked; nothing is changed. Raises StoreUnusable if it is not a store.

    `check` is asked for values that have no checksums, those of older releases.
    """
    path = directory / FILE_NAME
    problems: list[str] = []
    mark: HighWater | None = None
    try:
        mark = read_mark(directory / MARK_NAME)
    except MarkUnreadable:
        problems.append(f"{MARK_NAME} is damaged: it is not known whether the end of the store is missing")
    except OSError as error:
        raise StoreUnusable(f"{directory / MARK_NAME} cannot be read: {error.strerror}") from None
    reached = mark.revision if mark is not None else 0
    missing = emptiness(path, mark)
    if missing or not path.exists() or not path.stat().st_size:
        return Salvaged([], [], [], problems, missing, reached)
    reading = _Reading(path, check)
    try:
        with opened_for_reading(path) as connection:
            reading.read(connection)
        if mark is not None:
            missing = lost(path, mark)
    except sqlite3.Error as error:
        reading.problems.append(f"{FILE_NAME} cannot be read: {error}")
    rows = sorted(reading.values.values())
    last = max(reached, reading.reached, rows[-1][0] if rows else 0)
    problems += dict.fromkeys(reading.problems)
    return Salvaged(rows, reading.damaged, reading.mended, problems, missing, max(last, FIRST_REVISION))


class _Reading:
    """Collects what can be read of a file."""

    def __init__(self, path: Path, check: ValueCheck | None) -> None:
        self._path, self._check = path, check
        self.values: dict[str, Row] = {}
        self.damaged: list[DamagedRow] = []
        self.mended: list[DamagedRow] = []
        self.problems: list[str] = []
        self.reached = 0

    def read(self, connection: sqlite3.Connection) -> None:
        """Raises sqlite3.Error, StoreUnusable."""
        connection.text_factory = _text
        try:
            problems = [" ".join(str(row[0]).split()) for row in connection.execute("PRAGMA quick_check(10)")]
        except sqlite3.Error as error:
            problems = [str(error)]
        self.problems += [f"{FILE_NAME} is damaged: {problem}" for problem in problems if problem != "ok"]
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        has_checksums = version >= HAS_CHECKSUMS
        columns = f"{_COLUMNS}, checksum" if has_checksums else f"{_COLUMNS}, NULL"
        rows = list(self._all_rows(connection, columns))
        sound: list[tuple[Row | None, DamagedRow | None]] = []
        for row in rows:
            sound.append(self._verified(row, has_checksums=has_checksums))
        sound.sort(key=lambda pair: pair[0][0] if pair[0] is not None else pair[1].revision if pair[1] else 0)
        for good, bad in sound:
            if good is not None and good[3] is not None:
                self.values[good[1]] = good
            elif good is not None or bad is not None:
                self.values.pop(good[1] if good is not None else bad.key if bad is not None else "", None)
            self.reached = max(self.reached, good[0] if good is not None else 0)
        with suppress(sqlite3.Error):
            for name, revision in connection.execute("SELECT name, revision FROM marks"):
                if name == REACHED and type(revision) is int:
                    self.reached = max(self.reached, revision)

    def _all_rows(self, connection: sqlite3.Connection, columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield all rows from the first on, and if SQLite stops at a damaged page, those behind it from the last on."""
        last = 0
        try:
            for row in connection.execute(f"SELECT {columns} FROM log ORDER BY revision"):
                yield row
                last = row[0]
        except sqlite3.Error as error:
            first = 0
            with suppress(sqlite3.Error):
                for row in connection.execute(f"SELECT {columns} FROM log ORDER BY revision DESC"):
                    if row[0] <= last:
                        break
                    yield row
                    first = row[0]
            between = f"between revisions {last} and {first}" if first else f"after revision {last}"
            self.problems.append(
                f"{FILE_NAME} cannot be read whole ({error}): objects that were last written {between} are lost, or "
                "are as they were before"
            )

    def _verified(self, row: tuple[Any, ...], *, has_checksums: bool) -> tuple[Row | None, DamagedRow | None]:
        """Return a row if it is sound or can be mended, and what is wrong with it if it cannot."""
        revision, key, _, value, _ = row
        if has_checksums:
            problem = row_problem(row)
        elif type(key) is not str or type(value) not in (bytes, type(None)):
            problem = "is no row of a store any more"
        else:
            problem = self._check(key, value) if self._check is not None and value is not None else ""
        if not problem:
            return row[:4], None
        mended = mended_row(row) if has_checksums else None
        if mended is not None:
            self.mended.append(DamagedRow(mended[0], mended[1], "has one flipped bit, which can be mended"))
            return mended, None
        bad = DamagedRow(revision, key, problem)
        self.damaged.append(bad)
        return None, bad


def _text(content: bytes) -> str | bytes:
    """Return text as SQLite has it, also if it is damaged."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def keep_aside(directory: Path, clock: Callable[[], float] = time.time) -> Path | None:
    """Move the store's files into a new folder beside them, and return it; None without files. Raises OSError."""
    names = [FILE_NAME, *(f"{FILE_NAME}{suffix}" for suffix in SIDE_FILES), MARK_NAME]
    there = [directory / name for name in names if (directory / name).exists()]
    if not there:
        return None
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(clock()))
    aside = directory / f"damaged-{stamp}-{secrets.token_hex(2)}"
    aside.mkdir(mode=0o700)
    for file in there:
        if file.name == MARK_NAME:  # it stays in its place until the new file is there: a crash in between is noticed
            shutil.copy2(file, aside / file.name)
        else:
            file.rename(aside / file.name)
    sync(aside)
    sync(directory)
    return aside


def write_database(
    database: Path,
    rows: Sequence[Row],
    reached: int,
    *,
    tick: Callable[[int], None] = lambda count: None,
    make_room: Callable[[], Path | None] = lambda: None,
) -> Path | None:
    """Put a new file with these rows in the place of a database; the next start writes its mark.

    The file is written beside its place; `make_room` is called when it is whole, and what it returns is returned.
    Raises StoreUnusable, sqlite3.Error, OSError.
    """
    unfinished = database.with_name(f".{database.name}.{secrets.token_hex(4)}")
    try:
        unfinished.touch(mode=0o600, exist_ok=False)
        with closing(LogFile(unfinished)) as file:
            for begin in range(0, len(rows), MAX_ROWS):
                some = rows[begin : begin + MAX_ROWS]
                file.append(some)
                tick(len(some))
            file.forget([Forgotten(ALL_PARTS, reached, [])], reached)
        sync(unfinished)
        aside = make_room()
        put_in_place(unfinished, database)
        return aside
    finally:
        with suppress(OSError):
            for suffix in ("", *SIDE_FILES):
                unfinished.with_name(f"{unfinished.name}{suffix}").unlink(missing_ok=True)


def put_in_place(new: Path, database: Path) -> None:
    """Rename a new file to a database, whose log and mark go first: they are those of the old one. Raises OSError."""
    for suffix in SIDE_FILES:
        database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
    database.with_name(MARK_NAME).unlink(missing_ok=True)
    new.replace(database)
    sync(database.parent)
