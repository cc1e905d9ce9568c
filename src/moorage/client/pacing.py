"""Limit calls to an API server: a token bucket for their rate, and background calls with a bound on how many run.

Kubernetes: client-go's util/flowcontrol.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from moorage.telemetry.logs import get_logger


class TokenBucket:
    """Holds up to `burst` tokens, of which `rate` come per second. Callers pass the time in seconds."""

    def __init__(self, rate: float, burst: float = 1.0, *, since: float = 0.0, full: bool = True) -> None:
        self.rate, self._burst, self._since = rate, burst, since
        self._tokens = burst if full and rate > 0 else 0.0

    def take(self, now: float) -> bool:
        self._fill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def reserve(self, now: float) -> float:
        """Take a token that may yet have to come; return the seconds until it does."""
        self._fill(now)
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self.rate)

    def wait(self, now: float) -> float | None:
        """Return the seconds until there is a token; None for never."""
        if self.rate <= 0:
            return None
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self.rate)

    def _fill(self, now: float) -> None:
        # A rate of 0.1 would otherwise leave 0.9999... after ten seconds.
        self._tokens = min(self._burst, round(self._tokens + max(0.0, now - self._since) * self.rate, 9))
        self._since = now


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
            runner.add_done_callback(self._runners.discard)  # also of one that is cancelled before it begins

    async def _run(self) -> None:
        waiting = self._waiting
        while waiting:
            call = waiting.popleft()
            try:
                await call()
            except Exception:
                _LOG.exception("A background call failed")  # a bug: the other calls go on
        # At once, and not when the loop comes to it: what is sent until then would be left to a runner that has ended.
        if (runner := asyncio.current_task()) is not None:
            self._runners.discard(runner)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._runners)

    async def close(self) -> None:
        """Drop the waiting calls and cancel the running ones."""
        self._waiting.clear()
        runners = list(self._runners)
        for runner in runners:
            runner.cancel()
        await asyncio.gather(*runners, return_exceptions=True)
