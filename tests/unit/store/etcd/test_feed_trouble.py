"""A feed that cannot follow etcd says so once, and once more when it follows again."""

import asyncio
from contextlib import suppress
from typing import cast

import pytest
from tests.log_text import log_text

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdUnreachable
from moorage.store.etcd.feed import Feed
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import KeyValue, WatchedEvent, WatchResult
from moorage.store.state import State


class _Watch:
    """Fails with each of the texts in turn, then says one event, then nothing."""

    def __init__(self, troubles: list[str]) -> None:
        self._troubles = troubles

    def watch(self, key: bytes, end: bytes, start: int) -> "_Watch":
        self._start = start
        return self

    def close(self) -> None:
        pass

    async def next(self) -> WatchResult:
        if self._troubles:
            raise EtcdUnreachable(self._troubles.pop(0))
        if self._start > 2:
            await asyncio.Event().wait()
        self._start = 3
        return WatchResult(2, [WatchedEvent(False, KeyValue(b"/registry/pods/a/b", b"{}", 2, 2))])


async def test_trouble_is_logged_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    client = cast(EtcdClient, _Watch(["no leader"] * 20 + ["refused"] * 5))
    feed = Feed(client, KeyLayout("/registry", {}), State(None, lambda: 0.0), lambda value: value)
    running = asyncio.create_task(feed.run())
    await feed.reach(2, 1000)
    assert feed.complaint == ""
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    said = log_text(caplog)
    assert [said.count(text) for text in ('err="no leader"', 'err="refused"', "followed again")] == [1, 1, 1]
