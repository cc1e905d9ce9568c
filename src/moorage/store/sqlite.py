"""Store objects in one file: acknowledged means durable.

A write is checked and given its revision in the event loop, sent to the writer with all others of the same turn of the
loop, and acknowledged when it is committed; only then readers and watches see it. A key has at most one write under
way: the next one waits, and is checked against the result, so that no client sees a conflict with a write that then
fails. A thread commits all that waits at once, with one call back to the event loop per commit.
When a commit fails (a full disk), all writes under way fail, and revisions continue from the last durable one: changes
accepted after it were checked against a state that never came to be, so the thread drops batches of the same *epoch*.
Kubernetes: the API server's etcd3 storage and etcd itself. Differs: embedded; see `state` for how much history is kept.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple

from moorage.store.checksums import Row
from moorage.store.data_directory import DataDirectory, write_problem
from moorage.store.log_file import ALL_PARTS, MAX_ROWS, MIGRATIONS, REACHED, LogFile, Migration
from moorage.store.memory import MemoryStore, Pending
from moorage.store.opening import open_log_file
from moorage.store.partition import Forgotten, wake
from moorage.store.protocol import Change, StoreClosed, StoreFailed
from moorage.store.soundness import ValueCheck
from moorage.store.state import Bounds
from moorage.telemetry.watchdog import operation

#: Rows removed in one transaction, so that a commit never waits long for a removal.
MAX_FORGOTTEN = 1_024
#: After this many seconds without a write, the write-ahead log is cut off.
QUIET_SECONDS = 1.0


class Batch(NamedTuple):
    """Changes that were accepted while the last batch was committed."""

    epoch: int
    changes: list[Change]


class Removal(NamedTuple):
    """History to remove from the file; `done` is called in the loop afterwards, with an error if it failed."""

    forgotten: list[Forgotten]
    done: Callable[[Exception | None], None] | None = None


class Copying(NamedTuple):
    """A copy of the file to make; `done` is called in the loop afterwards, with an error if it failed."""

    path: Path
    done: Callable[[Exception | None], None]


#: What the thread is told.
Message = Batch | Removal | Copying


class Writer:
    """The thread. `settled(changes, error)` is called in the loop, in the order of revisions."""

    def __init__(
        self, file: LogFile, reached: int, settled: Callable[[Sequence[Change], Exception | None], None]
    ) -> None:
        self._file = file
        self._reached = reached
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._copies: list[Copying] = []
        self._epoch, self._broken_epoch = 0, -1
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="moorage-store-writer", daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        self._queue.put(message)

    async def close(self) -> None:
        self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()

    # What follows runs in the thread.

    def _run(self) -> None:
        more = True
        while more:
            batches, removals, more = self._take()
            for changes in batches:
                self._commit(changes)
            for removal in removals:
                self._remove(removal)
            while self._copies:
                self._copy(self._copies.pop())
            with suppress(
                sqlite3.Error, OSError
            ):  # a full disk: commits will say so, and this is tried again after the next one
                self._file.tidy()
            self._file.sync_mark()
        self._file.close()
        self._tell(self._ended.set_result, None)

    def _take(self) -> tuple[list[list[Change]], list[Removal], bool]:
        """All that waits: changes in transactions of bounded size, removals, and whether more may come."""
        transactions: list[list[Change]] = []
        removals: list[Removal] = []
        message = self._wait()
        while message is not None:
            if isinstance(message, Removal):
                removals.append(message)
            elif isinstance(message, Copying):
                self._copies.append(message)
            elif message.epoch > self._broken_epoch:
                self._epoch = message.epoch
                if transactions and len(transactions[-1]) + len(message.changes) <= MAX_ROWS:
                    transactions[-1] += message.changes
                else:
                    begins = range(0, len(message.changes), MAX_ROWS)
                    transactions += [message.changes[begin : begin + MAX_ROWS] for begin in begins]
            try:
                message = self._queue.get_nowait()
            except Empty:
                return transactions, removals, True
        return transactions, removals, False

    def _wait(self) -> Message | None:
        """Return the next message; if none comes for a while, tidy up, and wait on."""
        if not self._file.is_tidy or self._file.has_unsynced_mark:
            try:
                return self._queue.get(timeout=QUIET_SECONDS)
            except Empty:
                if not self._file.is_tidy:
                    with suppress(sqlite3.Error, OSError):  # what is in the log is safe there
                        self._file.rest()
                self._file.sync_mark(at_once=True)
        return self._queue.get()

    def _commit(self, changes: list[Change]) -> None:
        if self._epoch <= self._broken_epoch:
            return
        try:
            self._file.append([_row(change) for change in changes])
        except Exception as error:  # whatever it is: if the thread died of it, every writer would wait forever
            self._broken_epoch = self._epoch
            self._tell(self._settled, changes, error)
        else:
            self._reached = changes[-1].revision
            self._tell(self._settled, changes, None)

    def _remove(self, removal: Removal) -> None:
        failed: Exception | None = None
        try:
            for piece in _pieces(removal.forgotten):
                self._file.forget(piece, self._reached)
        except sqlite3.Error as error:
            failed = error  # the rows are found to be unneeded at the next start
        if removal.done is not None:
            self._tell(removal.done, failed)

    def _copy(self, copying: Copying) -> None:
        failed: Exception | None = None
        try:
            self._file.copy_to(copying.path)
        except sqlite3.Error as error:
            failed = error
        self._tell(copying.done, failed)

    def _tell(self, callback: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: there is no caller left
            self._loop.call_soon_threadsafe(callback, *arguments)


def _row(change: Change) -> Row:
    new = change.new
    if new is not None:
        return new.revision, new.key, new.created, new.value
    return change.revision, change.key, change.old.created if change.old is not None else 0, None


def _pieces(forgotten: Sequence[Forgotten]) -> list[list[Forgotten]]:
    pieces: list[list[Forgotten]] = [[]]
    room = MAX_FORGOTTEN
    for part, revision, superseded in forgotten:
        for begin in range(0, len(superseded) or 1, MAX_FORGOTTEN):
            some = superseded[begin : begin + MAX_FORGOTTEN]
            if len(some) > room:
                pieces.append([])
                room = MAX_FORGOTTEN
            pieces[-1].append(Forgotten(part, revision, some))
            room -= len(some)
    return pieces


class SqliteStore(MemoryStore):
    """A store in a file, made by `open`. Implements `protocol.Store`."""

    def __init__(
        self, directory: DataDirectory, file: LogFile, bounds: Bounds | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(bounds, clock)
        state, marks = self._state, file.marks()
        floor, reached = marks.pop(ALL_PARTS, 0), marks.pop(REACHED, 0)
        with closing(file.rows()) as rows:
            unneeded = state.restore(rows, marks, floor, reached)
        self._directory = directory
        self._loop = asyncio.get_running_loop()
        self._accepted = state.revision
        self._unsent: list[Change] = []
        self._epoch = 0
        self._closing: asyncio.Task[None] | None = None
        self._writer = Writer(file, state.revision, self._settled)
        if unneeded:
            self._writer.send(Removal([Forgotten(ALL_PARTS, floor, unneeded)]))

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
        migrations: Sequence[Migration] = MIGRATIONS,
        check: ValueCheck | None = None,
        siblings: Collection[str] = (),
    ) -> "SqliteStore":
        """Open the store in the folder `path`, which is created if it is missing. Raises `StoreUnusable`.

        For `check` and `siblings` see `opening`.
        """
        with ExitStack() as opened:
            directory = opened.enter_context(closing(DataDirectory(path)))
            file = open_log_file(directory, migrations=migrations, check=check, siblings=siblings)
            opened.enter_context(closing(file))
            store = cls(directory, file, bounds, clock)
            opened.pop_all()  # the store closes them
        return store

    async def catch_up(self) -> None:
        """Return when the writes that were accepted so far are seen, or have failed."""
        if self._pending:
            await asyncio.wait([pending.done for pending in self._pending.values()])

    def _refuse_if_closed(self) -> None:
        if self._closing is not None:
            raise StoreClosed()

    def _next_revision(self) -> int:
        self._refuse_if_closed()
        return self._accepted + 1

    def _accept(self, key: str, change: Change) -> "asyncio.Future[None]":
        self._accepted = change.revision
        done = self._loop.create_future()
        self._pending[key] = Pending(done)
        if not self._unsent:
            self._loop.call_soon(self._send)
        self._unsent.append(change)
        return done

    def _accept_claims(self, key: str, taken: Sequence[str], released: Sequence[str]) -> None:
        pending = self._pending[key]
        pending.taken, pending.released = taken, released

    def _send(self) -> None:
        if self._unsent:
            self._writer.send(Batch(self._epoch, self._unsent))
            self._unsent = []

    @operation("publishing writes")
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
            if pending.released:
                self._claims.release(change.key, pending.released)
            if not pending.done.done():
                pending.done.set_result(None)
            wake(pending.followers)
        forgotten = self._state.trim()
        if forgotten:
            self._writer.send(Removal(forgotten))

    def _fail(self, error: Exception) -> None:
        failed, self._pending = self._pending, {}
        self._unsent = []
        self._epoch += 1
        self._accepted = self._state.revision
        for key, pending in failed.items():
            self._claims.release(key, pending.taken)
            if not pending.done.done():
                pending.done.set_exception(StoreFailed(f"the write could not be made durable: {error}"))
            wake(pending.followers)

    # The rest.

    async def compact(self, revision: int) -> None:
        self._refuse_if_closed()
        forgotten = [Forgotten(ALL_PARTS, revision, []), *self._state.compact(revision)]
        done = self._loop.create_future()
        self._writer.send(Removal(forgotten, _settling(done, "the compaction could not be made durable")))
        await done

    async def copy(self, path: Path) -> None:
        self._refuse_if_closed()
        done = self._loop.create_future()
        self._writer.send(Copying(path, _settling(done, "the copy could not be made")))
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


def _settling(done: "asyncio.Future[None]", failure: str) -> Callable[[Exception | None], None]:
    """Return what settles a future when the thread has done something, or failed to."""

    def settle(error: Exception | None) -> None:
        if done.done():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(StoreFailed(f"{failure}: {write_problem(error)}"))

    return settle
