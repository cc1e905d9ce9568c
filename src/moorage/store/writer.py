"""Commit changes in a thread: all that wait at once, with one call back to the event loop per commit.

When a commit fails, changes accepted after it were checked against a state that never came to be: batches of the same
*epoch* are dropped here, and the store, which fails their writers, begins a new one. Kubernetes: etcd's raft loop and
batched transactions.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import NamedTuple

from moorage.store.log_file import MAX_ROWS, LogFile, Row
from moorage.store.partition import Forgotten
from moorage.store.protocol import Change

#: Rows removed in one transaction, so that a commit never waits long for a removal.
MAX_FORGOTTEN = 1_024


class Batch(NamedTuple):
    """Changes that were accepted while the last batch was committed."""

    epoch: int
    changes: list[Change]


class Removal(NamedTuple):
    """History to remove from the file; `done` is called in the loop afterwards, with an error if it failed."""

    forgotten: list[Forgotten]
    done: Callable[[Exception | None], None] | None = None


class Writer:
    """The thread. `settled(changes, error)` is called in the loop, in the order of revisions."""

    def __init__(
        self, file: LogFile, reached: int, settled: Callable[[Sequence[Change], Exception | None], None]
    ) -> None:
        self._file = file
        self._reached = reached
        self._settled = settled
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[Batch | Removal | None] = SimpleQueue()
        self._epoch, self._broken_epoch = 0, -1
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="moorage-store-writer", daemon=True)
        self._thread.start()

    def send(self, message: Batch | Removal) -> None:
        self._queue.put(message)

    async def close(self) -> None:
        """Write what was sent, close the file, end the thread."""
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
            self._tidy()
        self._file.close()
        self._tell(self._ended.set_result, None)

    def _take(self) -> tuple[list[list[Change]], list[Removal], bool]:
        """All that waits: changes in transactions of bounded size, removals, and whether more may come."""
        transactions: list[list[Change]] = []
        removals: list[Removal] = []
        message = self._queue.get()
        while message is not None:
            if isinstance(message, Removal):
                removals.append(message)
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

    def _tidy(self) -> None:
        with suppress(sqlite3.Error):  # a full disk: commits will say so, and this is tried again after the next one
            self._file.tidy()

    def _tell(self, callback: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: there is no caller left
            self._loop.call_soon_threadsafe(callback, *arguments)


def _row(change: Change) -> Row:
    new = change.new
    if new is not None:
        return new.revision, new.key, new.created, new.value
    return change.revision, change.key, change.old.created if change.old is not None else 0, None


def _pieces(forgotten: Sequence[Forgotten]) -> list[list[Forgotten]]:
    """Split into transactions of at most `MAX_FORGOTTEN` rows."""
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
