"""The embedded store: one process, one file, acknowledged means durable.

In and out: see `protocol`. A write is checked and given its revision in the event loop, sent to the writer with
all others of the same turn of the loop, and acknowledged when it is committed; only then readers and watches see it.
A key has at most one write on its way: the next one waits for it and is checked against what came of it, so nobody
hears of a conflict with something that then fails. When a commit fails (a full disk), all that is on its way
fails, revisions go on from the last durable one, and so does the store.
Kubernetes: the API server's etcd3 storage and etcd itself. Differs: embedded; see `state` for what is forgotten when.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from moorage.store.directory import DataDirectory
from moorage.store.log_file import ALL_PARTS, REACHED, LogFile
from moorage.store.partition import Forgotten
from moorage.store.protocol import Change, KeyExists, KeyMissing, RevisionMismatch, Stored, StoreError, StoreFailed
from moorage.store.reading import StateReader
from moorage.store.schema import MIGRATIONS, Migration
from moorage.store.state import Bounds, State
from moorage.store.writer import Batch, Removal, Writer

FILE_NAME = "moorage.db"


class _Pending:
    """A write that is on its way to the disk, and the writes to the same key that wait for it."""

    __slots__ = ("done", "followers")

    def __init__(self, done: "asyncio.Future[None]") -> None:
        self.done = done
        self.followers: list[asyncio.Future[None]] = []


class SqliteStore(StateReader):
    """See the module. Implements `protocol.Store`. Made by `open`."""

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
        """The store in the folder `path`, which is made if there is none. Raises `directory.StoreUnusable`."""
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
        old = self._expected(key, expected)
        self._accepted = revision = self._accepted + 1
        stored = Stored(key, value, revision, old.created, view, template)
        await self._accept(key, Change(revision, old, stored))
        return stored

    async def delete(self, key: str, expected: int) -> Change:
        if key in self._pending:
            await self._turn(key)
        old = self._expected(key, expected)
        self._accepted = revision = self._accepted + 1
        change = Change(revision, old, None)
        await self._accept(key, change)
        return change

    async def _turn(self, key: str) -> None:
        """Wait until no other write to the key is on its way."""
        while (pending := self._pending.get(key)) is not None:
            follower = self._loop.create_future()
            pending.followers.append(follower)
            await follower

    def _expected(self, key: str, expected: int) -> Stored:
        self._refuse_if_closed()
        found = self._values.get(key)
        if found is None:
            raise KeyMissing(key)
        if found.revision != expected:
            raise RevisionMismatch(found)
        return found

    def _refuse_if_closed(self) -> None:
        if self._closing is not None:
            raise StoreError("the store is closed")

    def _accept(self, key: str, change: Change) -> "asyncio.Future[None]":
        """Put a write on its way; the future is done when it is durable."""
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
        """The writer has spoken: changes are durable, or they and all that came after them have failed."""
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
