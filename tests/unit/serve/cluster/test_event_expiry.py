"""Events go when their hour is over, and every write to one starts it anew; the oldest go when there are too many."""

import asyncio
from collections.abc import Sequence

import pytest

from moorage.serve.cluster import event_expiry
from moorage.serve.cluster.event_expiry import EventExpiry
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change, StoreFailed

pytestmark = pytest.mark.real_time


async def test_old_events_go_and_those_that_were_written_again_stay() -> None:
    now = 0.0
    store = MemoryStore()
    await store.create("/events/default/old", b"")
    again = await store.create("/events/default/again", b"")
    await store.create("/pods/default/p", b"")
    task = asyncio.create_task(EventExpiry(store, lambda: now, seconds=10.0).run())
    await asyncio.sleep(0)
    now = 6.0
    await store.update("/events/default/again", b"x", again.revision)
    await _some_turns()
    now = 12.0
    await store.create("/events/default/new", b"")
    gone = store.watch("/events/", store.revision)
    (change,) = await asyncio.wait_for(gone.next(), 10)
    assert change.key == "/events/default/old"
    assert change.new is None
    left = [item.key for item in (await store.list("/")).items]
    assert left == ["/events/default/again", "/events/default/new", "/pods/default/p"]
    task.cancel()
    await store.close()


async def test_when_there_are_too_many_the_oldest_go() -> None:
    store = MemoryStore()
    for number in range(5):
        await store.create(f"/events/default/e{number}", b"")
    task = asyncio.create_task(EventExpiry(store, lambda: 0.0, most=4).run())
    await asyncio.sleep(0)
    await store.create("/events/default/e5", b"")
    gone = store.watch("/events/", store.revision)
    keys: list[str] = []
    while len(keys) < 2:
        keys += [change.key for change in await asyncio.wait_for(gone.next(), 10)]
    assert keys == ["/events/default/e0", "/events/default/e1"]
    assert await store.count("/events/") == 4
    task.cancel()
    await store.close()


async def test_a_full_disk_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_expiry, "_LOOK_EVERY", 0.01)

    class FullDisk(MemoryStore):
        is_full = True

        async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
            if self.is_full:
                self.is_full = False
                raise StoreFailed("no space left on device")
            return await super().delete(key, expected, released=released)

    store = FullDisk()
    for number in range(2):
        await store.create(f"/events/default/e{number}", b"")
    task = asyncio.create_task(EventExpiry(store, lambda: 0.0, most=1).run())
    await asyncio.sleep(0)
    gone = store.watch("/events/", store.revision)
    await asyncio.wait_for(gone.next(), 100)
    assert await store.count("/events/") == 1
    task.cancel()
    await store.close()


async def _some_turns() -> None:
    """The expiry takes note of what was written."""
    for _ in range(10):
        await asyncio.sleep(0)
