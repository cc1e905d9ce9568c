"""Run calls to the API server in the background, a limited number at a time."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from moorage.telemetry.logs import get_logger

BackgroundCall = Callable[[], Awaitable[None]]
_LOG = get_logger("client")


class BackgroundCalls:
    """A queue of calls and the tasks that run them, at most `at_once`."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._waiting: deque[BackgroundCall] = deque()
        self._runners: set[asyncio.Task[None]] = set()

    def send(self, call: BackgroundCall) -> None:
        self._waiting.append(call)
        if len(self._runners) < self._at_once:
            runner = asyncio.get_running_loop().create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)

    async def _run(self) -> None:
        waiting = self._waiting
        while waiting:
            call = waiting.popleft()
            try:
                await call()
            except Exception:
                _LOG.exception("A background call failed")  # a bug: the other calls go on

    def __len__(self) -> int:
        return len(self._waiting) + len(self._runners)

    async def close(self) -> None:
        """Drop the waiting calls and cancel the running ones."""
        self._waiting.clear()
        runners = list(self._runners)
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
