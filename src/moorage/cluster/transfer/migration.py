"""Migrate a stopped cluster from a data directory to etcd or back; `into_etcd` writes to etcd.

A data directory is written beside its place, then renamed. Objects keep their revisions; where two have the same one,
which an SQLite file cannot have, the second and those after it move up as far as they must.
"""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack, closing
from pathlib import Path

import msgspec

from moorage.cluster.transfer.into_etcd import MAX_RAISE, EtcdTarget, IntoEtcd, Moved, plan_migration
from moorage.cluster.transfer.store_content import (
    LOOK_SECONDS,
    StoreContent,
    StoredItem,
    TransferError,
    layout_of,
    opened_directory,
    opened_etcd,
    read_directory,
    read_etcd,
    refuse_if_used,
)
from moorage.serve.resources.kube_apiserver_values import plain_value
from moorage.store.checksums import Row
from moorage.store.data_directory import FILE_NAME, DataDirectory, StoreUnusable
from moorage.store.etcd.errors import EtcdError
from moorage.store.etcd.layout import MIGRATION
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.salvage import write_database
from moorage.store.snapshot_file import revision_of


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
            write_database(database, rows, reached, tick=tick)
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


#: Is called with the number of steps of a migration before it begins, and returns what is told of each some.
Meter = Callable[[int], Callable[[int], None]]


class MigrationOptions(msgspec.Struct, frozen=True):
    """What the user chose, see `EtcdTarget`."""

    force: bool = False
    renumber: bool = False
    max_raise: int = MAX_RAISE
    look_seconds: float = LOOK_SECONDS


async def directory_to_etcd(
    source: Path, target: EtcdSettings, options: MigrationOptions, meter: Meter, say: Callable[[str], None]
) -> Moved:
    """Move the objects of a data directory, which stays as it is. Raises TransferError."""
    async with AsyncExitStack() as stack:
        file = stack.enter_context(opened_directory(source))
        try:
            content = read_directory(source, file)
        except StoreUnusable as error:
            raise TransferError(str(error)) from None
        client = await stack.enter_async_context(opened_etcd(target))
        made = EtcdTarget(
            client,
            layout_of(target),
            ",".join(target.servers),
            options.renumber,
            options.force,
            options.max_raise,
            options.look_seconds,
        )
        plan = await plan_migration(content, made)
        for note in plan.notes:
            say(note)
        raised = 0 if options.renumber else plan.missing
        migration = IntoEtcd(content, made, plan, meter(max(raised, len(content.items))))
        try:
            return await migration.run()
        except EtcdError as error:
            raise TransferError(f"{error}; the migration is not finished: the same command goes on with it") from None


async def etcd_to_directory(
    source: EtcdSettings, target: Path, options: MigrationOptions, meter: Meter, say: Callable[[str], None]
) -> IntoDirectory:
    """Move the objects of an etcd, which stays as it is. Raises TransferError."""
    layout = layout_of(source)
    async with opened_etcd(source) as client:
        if ended := await refuse_if_used(client, layout, options.look_seconds):
            say(f"{ended} API server(s) were killed without taking leave of etcd; nothing writes now")
        content = await read_etcd(client, layout, ",".join(source.servers))
    if not content.items:
        raise TransferError(f"{content.title} has no objects under {layout.prefix or '/'}")
    return write_directory(content, target, force=options.force, tick=meter(len(content.items)))
