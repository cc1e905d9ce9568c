"""The stores that are held to the contract: one row each."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.etcd_process import EtcdCluster

from moorage.store.etcd.store import EtcdStore
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change, Store
from moorage.store.sqlite import SqliteStore

Opener = Callable[[Path], Awaitable[Store]]


async def _open_memory(_: Path) -> Store:
    return MemoryStore()


async def _open_sqlite(path: Path) -> Store:
    return await SqliteStore.open(path)


STORES: dict[str, Opener] = {"memory": _open_memory, "sqlite": _open_sqlite}


def etcd_opener(cluster: EtcdCluster) -> Opener:
    """Return what opens a store in a real etcd; the path is its prefix there."""

    async def open_etcd(path: Path) -> Store:
        return await EtcdStore.open(cluster.settings(prefix=str(path)), roots={})

    return open_etcd


@asynccontextmanager
async def opened(opener: Opener, path: Path) -> AsyncIterator[Store]:
    store = await opener(path)
    try:
        yield store
    finally:
        await store.close()


async def read(store: Store, prefix: str, after: int, count: int) -> list[Change]:
    """The first `count` changes of a new watch."""
    watch = store.watch(prefix, after)
    changes: list[Change] = []
    while len(changes) < count:
        changes += await watch.next()
    watch.close()
    return changes


def keys_of(changes: list[Change]) -> list[str]:
    return [change.key for change in changes]
