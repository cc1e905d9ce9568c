"""Run a live view until q, Ctrl-C, SIGTERM or SIGHUP: a screen on a terminal, lines of a log elsewhere."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from moorage.client.kubeconfig.access import Access
from moorage.watch.session import CannotWatch, Session
from moorage.watch.state import Watched
from moorage.watch.terminal import Terminal
from moorage.watch.view import WatchText

_TICK = 1.0  # the clock in the title
_REST = 3.0  # times as long as a frame takes: large clusters must not keep a core busy
_FIRST_SECONDS = 30.0
_LOG_WIDTH = 100_000
_BY_SIGNAL = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

Print = Callable[[str], None]


class Watching:
    """One run. `rate` is how often a second the screen, or the log, is written at most."""

    def __init__(self, load: Callable[[], Access], *, namespace: str, rate: float, colour: bool) -> None:
        self.watched = Watched()
        self._changed = asyncio.Event()
        self._session = Session(load, self.watched, self._changed.set, namespace=namespace)
        self._server = self._session.access.server
        self._every, self._colour = 1.0 / rate, colour
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._offset = 0

    async def show(self, terminal: Terminal) -> int:
        """Draw on a terminal until the end; return the exit code. The terminal is put back whatever happens."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._changed.set)
        loop.add_signal_handler(signal.SIGTSTP, self._suspend, terminal)
        async with self._watching() as watching:
            try:
                terminal.enter()
                if terminal.keyboard is not None:
                    loop.add_reader(terminal.keyboard, self._on_keys, terminal)
                return await self._until_the_end(watching, self._draw_again(terminal))
            finally:
                if terminal.keyboard is not None:
                    loop.remove_reader(terminal.keyboard)
                terminal.leave()

    async def log(self, write: Print) -> int:
        """Print the state, then what happens, until the end; return the exit code."""
        async with self._watching() as watching:
            self._snapshot(write)
            return await self._until_the_end(watching, self._tell_again(write))

    async def once(self, write: Print) -> int:
        """Print the state once."""
        async with self._watching():
            if not self._ended.done():
                self._snapshot(write)
            return self._ended.result() if self._ended.done() else 0

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[asyncio.Task[None]]:
        """Watch in a task, from when pods and nodes are listed or the end has come. Raises CannotWatch."""
        watching = asyncio.create_task(self._session.run())
        self._end_by_signals()
        try:
            await self._first(watching)
            yield watching
        finally:
            await _cancelled(watching)

    def _snapshot(self, write: Print) -> None:
        for line in WatchText(self._server, colour=self._colour, width=100).snapshot(self.watched, time.time()):
            write(line)

    async def _first(self, watching: asyncio.Task[None]) -> None:
        """Wait until pods and nodes are listed, or the end. Raises CannotWatch."""
        try:
            async with asyncio.timeout(_FIRST_SECONDS):
                while not self.watched.is_complete and not self._ended.done():
                    waiting = asyncio.create_task(self._changed.wait())
                    await asyncio.wait(_futures(watching, waiting, self._ended), return_when=asyncio.FIRST_COMPLETED)
                    waiting.cancel()
                    self._changed.clear()
                    if watching.done():
                        watching.result()
        except TimeoutError:
            raise CannotWatch(f"{self._server}: pods were not listed within {_FIRST_SECONDS:.0f} s") from None

    async def _until_the_end(self, watching: asyncio.Task[None], writing: "asyncio.Future[None]") -> int:
        try:
            await asyncio.wait(_futures(watching, writing, self._ended), return_when=asyncio.FIRST_COMPLETED)
            for task in (writing, watching):
                if task.done():
                    task.result()
            return self._ended.result() if self._ended.done() else 0
        finally:
            await _cancelled(writing)

    def _end_by_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number, code in _BY_SIGNAL.items():
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # ignored: by nohup
                loop.add_signal_handler(number, self._end, code)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    # -- a screen -----------------------------------------------------------------------------------------------------

    def _draw_again(self, terminal: Terminal) -> "asyncio.Task[None]":
        async def draw() -> None:
            while True:
                self._changed.clear()
                began = time.monotonic()
                self._draw(terminal)
                await asyncio.sleep(max(self._every, _REST * (time.monotonic() - began)))
                await self._change_or_tick()

        return asyncio.create_task(draw())

    async def _change_or_tick(self) -> None:
        try:
            async with asyncio.timeout(_TICK):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _draw(self, terminal: Terminal) -> None:
        width, height = terminal.size
        view = WatchText(self._server, colour=self._colour, width=width)
        now = time.time()
        body = view.body(self.watched, height, now)
        room = max(height - 2, 1)
        self._offset = max(0, min(self._offset, len(body) - room))
        shown = body[self._offset : self._offset + room]
        shown += [""] * (room - len(shown))
        below = len(body) - self._offset - room
        terminal.draw([view.title(self.watched, now), *shown, view.footer(self.watched, self._offset, below)])

    def _on_keys(self, terminal: Terminal) -> None:
        page = max(terminal.size[1] - 4, 1)
        steps = {"up": -1, "down": 1, "page up": -page, "page down": page, "top": -self._offset}
        try:
            pressed = terminal.keys()
        except OSError:
            pressed = ["quit"]  # the terminal is gone
        for key in pressed:
            if key == "quit":
                self._end(0)
            else:
                self._offset = max(0, self._offset + steps[key])
                self._changed.set()

    def _suspend(self, terminal: Terminal) -> None:
        """Ctrl-Z: give the terminal back, stop, and draw again when it goes on."""
        terminal.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        terminal.enter()
        self._changed.set()

    # -- a log --------------------------------------------------------------------------------------------------------

    def _tell_again(self, write: Print) -> "asyncio.Task[None]":
        view = WatchText(self._server, colour=self._colour, width=_LOG_WIDTH)

        async def tell() -> None:
            told = self.watched.total
            while True:
                await self._changed.wait()
                self._changed.clear()
                new = self.watched.total - told
                told = self.watched.total
                if new > len(self.watched.happenings):
                    write(f"({new - len(self.watched.happenings):,} changes were too many to print)")
                for line in view.log(list(self.watched.happenings)[-new:] if new else []):
                    write(line)
                await asyncio.sleep(self._every)

        return asyncio.create_task(tell())


def _futures(*futures: "asyncio.Future[Any]") -> "list[asyncio.Future[Any]]":
    return list(futures)


async def _cancelled(task: "asyncio.Future[None]") -> None:
    """Cancel a task and wait for its end; what it raised was raised already."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.exception()
