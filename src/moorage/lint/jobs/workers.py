"""Start processes that check pieces of text, and exchange messages with them without waiting for each other.

A process gets its next batch while it works on one. What is sent and received never blocks: where a socket takes no
more, what came back is read first, so that both ends cannot wait for each other.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
from collections import deque
from typing import TYPE_CHECKING

from moorage.lint.jobs.worker import HEADER, Found, Piece, pack, work
from moorage.lint.reading import WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.model.gates import GateSet

_IN_HAND = 2
_BLOCK = 64 * 1024


class Batch:
    """Some pieces that are sent together, and what was found of each of them."""

    __slots__ = ("found", "is_taken", "pieces")

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.is_taken = False  # sent, or looked at here
        self.found: list[Found] | None = None


class Worker:
    """A process, and the batches that it has in hand."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid, self.connection = pid, connection
        self.in_hand: deque[Batch] = deque()
        self._received = bytearray()
        self._unsent = bytearray()

    @property
    def is_sending(self) -> bool:
        return bool(self._unsent)

    def give(self, batch: Batch) -> None:
        batch.is_taken = True
        self.in_hand.append(batch)
        self._unsent += pack(batch.pieces)
        self.send()

    def send(self) -> None:
        """Send as much as the socket takes."""
        try:
            while self._unsent:
                del self._unsent[: self.connection.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._died()

    def receive(self) -> None:
        """Read what has come, and hand out what is complete."""
        try:
            block = self.connection.recv(_BLOCK)
        except BlockingIOError:
            return
        except OSError:
            block = b""
        if not block:
            self._died()
        self._received += block
        while len(self._received) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            with memoryview(self._received) as whole, whole[HEADER.size : end] as message:
                self.in_hand.popleft().found = pickle.loads(message)
            del self._received[:end]

    def _died(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.pid = 0
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise WorkerDiedError(
            f"one of the processes of --jobs {how} before its work was done, so the report is not complete; "
            "run it again, or with --jobs 1"
        )


class Workers:
    """Some processes that look ahead."""

    def __init__(self, number: int, gates: GateSet, *, strict: bool) -> None:
        """Start them: they have all that was imported so far. Raises OSError, and then none is left."""
        self._workers: list[Worker] = []
        try:
            for _ in range(number):
                self._start(gates, strict=strict)
        except OSError:
            self.stop()
            raise

    def _start(self, gates: GateSet, *, strict: bool) -> None:
        here, there = socket.socketpair()
        with there:
            pid = os.fork()
            if not pid:
                here.close()
                for other in self._workers:  # else they would not see this process end
                    other.connection.close()
                work(there, gates, strict=strict)
        here.setblocking(False)
        self._workers.append(Worker(pid, here))

    def exchange(self, waiting: Iterable[Batch], *, patience: float | None = 0) -> None:
        """Give batches to those with room for them, and take what they have found.

        With `patience=None` it waits until something has come. Raises WorkerDiedError.
        """
        busy = {worker.connection: worker for worker in self._workers if worker.in_hand}
        if busy:
            sending = [connection for connection, worker in busy.items() if worker.is_sending]
            readable, writable, _ = select.select(list(busy), sending, [], patience)
            for connection in writable:
                busy[connection].send()
            for connection in readable:
                busy[connection].receive()
        rest = iter(waiting)
        for worker in sorted(self._workers, key=lambda worker: len(worker.in_hand)):
            while len(worker.in_hand) < _IN_HAND and not worker.is_sending and (batch := next(rest, None)) is not None:
                worker.give(batch)

    def stop(self) -> None:
        """End all processes, whatever they do."""
        for worker in self._workers:
            worker.connection.close()
            if worker.pid:
                os.kill(worker.pid, signal.SIGKILL)
                os.waitpid(worker.pid, 0)
        self._workers = []
