"""Run something once for all callers that ask while it has not begun.

A caller that comes while a run is under way waits for the next one: what it asks for may have happened after that run
looked. So a thousand readers cost two runs.
"""

import asyncio
from collections.abc import Awaitable, Callable


class SharedRun:
    """An operation whose runs are shared, one at a time."""

    def __init__(self, operation: Callable[[], Awaitable[None]]) -> None:
        self._operation = operation
        self._under_way: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        """Return when a run that began after this call has ended; raises what it raises."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._run(self._under_way))
        await asyncio.shield(self._next)

    async def _run(self, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait((before,))
        self._under_way, self._next = self._next, None
        await self._operation()

    async def close(self) -> None:
        """Cancel what is under way."""
        running = [task for task in (self._under_way, self._next) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
