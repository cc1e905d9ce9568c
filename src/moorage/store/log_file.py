"""The file: one table to which every write is appended, in SQLite with a write-ahead log.

In: rows (revision, key, created, value; no value for a deletion) and lists of revisions nobody needs. Out: the same, in
order, after a restart. `append` returns when the rows are on disk. Everything here blocks, and is called by one thread
at a time. Errors are sqlite3's, but for opening: `StoreUnusable`.
Whatever concerns many rows is one statement, because Python's interpreter lock is taken once per statement: a busy
event loop would otherwise be waited for once per row.
Kubernetes: etcd's bbolt file and its write-ahead log.
"""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from moorage.store.directory import StoreUnusable
from moorage.store.partition import Forgotten
from moorage.store.schema import MIGRATIONS, Migration, migrate

Row = tuple[int, str, int, bytes | None]

#: The marks that are not of one part: up to where all are compacted, and the highest revision there was.
ALL_PARTS, REACHED = "all", "reached"

#: The most rows of one transaction: four variables each, of the 32,766 that SQLite has room for.
MAX_ROWS = 4_096
#: The write-ahead log is brought home into the file when it has grown by so many bytes.
CHECKPOINT_BYTES = 8 * 1024 * 1024
#: When more than half of the file is free and that is more than so many pages, it is given back, piece by piece.
FREE_PAGES, FREE_PIECE = 2_048, 512

#: Pages of 8 KiB hold three values of common size; the default of 4 KiB would be half empty.
_SETTINGS = (
    "PRAGMA page_size = 8192",
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = FAST",  # some systems' default writes every removed page once more, full of zeros
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {2 * CHECKPOINT_BYTES}",
)


class LogFile:
    """See the module."""

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._path = path
        self._unchecked = self._checkpoints = 0
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise StoreUnusable(f"{path} cannot be opened: {error}") from error
        try:
            for setting in _SETTINGS:
                self._connection.execute(setting).fetchall()
            migrate(self._connection, str(path), migrations)
            self._bring_home()
        except sqlite3.Error as error:
            self._connection.close()
            raise self._broken(error) from error
        except StoreUnusable:
            self._connection.close()
            raise

    # Reading, once.

    def marks(self) -> dict[str, int]:
        """Up to which revision each part has been let go, and the marks that are not of one part."""
        try:
            rows = self._connection.execute("SELECT name, revision FROM marks").fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        if any(type(name) is not str or type(revision) is not int for name, revision in rows):
            raise self._broken("a mark is damaged")
        return dict(rows)

    def rows(self) -> Generator[Row, None, None]:
        """All of the log, in order. To be closed if it is not read to its end."""
        try:
            for row in self._connection.execute("SELECT revision, key, created, value FROM log ORDER BY revision"):
                revision, key, created, value = row
                if type(key) is not str or type(created) is not int or not (value is None or type(value) is bytes):
                    raise self._broken(f"revision {revision} is damaged")
                yield row
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _broken(self, why: object) -> StoreUnusable:
        return StoreUnusable(
            f"{self._path} cannot be read ({why}): move it away to start with an empty cluster, or restore a copy"
        )

    # Writing.

    def append(self, rows: Sequence[Row]) -> None:
        """At most `MAX_ROWS` rows, all or none, on disk when this returns."""
        values: list[Any] = [column for row in rows for column in row]
        size = _power_of_two(len(rows))
        values += (None, None, None, None) * (size - len(rows))
        self._connection.execute(_insertion(size), values)
        self._unchecked += sum(len(row[3] or b"") for row in rows) + 512 * len(rows)

    def forget(self, forgotten: Sequence[Forgotten], reached: int) -> None:
        """Remove rows that nobody can ask for, at most `MAX_ROWS`, and remember that history begins later.

        The marks come first: rows that are left behind are then known to be unneeded at the next start.
        """
        marks = {REACHED: reached}
        for part, revision, _ in forgotten:
            marks[part] = max(revision, marks.get(part, 0))
        self._connection.execute(_marking(len(marks)), [column for mark in marks.items() for column in mark])
        superseded: list[int | None] = [revision for piece in forgotten for revision in piece.superseded]
        if superseded:
            size = _power_of_two(len(superseded))
            self._connection.execute(_removal(size), superseded + [None] * (size - len(superseded)))
        self._unchecked += 512 * len(superseded)

    def tidy(self) -> None:
        """Keep the write-ahead log and the file from growing without end. Quick when there is nothing to do."""
        if self._unchecked < CHECKPOINT_BYTES:
            return
        self._checkpoints += 1
        if self._checkpoints % 8 == 0 and self._much_is_free():
            self._connection.execute(f"PRAGMA incremental_vacuum({FREE_PIECE})").fetchall()
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._unchecked = 0

    def close(self) -> None:
        with suppress(sqlite3.Error):  # what is in the write-ahead log is safe there, and is found at the next start
            self._bring_home()
        self._connection.close()

    def _bring_home(self) -> None:
        """Make file and write-ahead log as small as they can be made quickly."""
        if self._much_is_free():
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _much_is_free(self) -> bool:
        free, pages = (
            self._connection.execute(f"PRAGMA {count}").fetchone()[0] for count in ("freelist_count", "page_count")
        )
        return bool(free > FREE_PAGES and free > pages // 2)


# A few texts for any number of rows, so that SQLite compiles each once: what is beyond the last real row is NULL.


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


@cache
def _insertion(size: int) -> str:
    rows = ",".join(("(?,?,?,?)",) * size)
    return f"INSERT INTO log SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL"


@cache
def _removal(size: int) -> str:
    return f"DELETE FROM log WHERE revision IN ({','.join('?' * size)})"


@cache
def _marking(count: int) -> str:
    rows = ",".join(("(?,?)",) * count)
    return f"INSERT INTO marks VALUES {rows} ON CONFLICT DO UPDATE SET revision = max(revision, excluded.revision)"
