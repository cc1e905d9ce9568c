"""Remove values from etcd that cannot be served, after writing them to a file.

etcd checks its own files, so what can be damaged is what was written: a value that is no JSON, or of another kind than
its key says. A value is removed only if it is still the one that was read. Kubernetes: deletion of corrupt objects with
`ignoreStoreReadErrorWithClusterBreakingPotential`.
"""

import asyncio
import base64
import os
import secrets
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from moorage.cluster.transfer.repair import Repaired
from moorage.cluster.transfer.store_check import unreadable_keys
from moorage.cluster.transfer.store_content import StoredItem, TransferError, layout_of, opened_etcd, read_etcd
from moorage.store.data_directory import sync, write_problem
from moorage.store.etcd.messages import Compare, Delete
from moorage.store.etcd.settings import EtcdSettings


def repair_etcd(
    settings: EtcdSettings, folder: Path, *, remove: Collection[str] = (), removes_damaged: bool = False
) -> Repaired:
    """Remove values from etcd, which may be in use; they are kept in a file in `folder`. Raises TransferError."""
    return asyncio.run(_repair(settings, folder, remove, removes_damaged=removes_damaged))


async def _repair(settings: EtcdSettings, folder: Path, remove: Collection[str], *, removes_damaged: bool) -> Repaired:
    async with opened_etcd(settings) as client:
        content = await read_etcd(client, layout_of(settings), ",".join(settings.servers))
        by_key = {item.shown: item for item in content.items}
        if unknown := sorted(set(remove) - by_key.keys()):
            raise TransferError(f"there is no key {unknown[0]} in {content.title}: `moorage store check` shows them")
        chosen = sorted(set(remove) | (unreadable_keys(content) if removes_damaged else set()))
        if not chosen:
            raise TransferError(f"{content.title} has no value that cannot be read: there is nothing to repair")
        file = await asyncio.to_thread(_keep, folder, [by_key[key] for key in chosen])
        revision = content.revision
        for key in chosen:
            raw = key.encode()
            result = await client.txn((Compare(raw, by_key[key].revision),), (Delete(raw),))
            if not result.succeeded:
                raise TransferError(f"{key} has changed meanwhile, and is left as it is: check the store again")
            revision = result.revision
    return Repaired(len(content.items) - len(chosen), revision, chosen, [], file)


def _keep(folder: Path, items: Sequence[StoredItem]) -> Path:
    """Write keys and values to a new file that only its owner can read. Raises TransferError."""
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    path = folder / f"moorage-removed-{stamp}-{secrets.token_hex(2)}.json"
    document = [
        {"key": item.shown, "revision": item.revision, "value": base64.b64encode(item.value).decode()} for item in items
    ]
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(document)))
        sync(path)
    except OSError as error:
        raise TransferError(f"{path} cannot be written: {write_problem(error)}") from None
    return path
