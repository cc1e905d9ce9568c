"""Migrate a stopped cluster between a data directory and etcd. `into_etcd` and `into_directory` do the writing."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from moorage.cluster.transfer.etcd_users import LOOK_SECONDS, refuse_if_used
from moorage.cluster.transfer.into_directory import IntoDirectory, write_directory
from moorage.cluster.transfer.into_etcd import MAX_RAISE, EtcdTarget, IntoEtcd, Moved, plan_migration
from moorage.cluster.transfer.store_content import (
    TransferError,
    layout_of,
    opened_directory,
    opened_etcd,
    read_directory,
    read_etcd,
)
from moorage.store.etcd.errors import EtcdError
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.log_file import StoreUnusable

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
