"""The stores that are held to the contract: one row each. An asynchronous scenario is given a fresh store."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change, Store
from moorage.store.sqlite import SqliteStore

#: Nothing here takes a second; a scenario that hangs is a bug, not a reason to wait.
LONGEST = 60.0

Scenario = Callable[[Store], Awaitable[None]]
Opener = Callable[[Path], Awaitable[Store]]
Using = Callable[[Scenario], None]


async def _open_memory(_: Path) -> Store:
    return MemoryStore()


async def _open_sqlite(path: Path) -> Store:
    return await SqliteStore.open(path)


STORES: dict[str, Opener] = {"memory": _open_memory, "sqlite": _open_sqlite}


def play(scenario: Scenario, opener: Opener, path: Path) -> None:
    async def main() -> None:
        async with asyncio.timeout(LONGEST):
            store = await opener(path)
            try:
                await scenario(store)
            finally:
                await store.close()

    asyncio.run(main())


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
