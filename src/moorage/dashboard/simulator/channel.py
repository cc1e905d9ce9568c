"""Exchange lines of JSON between the server and a process of the simulator; sockets come along with lines.

`Channel` is the server's end, on its event loop; `Commands` is that of the process. The stream may tear lines apart or
join them, but keeps the order: the sockets that a line brings are the next ones.
"""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from moorage.dashboard.state.progress import Progress
from moorage.telemetry.logs import get_logger

_BYTES = 65_536
#: A process that ended is asked no longer than this why.
_WHY_SECONDS = 1.0
_LOG = get_logger("dashboard")

Message = dict[str, Any]


class ProcessGone(Exception):
    """The process has ended."""


class Channel:
    """The server's end. `ready` is what the process first reports: what it is, or a `problem`."""

    def __init__(self, ours: socket.socket, what: str, gone: Callable[[], None] = lambda: None) -> None:
        self._socket, self._what = ours, what
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[Message] = self._loop.create_future()
        self._ends: dict[int | str, asyncio.Future[str]] = {}
        self._rest = b""
        self.is_closed = False
        #: Hears what the process does before it is ready.
        self.on_progress: Callable[[Progress], None] = lambda progress: None
        ours.setblocking(False)
        self._loop.add_reader(ours.fileno(), self._read)

    def send(self, message: Message, *passed: socket.socket) -> None:
        """Send a command; sockets go along with it, and this end of them is closed. Raises ProcessGone."""
        try:
            if self.is_closed:
                raise ProcessGone(self._what)
            descriptors = [passed_socket.fileno() for passed_socket in passed]
            socket.send_fds(self._socket, [msgspec.json.encode(message) + b"\n"], descriptors)
        except OSError as error:
            raise ProcessGone(f"{self._what}: {error}") from None
        finally:
            for passed_socket in passed:
                passed_socket.close()

    def expect_end(self, number: int | str) -> None:
        """Remember how the child of this number ends."""
        self._ends[number] = self._loop.create_future()

    def forget_end(self, number: int | str) -> None:
        self._ends.pop(number, None)

    async def why_ended(self, number: int | str) -> str:
        """Return why a child ended, of which nothing more is heard; empty if that cannot be told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WHY_SECONDS):
                return await self._ends[number]
        return ""

    def _read(self) -> None:
        try:
            received = self._socket.recv(_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            received = b""
        if not received:
            self.close()
            self._gone()
            return
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            self._hear(msgspec.json.decode(line))

    def _hear(self, message: Message) -> None:
        if "progress" in message:
            self.on_progress(Progress(*message["progress"]))
            return
        if "ended" in message:
            end = self._ends.get(message["ended"])
            if end is not None and not end.done():
                end.set_result(message["why"])
            return
        if trace := message.pop("traceback", ""):
            _LOG.error("The simulator failed", process=self._what, traceback=trace)
        if not self.ready.done():
            self.ready.set_result(message)

    async def wait_closed(self) -> None:
        """Wait until the end of a process that takes no more commands has been heard, but not for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_WHY_SECONDS):
                while not self.is_closed:
                    await asyncio.sleep(0)

    def close(self) -> None:
        """Close this end: the process ends, and so do its children."""
        if self.is_closed:
            return
        self.is_closed = True
        self._loop.remove_reader(self._socket.fileno())
        self._socket.close()
        if not self.ready.done():
            self.ready.set_result({"gone": True})
        for end in self._ends.values():
            if not end.done():
                end.set_result("")


_SOCKETS = 16


class Commands:
    """The processes' end of a channel. Reading blocks unless something is there."""

    def __init__(self, channel: socket.socket) -> None:
        self.socket = channel
        self._rest = b""
        self._descriptors: deque[int] = deque()

    def receive(self) -> list[dict[str, Any]] | None:
        """Return the commands that have come; None if the other end is closed."""
        try:
            received, descriptors, _, _ = socket.recv_fds(self.socket, _BYTES, _SOCKETS)
        except ConnectionError:
            return None
        self._descriptors.extend(descriptors)
        if not received:
            return None
        *lines, self._rest = (self._rest + received).split(b"\n")
        return [msgspec.json.decode(line) for line in lines]

    def take(self) -> socket.socket:
        """Return the next socket that came along. Raises IndexError if there is none."""
        return socket.socket(fileno=self._descriptors.popleft())

    def send(self, message: dict[str, Any]) -> None:
        """Tell the server something. Raises OSError if it is gone."""
        self.socket.sendall(msgspec.json.encode(message) + b"\n")

    def close(self) -> None:
        """Close the channel and whatever came along and was not taken: for a forked process."""
        self.socket.close()
        while self._descriptors:
            os.close(self._descriptors.popleft())
