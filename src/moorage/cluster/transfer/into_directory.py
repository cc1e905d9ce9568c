"""Move the objects of an etcd into a data directory: the file is written beside its place, then renamed.

Objects keep their revisions. Where two have the same one, which an SQLite file cannot have, the second and those after
it move up as far as they must.
"""

import secrets
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from moorage.cluster.transfer.store_content import StoreContent, StoredItem, TransferError
from moorage.serve.resources.plain_value import plain_value
from moorage.store.etcd.layout import MIGRATION
from moorage.store.log_file import (
    ALL_PARTS,
    MAX_ROWS,
    SIDE_FILES,
    DataDirectory,
    LogFile,
    Row,
    StoreUnusable,
    sync,
)
from moorage.store.partition import Forgotten
from moorage.store.snapshot_file import revision_of
from moorage.store.sqlite import FILE_NAME


class IntoDirectory(msgspec.Struct, frozen=True):
    """What was done: the objects, those that kept their revision, and the revision that was reached."""

    objects: int
    kept: int
    revision: int


def write_directory(
    content: StoreContent, path: Path, *, force: bool = False, tick: Callable[[int], None] = lambda count: None
) -> IntoDirectory:
    """Write all objects into the data directory, which has none, or loses them with `force`. Raises TransferError."""
    if MIGRATION in content.notes:
        raise TransferError(f"{content.title} has an unfinished migration: finish that one first")
    rows = _rows(content.items)
    kept = sum(row[0] == item.revision for row, item in zip(rows, content.items, strict=True))
    try:
        with closing(DataDirectory(path)) as directory:
            database = directory.path / FILE_NAME
            before = revision_of(database)
            if before and not force:
                raise TransferError(
                    f"{path} has objects already; nothing is written: choose another directory, or give --force to "
                    "replace them"
                )
            # Clients that saw a revision of which objects have moved are to list again.
            moved = 1 if kept < len(rows) else 0
            reached = max(content.revision, rows[-1][0] if rows else 0, before) + moved
            _replace(database, rows, reached, tick)
    except (StoreUnusable, sqlite3.Error) as error:
        raise TransferError(str(error)) from None
    except OSError as error:
        raise TransferError(f"{error.filename or path} cannot be written: {error.strerror}") from None
    return IntoDirectory(len(rows), kept, reached)


def _rows(items: Iterable[StoredItem]) -> list[Row]:
    """Return the rows of a file, at revisions that only grow. Raises TransferError."""
    rows: list[Row] = []
    last = 0
    for item in items:
        value = plain_value(item.value)
        if value is None:
            raise TransferError(f"{item.shown} cannot be read; nothing is written: `moorage store check` says more")
        last = max(last + 1, item.revision)
        rows.append((last, item.key, min(item.created, last), value))
    return rows


def _replace(database: Path, rows: list[Row], reached: int, tick: Callable[[int], None]) -> None:
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
        for suffix in SIDE_FILES:
            database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
        unfinished.replace(database)
        sync(database.parent)
    finally:
        with suppress(OSError):
            for suffix in ("", *SIDE_FILES):
                unfinished.with_name(f"{unfinished.name}{suffix}").unlink(missing_ok=True)
