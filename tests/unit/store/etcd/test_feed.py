"""Changes are published as they come; while many writes wait, they are gathered first. Virtual time."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.feed import Feed
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import KeyValue, WatchedEvent, WatchResult
from moorage.store.protocol import Change
from moorage.store.state import FIRST_REVISION, State

_EVENTS = 64
_APART = 0.001


class ArrivingWatch:
    """A watch whose events arrive one millisecond apart. It gives all that have come."""

    def __init__(self, events: Sequence[WatchedEvent]) -> None:
        self._loop = asyncio.get_running_loop()
        self._coming = [(self._loop.time() + _APART * (number + 1), one) for number, one in enumerate(events)]

    async def next(self) -> WatchResult:
        while not self._coming:
            await asyncio.sleep(3600)
        await asyncio.sleep(self._coming[0][0] - self._loop.time())
        come = [one for at, one in self._coming if at <= self._loop.time()]
        del self._coming[: len(come)]
        return WatchResult(come[-1].item.modified, come)

    def close(self) -> None:
        self._coming.clear()


class WatchedEtcd:
    """An etcd that has only changes."""

    def __init__(self, events: Sequence[WatchedEvent]) -> None:
        self._events = events

    def watch(self, begin: bytes, end: bytes, start: int) -> ArrivingWatch:
        return ArrivingWatch(self._events)


class CountedState(State):
    """A state that counts how often changes are published, and in which sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def publish(self, changes: Sequence[Change]) -> None:
        self.sizes.append(len(changes))
        super().publish(changes)


class WaitingWrite:
    """A write that etcd has made."""

    def __init__(self) -> None:
        self.change: Change | None = None

    def publish(self, change: Change) -> None:
        self.change = change

    def give_up(self, revision: int) -> None:
        raise AssertionError(f"revision {revision} was never published")


@pytest.mark.parametrize(("waiting", "most", "least"), [(_EVENTS, 20, 1), (6, _EVENTS, _EVENTS)])
async def test_changes_are_gathered_while_many_writes_wait(waiting: int, most: int, least: int) -> None:
    first = FIRST_REVISION + 1
    revisions = range(first, first + _EVENTS)
    events = [WatchedEvent(False, KeyValue(b"/registry/pods/a/%d" % one, b"{}", one, one)) for one in revisions]
    state, writes = CountedState(), [WaitingWrite() for _ in range(waiting)]
    feed = Feed(cast(EtcdClient, WatchedEtcd(events)), KeyLayout("registry", {}), state, lambda value: value)
    for revision, write in zip(reversed(revisions), writes, strict=False):  # the last ones, so that they wait all along
        feed.await_change(revision, write)
    task = asyncio.create_task(feed.run())
    await feed.reach(revisions[-1], 10.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    feed.close()
    assert sum(state.sizes) == _EVENTS
    assert least <= len(state.sizes) <= most
    assert all(write.change is not None for write in writes)
