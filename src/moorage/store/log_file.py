"""The file: one table to which every write is appended, in SQLite with a write-ahead log.

In: rows (revision, key, created, value; no value for a deletion) and lists of revisions nobody needs. Out: the same, in
order, after a restart. `append` returns when the rows are on disk. Everything here blocks, and is called by one thread
at a time. Errors are sqlite3's, but for opening: `StoreUnusable`.
A batch is one statement, because Python's interpreter lock is taken once per statement: a busy event loop would
otherwise be waited for once per row.
Kubernetes: etcd's bbolt file and its write-ahead log. Next: `writer`, the thread that calls.
"""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from moorage.store.directory import StoreUnusable
from moorage.store.partition import Forgotten
from moorage.store.schema import MIGRATIONS, Migration, migrate

Row = tuple[int, str, int, bytes | None]

#: The name under which a compaction of everything is noted; parts' names are empty or end in a slash.
ALL_PARTS = "*"

#: The most rows of one transaction: four variables each, of the 32,766 that SQLite has room for.
MOST_ROWS = 4_096
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
    "PRAGMA wal_autocheckpoint = 0",
    f"PRAGMA journal_size_limit = {2 * CHECKPOINT_BYTES}",
)


class LogFile:
    """See the module."""

    def __init__(self, path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._path = path
        self._unchecked = 0
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

    def compacted(self) -> dict[str, int]:
        """Up to which revision each part has been let go; `ALL_PARTS` stands for all."""
        return self._numbers("SELECT part, revision FROM compacted")

    def reached(self) -> int:
        """The highest revision there was when rows were last removed."""
        return self._numbers("SELECT 'reached', revision FROM reached").get("reached", 0)

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

    def _numbers(self, query: str) -> dict[str, int]:
        try:
            rows = self._connection.execute(query).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error
        if any(type(name) is not str or type(number) is not int for name, number in rows):
            raise self._broken("what is compacted is damaged")
        return dict(rows)

    def _broken(self, why: object) -> StoreUnusable:
        return StoreUnusable(
            f"{self._path} cannot be read ({why}): move it away to start with an empty cluster, or restore a copy"
        )

    # Writing.

    def append(self, rows: Sequence[Row]) -> None:
        """At most `MOST_ROWS` rows, all or none, on disk when this returns."""
        values: list[Any] = [column for row in rows for column in row]
        size = 1 << (len(rows) - 1).bit_length()
        values += (None, None, None, None) * (size - len(rows))
        self._connection.execute(_insertion(size), values)
        self._unchecked += sum(len(row[3] or b"") for row in rows) + 512 * len(rows)

    def forget(self, forgotten: Sequence[Forgotten], reached: int) -> None:
        """Remove rows that nobody can ask for, and remember that history begins later."""
        connection = self._connection
        superseded = [(revision,) for piece in forgotten for revision in piece.superseded]
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute("INSERT OR REPLACE INTO reached VALUES (1, ?)", (reached,))
            for piece in forgotten:
                connection.execute(
                    "INSERT INTO compacted VALUES (?, ?)"
                    " ON CONFLICT DO UPDATE SET revision = max(revision, excluded.revision)",
                    (piece.partition, piece.revision),
                )
            connection.executemany("DELETE FROM log WHERE revision = ?", superseded)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        self._unchecked += 512 * len(superseded)

    def tidy(self) -> None:
        """Keep the write-ahead log and the file from growing without end. Quick when there is nothing to do."""
        if self._unchecked < CHECKPOINT_BYTES:
            return
        free, pages = self._number("freelist_count"), self._number("page_count")
        if free > FREE_PAGES and free > pages // 2:
            self._connection.execute(f"PRAGMA incremental_vacuum({FREE_PIECE})").fetchall()
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._unchecked = 0

    def close(self) -> None:
        with suppress(sqlite3.Error):  # what is in the write-ahead log is safe there, and is found at the next start
            self._bring_home()
        self._connection.close()

    def _bring_home(self) -> None:
        """Make file and write-ahead log as small as they can be made quickly."""
        free, pages = self._number("freelist_count"), self._number("page_count")
        if free > FREE_PAGES and free > pages // 2:
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _number(self, pragma: str) -> int:
        return int(self._connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _insertion(size: int) -> str:
    """One of a dozen texts, so that SQLite compiles each once; the rows beyond the last real one are NULL."""
    rows = ",".join(("(?,?,?,?)",) * size)
    return f"INSERT INTO log SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL"
