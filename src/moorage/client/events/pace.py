"""Not more than so many a second, but some at once: a token bucket.

In: a rate and a burst. Out: turns, for which one may have to wait. Time is the event loop's. Kubernetes: client-go's
flow control.
"""

import asyncio


class Pace:
    """Everybody who wants to go waits for a `turn`."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second, self._burst = per_second, float(burst)
        self._left, self._at = float(burst), 0.0

    async def turn(self) -> None:
        """Returns when one may go; those who wait go in the order in which they came."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)
