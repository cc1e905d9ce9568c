"""Store objects in one file: acknowledged means durable.

A write is checked and given its revision in the event loop, sent to the writer with all others of the same turn of the
loop, and acknowledged when it is committed; only then readers and watches see it. A key has at most one write under
way: the next one waits, and is checked against the result, so that no client sees a conflict with a write that then
fails. When a commit fails (a full disk), all writes under way fail, and revisions continue from the last durable one.
Kubernetes: the API server's etcd3 storage and etcd itself. Differs: embedded; see `state` for how much history is kept.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from moorage.store.directory import DataDirectory
from moorage.store.log_file import ALL_PARTS, MIGRATIONS, REACHED, LogFile, Migration
from moorage.store.partition import Forgotten
from moorage.store.protocol import Change, KeyExists, Stored, StoreError, StoreFailed
from moorage.store.reading import StateReader
from moorage.store.state import Bounds, State
from moorage.store.writer import Batch, Removal, Writer

FILE_NAME = "moorage.db"


class _Pending:
    """A write that is not durable yet, and the writes to the same key that wait for it."""

    __slots__ = ("done", "followers")

    def __init__(self, done: "asyncio.Future[None]") -> None:
        self.done = done
        self.followers: list[asyncio.Future[None]] = []


class SqliteStore(StateReader):
    """A store in a file, made by `open`. Implements `protocol.Store`."""

    def __init__(self, state: State, directory: DataDirectory, file: LogFile) -> None:
        super().__init__(state)
        self._directory = directory
        self._loop = asyncio.get_running_loop()
        self._accepted = state.revision
        self._pending: dict[str, _Pending] = {}
        self._unsent: list[Change] = []
        self._epoch = 0
        self._closing: asyncio.Task[None] | None = None
        self._writer = Writer(file, state.revision, self._settled)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> "SqliteStore":
        """Open the store in the folder `path`, which is created if it is missing. Raises `directory.StoreUnusable`."""
        directory = DataDirectory(path)
        try:
            file = LogFile(directory.prepare(FILE_NAME), migrations)
            try:
                state = State(bounds, clock)
                marks = file.marks()
                floor, reached = marks.pop(ALL_PARTS, 0), marks.pop(REACHED, 0)
                with closing(file.rows()) as rows:
                    unneeded = state.restore(rows, marks, floor, reached)
                store = cls(state, directory, file)
            except BaseException:
                file.close()
                raise
        except BaseException:
            directory.close()
            raise
        if unneeded:
            store._writer.send(Removal([Forgotten(ALL_PARTS, floor, unneeded)]))
        return store

    # Writing.

    async def create(self, key: str, value: bytes, view: Any = None, template: Any = None) -> Stored:
        if key in self._pending:
            await self._turn(key)
        self._refuse_if_closed()
        if key in self._values:
            raise KeyExists(key)
        self._accepted = revision = self._accepted + 1
        stored = Stored(key, value, revision, revision, view, template)
        await self._accept(key, Change(revision, None, stored))
        return stored

    async def update(self, key: str, value: bytes, expected: int, view: Any = None, template: Any = None) -> Stored:
        if key in self._pending:
            await self._turn(key)
        self._refuse_if_closed()
        old = self._expected(key, expected)
        self._accepted = revision = self._accepted + 1
        stored = Stored(key, value, revision, old.created, view, template)
        await self._accept(key, Change(revision, old, stored))
        return stored

    async def delete(self, key: str, expected: int) -> Change:
        if key in self._pending:
            await self._turn(key)
        self._refuse_if_closed()
        old = self._expected(key, expected)
        self._accepted = revision = self._accepted + 1
        change = Change(revision, old, None)
        await self._accept(key, change)
        return change

    async def _turn(self, key: str) -> None:
        """Wait until no other write to the key is under way."""
        while (pending := self._pending.get(key)) is not None:
            follower = self._loop.create_future()
            pending.followers.append(follower)
            await follower

    def _refuse_if_closed(self) -> None:
        if self._closing is not None:
            raise StoreError("the store is closed")

    def _accept(self, key: str, change: Change) -> "asyncio.Future[None]":
        """Send a write to the writer; the future is done when it is durable."""
        done = self._loop.create_future()
        self._pending[key] = _Pending(done)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(change)
        return done

    def _send(self) -> None:
        if self._unsent:
            self._writer.send(Batch(self._epoch, self._unsent))
            self._unsent = []

    def _settled(self, changes: Sequence[Change], error: Exception | None) -> None:
        """Publish changes that are durable, or fail them and all that came after them."""
        if error is not None:
            self.complaint = str(error)
            self._fail(error)
            return
        self.complaint = ""
        self._state.publish(changes)
        pop = self._pending.pop
        for change in changes:
            pending = pop(change.key)
            if not pending.done.done():
                pending.done.set_result(None)
            for follower in pending.followers:
                if not follower.done():
                    follower.set_result(None)
        forgotten = self._state.trim()
        if forgotten:
            self._writer.send(Removal(forgotten))

    def _fail(self, error: Exception) -> None:
        failed, self._pending = self._pending, {}
        self._unsent = []
        self._epoch += 1
        self._accepted = self._state.revision
        for pending in failed.values():
            if not pending.done.done():
                pending.done.set_exception(StoreFailed(f"the write could not be made durable: {error}"))
            for follower in pending.followers:
                if not follower.done():
                    follower.set_result(None)

    # The rest.

    async def compact(self, revision: int) -> None:
        self._refuse_if_closed()
        forgotten = [Forgotten(ALL_PARTS, revision, []), *self._state.compact(revision)]
        done = self._loop.create_future()

        def removed(error: Exception | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(StoreFailed(f"the compaction could not be made durable: {error}"))

        self._writer.send(Removal(forgotten, removed))
        await done

    async def close(self) -> None:
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._send()
        await self._writer.close()
        self._state.end()
        self._directory.close()
