"""Say whether a store's file is sound: its pages, its tables, and values that have no checksums; and why it is not."""

import shlex
import sqlite3
from collections.abc import Callable
from pathlib import Path

from moorage.store.checksums import DamagedRow, damage_summary
from moorage.store.data_directory import StoreUnusable, write_problem

#: Returns what is wrong with a value of a key, as an API server sees it; empty if nothing is.
ValueCheck = Callable[[str, bytes], str]

#: The tables as SQLite notes them, spaces left out.
_TABLES = {
    "log": "CREATETABLElog(revisionINTEGERPRIMARYKEY,keyTEXTNOTNULL,createdINTEGERNOTNULL,valueBLOB,checksumINTEGER)",
    "marks": "CREATETABLEmarks(nameTEXTPRIMARYKEY,revisionINTEGERNOTNULL,checksumINTEGER)WITHOUTROWID",
}


def broken(path: Path, why: object) -> StoreUnusable:
    """Return the error of a file that is damaged, with what can be done: one line."""
    directory = shlex.quote(str(path.parent))
    return StoreUnusable(
        f"{path} is damaged: {why}. Nothing is served. `moorage store check {directory}` names all that is damaged, "
        f"`moorage store repair {directory}` removes it or restores a snapshot"
    )


#: SQLite's codes for what is wrong with the place of a file, and not with its content.
_PLACE_CODES = frozenset(
    (
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    )
)


def unusable(path: Path, error: sqlite3.Error) -> StoreUnusable:
    """Return the error of a file that SQLite does not open or read: its place is at fault, or it is damaged."""
    if (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _PLACE_CODES:
        return StoreUnusable(f"{path} cannot be used: {write_problem(error)}")
    return broken(path, error)


def refuse_if_unsound(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnusable if SQLite finds the structure of a file damaged, and sqlite3.Error."""
    problems = [" ".join(str(row[0]).split()) for row in connection.execute("PRAGMA quick_check(1)")]
    if problems != ["ok"]:
        raise broken(path, problems[0] if problems else "SQLite does not say how")


def refuse_wrong_values(connection: sqlite3.Connection, path: Path, check: ValueCheck) -> None:
    """Raise StoreUnusable if a value, which has no checksum yet, is wrong; and sqlite3.Error."""
    damaged = []
    for revision, key, value in connection.execute("SELECT revision, key, value FROM log WHERE value IS NOT NULL"):
        is_typed = type(key) is str and type(value) is bytes
        if problem := check(key, value) if is_typed else "is no row of a store":
            damaged.append(DamagedRow(revision, key, problem))
    if damaged:
        raise broken(path, damage_summary(damaged))


def refuse_other_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnusable if a table is not as this release makes it, and sqlite3.Error."""
    for name, text in connection.execute("SELECT name, sql FROM sqlite_master WHERE name IN ('log', 'marks')"):
        if "".join(str(text).split()) != _TABLES[name]:
            raise broken(path, f"the table {name} is not as it was made")
