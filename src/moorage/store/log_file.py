"""Append every write to one table of an SQLite file; migrate files of older releases.

A row is (revision, key, created, value) and has a checksum beside it, by which damage is noticed when the file is read;
a deletion has no value. `append` returns when the rows are on disk. All methods block, and are called by one thread at
a time. Many rows are written by one statement, because Python's interpreter lock is taken once per statement. Errors
are sqlite3's, but for opening: `StoreUnusable`. A `MarkFile` is told of each commit, if there is one.
The version of the file is SQLite's `user_version`; step n of `MIGRATIONS` leads from version n to n + 1, in one
transaction, and an empty file is version 0. Kubernetes: etcd's bbolt file and its write-ahead log.
"""

import secrets
import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from moorage.store.checksums import (
    DamagedRow,
    Row,
    damage_summary,
    is_sound_mark,
    mark_checksum,
    row_checksum,
    row_problem,
)
from moorage.store.data_directory import StoreUnusable
from moorage.store.high_water import MarkFile
from moorage.store.partition import Forgotten
from moorage.store.soundness import (
    ValueCheck,
    broken,
    refuse_if_unsound,
    refuse_other_tables,
    refuse_wrong_values,
    unusable,
)

#: The marks that are not of one part: up to where all are compacted, the highest revision there was, and the random
#: number of the store.
ALL_PARTS, REACHED, IDENTITY = "all", "reached", "identity"

#: "moor": tells a file of ours from any other SQLite file.
APPLICATION_ID = 0x6D6F6F72

Migration = Callable[[sqlite3.Connection], None]


def _first_schema(connection: sqlite3.Connection) -> None:
    # One row per write that is still needed. A deletion has no value. Revisions only grow, so rows are always appended.
    connection.execute(
        "CREATE TABLE log (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL, value BLOB)"
    )
    # To which revision each part's history is let go ("all": that of all), and under "reached" the highest revision as
    # of the last time rows were removed: the log may have forgotten it. Names of parts are empty or end in a slash.
    connection.execute("CREATE TABLE marks (name TEXT PRIMARY KEY, revision INTEGER NOT NULL) WITHOUT ROWID")


def _with_checksums(connection: sqlite3.Connection) -> None:
    # NULL is no checksum. The identity tells this store from others, see `high_water`.
    connection.execute("ALTER TABLE log ADD COLUMN checksum INTEGER")
    connection.execute("ALTER TABLE marks ADD COLUMN checksum INTEGER")
    connection.create_function("row_checksum", 4, row_checksum, deterministic=True)
    connection.create_function("mark_checksum", 2, mark_checksum, deterministic=True)
    connection.execute("UPDATE log SET checksum = row_checksum(revision, key, created, value)")
    connection.execute("INSERT OR REPLACE INTO marks (name, revision) VALUES (?, ?)", (IDENTITY, secrets.randbits(62)))
    connection.execute("UPDATE marks SET checksum = mark_checksum(name, revision)")


MIGRATIONS: tuple[Migration, ...] = (_first_schema, _with_checksums)
#: The first version whose rows have checksums.
HAS_CHECKSUMS = 2


def migrate(connection: sqlite3.Connection, name: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    version = _number(connection, "user_version")
    owner = _number(connection, "application_id")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (owner or tables) and owner != APPLICATION_ID:
        raise StoreUnusable(f"{name} is not a file of Moorage's: it was written by another program")
    if version > len(migrations):
        raise StoreUnusable(
            f"{name} was written by a newer release (data format {version}, this one knows up to {len(migrations)}): "
            "use that release, or another data directory"
        )
    for step in range(version, len(migrations)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            migrations[step](connection)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


#: The most rows of one transaction: five variables each, of the 32,766 that SQLite has room for.
MAX_ROWS = 4_096
#: The write-ahead log is brought home into the file when it has grown by about this many bytes.
CHECKPOINT_BYTES = 4 * 1024 * 1024
#: It is cut off, not only written over, when it is longer than this.
LONG_LOG_BYTES = 2 * CHECKPOINT_BYTES
#: What may be left of it while nothing is written.
QUIET_BYTES = 512 * 1024
_PAGE_BYTES = 8192
#: When more than half of the file is free and that is more than this many pages, it is given back, piece by piece.
FREE_PAGES, FREE_PIECE = 2_048, 512

#: Pages of 8 KiB hold three values of common size; the default of 4 KiB would be half empty.
_SETTINGS = (
    f"PRAGMA page_size = {_PAGE_BYTES}",
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = FAST",  # some systems' default writes every removed page once more, full of zeros
    "PRAGMA wal_autocheckpoint = 0",  # and SQLite never cuts the log off by itself, which the mark would not know
)


class LogFile:
    """The file of a store."""

    def __init__(
        self, path: Path, migrations: Sequence[Migration] = MIGRATIONS, check: ValueCheck | None = None
    ) -> None:
        """Open the file, and look whether it is sound. `check` is asked for values that have no checksums yet."""
        self._path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._unchecked = self._checkpoints = 0
        self._has_long_log = False  # since the last checkpoint that kept the log's room, to be written over
        self._mark: MarkFile | None = None
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise StoreUnusable(f"{path} cannot be opened: {error}") from error
        try:
            for setting in _SETTINGS:
                self._connection.execute(setting).fetchall()
            refuse_if_unsound(self._connection, path)
            if check is not None and _number(self._connection, "user_version") == HAS_CHECKSUMS - 1:
                refuse_wrong_values(self._connection, path, check)
            migrate(self._connection, str(path), migrations)
            refuse_other_tables(self._connection, path)
            self._bring_home()
        except sqlite3.Error as error:
            self._connection.close()
            raise unusable(path, error) from error
        except StoreUnusable:
            self._connection.close()
            raise

    def keep_mark(self, mark: MarkFile) -> None:
        """Tell a mark of all that is committed from now on; it is closed with the file."""
        self._mark = mark

    # Reading, once.

    def marks(self) -> dict[str, int]:
        """Return all marks but the identity. Raises StoreUnusable."""
        marks = self._marks()
        marks.pop(IDENTITY, None)
        return marks

    def identity(self) -> int:
        """Return the random number that tells this store from others. Raises StoreUnusable."""
        identity = self._marks().get(IDENTITY)
        if identity is None:
            raise broken(self._path, "the mark of the store's identity is gone")
        return identity

    def last_revision(self) -> int:
        """Return the highest revision that the file has or has had. Raises StoreUnusable."""
        try:
            (last,) = self._connection.execute("SELECT max(revision) FROM log").fetchone()
        except sqlite3.Error as error:
            raise unusable(self._path, error) from error
        return max(last or 0, self._marks().get(REACHED, 0))

    def _marks(self) -> dict[str, int]:
        try:
            rows = self._connection.execute("SELECT name, revision, checksum FROM marks").fetchall()
        except sqlite3.Error as error:
            raise unusable(self._path, error) from error
        for name, revision, checksum in rows:
            if not is_sound_mark(name, revision, checksum):
                raise broken(self._path, f"the mark {name!r} is not as it was written")
        return {name: revision for name, revision, _ in rows}

    def rows(self) -> Generator[Row, None, None]:
        """Yield the whole log, in order. Close it if it is not read to its end.

        Raises StoreUnusable, at the end, if rows are damaged: they are left out.
        """
        damaged: list[DamagedRow] = []
        try:
            for row in self._connection.execute(
                "SELECT revision, key, created, value, checksum FROM log ORDER BY revision"
            ):
                if problem := row_problem(row):
                    damaged.append(DamagedRow(row[0], row[1], problem))
                else:
                    yield row[:4]
        except sqlite3.Error as error:
            raise unusable(self._path, error) from error
        if damaged:
            raise broken(self._path, damage_summary(damaged))

    def verify(self) -> None:
        """Read everything once. Raises StoreUnusable if something is damaged."""
        self._marks()
        with closing(self.rows()) as rows:
            for _ in rows:
                pass

    def copy_to(self, path: Path) -> None:
        """Write all of it into a new file, as of the last commit."""
        self._connection.execute("VACUUM INTO ?", (str(path),))

    # Writing.

    def append(self, rows: Sequence[Row]) -> None:
        """Write at most `MAX_ROWS` rows, all or none; they are on disk when this returns."""
        values: list[Any] = []
        for row in rows:
            values += row
            values.append(row_checksum(*row))
        size = _power_of_two(len(rows))
        values += (None, None, None, None, None) * (size - len(rows))
        self._connection.execute(_insertion(size), values)
        self._unchecked += _logged_bytes(rows)
        self._note(rows[-1][0])

    def forget(self, forgotten: Sequence[Forgotten], reached: int) -> None:
        """Write where history begins, then remove at most `MAX_ROWS` rows, which a crash leaves to the next start."""
        marks = {REACHED: reached}
        for part, revision, _ in forgotten:
            marks[part] = max(revision, marks.get(part, 0))
        values = [column for mark in marks.items() for column in (*mark, mark_checksum(*mark))]
        self._connection.execute(_marking(len(marks)), values)
        superseded: list[int | None] = [revision for piece in forgotten for revision in piece.superseded]
        if superseded:
            size = _power_of_two(len(superseded))
            self._connection.execute(_removal(size), superseded + [None] * (size - len(superseded)))
        self._unchecked += 2 * _PAGE_BYTES + 512 * len(superseded)
        self._note(reached)

    def tidy(self) -> None:
        """Keep the write-ahead log and the file from growing without end. Cheap if there is nothing to do."""
        if self._unchecked < CHECKPOINT_BYTES:
            return
        self._checkpoints += 1
        if self._checkpoints % 8 == 0 and self._much_is_free():
            self._connection.execute(f"PRAGMA incremental_vacuum({FREE_PIECE})").fetchall()
        if self._log_bytes() > LONG_LOG_BYTES:
            self._cut_log()
            return
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._unchecked, self._has_long_log = 0, True

    @property
    def is_tidy(self) -> bool:
        return self._unchecked < QUIET_BYTES and not self._has_long_log

    def rest(self) -> None:
        """Cut the write-ahead log off, once nothing has been written for a while."""
        self._cut_log()

    def close(self) -> None:
        with suppress(sqlite3.Error, OSError):  # what is in the write-ahead log is safe there until the next start
            self._bring_home()
        self._connection.close()
        if self._mark is not None:
            self._mark.close()

    def _bring_home(self) -> None:
        if self._much_is_free():
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
        self._cut_log()

    def _cut_log(self) -> None:
        if self._mark is not None:
            self._mark.note_cut()
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self._unchecked, self._has_long_log = 0, False

    # The mark.

    def _note(self, revision: int) -> None:
        if self._mark is not None:
            with suppress(OSError):  # then it says less than there is: no reason to refuse a write that is durable
                self._mark.note(revision, self._log_bytes())

    def _log_bytes(self) -> int:
        try:
            return self._log_path.stat().st_size
        except OSError:
            return 0

    @property
    def has_unsynced_mark(self) -> bool:
        return self._mark is not None and not self._mark.is_synced

    def sync_mark(self, *, at_once: bool = False) -> None:
        """Make the mark durable if that has not been done for a while."""
        if self._mark is not None:
            with suppress(OSError):
                self._mark.sync() if at_once else self._mark.sync_if_due()

    def _much_is_free(self) -> bool:
        free, pages = (
            self._connection.execute(f"PRAGMA {count}").fetchone()[0] for count in ("freelist_count", "page_count")
        )
        return bool(free > FREE_PAGES and free > pages // 2)


def _logged_bytes(rows: Sequence[Row]) -> int:
    """Estimate what a transaction adds to the write-ahead log: whole pages, two at least, more for large values."""
    total = 2 * _PAGE_BYTES
    for _, _, _, value in rows:
        size = 512 + len(value) if value is not None else 512
        total += size if size < _PAGE_BYTES else size + 2 * _PAGE_BYTES
    return total


# A few texts for any number of rows, so that SQLite compiles each once: what is beyond the last real row is NULL.


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


@cache
def _insertion(size: int) -> str:
    rows = ",".join(("(?,?,?,?,?)",) * size)
    return f"INSERT INTO log SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL"


@cache
def _removal(size: int) -> str:
    return f"DELETE FROM log WHERE revision IN ({','.join('?' * size)})"


@cache
def _marking(count: int) -> str:
    rows = ",".join(("(?,?,?)",) * count)
    newer = "excluded.revision > revision"
    return (
        f"INSERT INTO marks VALUES {rows} ON CONFLICT DO UPDATE SET "
        f"checksum = iif({newer}, excluded.checksum, checksum), revision = max(revision, excluded.revision)"
    )
