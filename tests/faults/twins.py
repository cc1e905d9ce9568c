"""Run an API server that is broken on purpose: `python -m tests.faults.twins NAME apiserver …`.

Each twin does one thing wrong with the store on etcd, now and then. A run of faults against it must find a violation:
that proves that the whole chain of load, recorder and checkers would.
"""

import asyncio
import random
import sys
from collections.abc import Callable, Iterable
from typing import Any

from moorage.__main__ import main
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.feed import Feed
from moorage.store.etcd.messages import Compare, Operation, Put, TxnResult, WatchedEvent
from moorage.store.etcd.store import EtcdStore

#: How often something goes wrong.
_RATE = 0.05
_REGISTERS = b"/configmaps/round-"
_txn = EtcdClient.txn


def _is_chosen(operations: Iterable[Operation]) -> bool:
    """Return whether a write is one that goes wrong: to an object whose history is recorded."""
    first = next(iter(operations), None)
    return type(first) is Put and _REGISTERS in first.key and random.random() < _RATE


def stale() -> None:
    """Answer reads from memory, however old it is, for a while after each change."""

    async def catch_up(self: EtcdStore) -> None:
        await asyncio.sleep(0)

    publish = Feed._publish

    def publish_late(self: Feed, events: list[WatchedEvent]) -> None:
        asyncio.get_running_loop().call_later(0.6, publish, self, events)

    EtcdStore.catch_up = catch_up  # type: ignore[method-assign]
    Feed._publish = publish_late  # type: ignore[method-assign]


def overwriting() -> None:
    """Write without looking whether the object is still at the expected revision."""

    async def txn(self: EtcdClient, compares: Any, then: Any, otherwise: Any = ()) -> TxnResult:
        compares, then = list(compares), list(then)
        if _is_chosen(then):
            del compares[0]
            await asyncio.sleep(0.2)
        return await _txn(self, compares, then, otherwise)

    EtcdClient.txn = txn  # type: ignore[method-assign]


def losing() -> None:
    """Acknowledge a write, and write something else."""

    async def txn(self: EtcdClient, compares: Any, then: Any, otherwise: Any = ()) -> TxnResult:
        then = list(then)
        if _is_chosen(then):
            return await _txn(self, (), (Put(b"/registry/moorage/lost", b""),))
        return await _txn(self, compares, then, otherwise)

    EtcdClient.txn = txn  # type: ignore[method-assign]


def repeating() -> None:
    """Send a write once more, some time after it was acknowledged."""
    later: set[asyncio.Task[None]] = set()

    async def again(client: EtcdClient, put: Put) -> None:
        await asyncio.sleep(0.5)
        # Over whatever there is: a condition that always holds.
        await _txn(client, (Compare(b"/registry/moorage/never", 0),), (put,))

    async def txn(self: EtcdClient, compares: Any, then: Any, otherwise: Any = ()) -> TxnResult:
        then = list(then)
        result = await _txn(self, compares, then, otherwise)
        if result.succeeded and _is_chosen(then):
            task = asyncio.create_task(again(self, then[0]))
            later.add(task)
            task.add_done_callback(later.discard)
        return result

    EtcdClient.txn = txn  # type: ignore[method-assign]


def skipping() -> None:
    """Leave out a change of what watches are shown."""
    publish = Feed._publish

    def publish_some(self: Feed, events: list[WatchedEvent]) -> None:
        chosen = [one for one in events if _REGISTERS not in one.item.key or random.random() > _RATE]
        if chosen:
            publish(self, chosen)

    Feed._publish = publish_some  # type: ignore[method-assign]


TWINS: dict[str, Callable[[], None]] = {
    made.__name__: made for made in (stale, overwriting, losing, repeating, skipping)
}

if __name__ == "__main__":
    TWINS[sys.argv.pop(1)]()
    main()
