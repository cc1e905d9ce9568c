"""A token bucket on the event loop's clock. Kubernetes: client-go's flow control."""

import asyncio


class Pace:
    """A rate limit with a burst."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._per_second, self._burst = per_second, float(burst)
        self._left, self._at = float(burst), 0.0

    async def turn(self) -> None:
        """Wait for a token, first come first served."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        self._left -= 1.0
        if self._left < 0:
            await asyncio.sleep(-self._left / self._per_second)
