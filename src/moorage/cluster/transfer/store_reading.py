"""Open a store, read it, and check it."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from moorage.cluster.transfer.store_check import StoreReport, check_store
from moorage.cluster.transfer.store_content import (
    TransferError,
    layout_of,
    opened_directory,
    opened_etcd,
    read_directory,
    read_etcd,
)
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.log_file import StoreUnusable
from moorage.store.sqlite import FILE_NAME


def check_directory(path: Path) -> StoreReport:
    """Check a data directory that is not in use, and its file. Raises TransferError."""
    with opened_directory(path) as file:
        try:
            content = read_directory(path, file)
        except StoreUnusable as error:
            raise TransferError(str(error)) from None
    return check_store(content, _damage(path / FILE_NAME))


def _damage(database: Path) -> str:
    """Return what SQLite finds wrong with a file; empty if nothing."""
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = [" ".join(str(row[0]).split()) for row in connection.execute("PRAGMA integrity_check(1)")]
    except sqlite3.Error as error:
        return f"is damaged: {error}"
    return "" if found == ["ok"] else f"is damaged: {found[0] if found else 'SQLite does not say how'}"


def check_etcd(settings: EtcdSettings) -> StoreReport:
    """Check what etcd has under its prefix, as of one revision. Raises TransferError."""
    return asyncio.run(_check_etcd(settings))


async def _check_etcd(settings: EtcdSettings) -> StoreReport:
    async with opened_etcd(settings) as client:
        content = await read_etcd(client, layout_of(settings), ",".join(settings.servers))
    return check_store(content)
