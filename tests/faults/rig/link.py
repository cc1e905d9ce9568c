"""Pass TCP connections on, and disturb them: cut both directions or one, delay, reset, refuse.

A link that is cut passes nothing and closes nothing, as a network does that loses every packet: what was sent waits and
arrives when the link is whole again, unless a side gives up before.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 64 * 1024


class Link:
    """A way to one address, through the process that runs the tests."""

    def __init__(self, name: str, target: tuple[str, int], host: str = "127.0.0.1") -> None:
        self.name, self.target, self.host = name, target, host
        self.port = 0
        self.delay = 0.0
        self._server: asyncio.Server | None = None
        self._there, self._back = asyncio.Event(), asyncio.Event()
        self._refuses = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.mend()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._accept, self.host, port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self.reset()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # What can be done to it.

    def cut(self, *, there: bool = True, back: bool = True) -> None:
        """Pass nothing on to the target, nothing back from it, or neither."""
        if there:
            self._there.clear()
        if back:
            self._back.clear()

    def slow(self, seconds: float) -> None:
        """Delay every piece in each direction."""
        self.delay = seconds

    def refuse(self) -> None:
        """Reset connections, and every new one."""
        self._refuses = True
        self.reset()

    def reset(self) -> None:
        """Reset all connections; new ones are welcome."""
        for writer in list(self._writers):
            _abort(writer)

    def mend(self) -> None:
        """Pass everything on again."""
        self._there.set()
        self._back.set()
        self._refuses, self.delay = False, 0.0

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._writers.add(writer)
        try:
            if self._refuses:
                return
            await self._there.wait()
            await self._back.wait()
            onward_reader, onward = await asyncio.open_connection(*self.target)
            self._writers.add(onward)
            try:
                there = asyncio.create_task(self._pump(reader, onward, lambda: self._there))
                back = asyncio.create_task(self._pump(onward_reader, writer, lambda: self._back))
                try:
                    await asyncio.wait((there, back), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for pump in (there, back):
                        pump.cancel()
                    await asyncio.gather(there, back, return_exceptions=True)
            finally:
                self._writers.discard(onward)
                _abort(onward)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            _abort(writer)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: Callable[[], asyncio.Event]
    ) -> None:
        with suppress(OSError):
            while piece := await reader.read(_CHUNK):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await gate().wait()
                writer.write(piece)
                await writer.drain()


def _abort(writer: asyncio.StreamWriter) -> None:
    """Close at once; the other side gets a reset if something is unread."""
    transport = writer.transport
    if transport is not None:
        transport.abort()
