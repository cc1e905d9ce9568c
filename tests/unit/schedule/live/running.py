"""A live scheduler over a fake API, for as long as a test needs it; time passes when the test says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.unit.schedule.live.fake_api import FakeApi

from moorage.model.gates import default_gates
from moorage.schedule.live.loop import LiveScheduler


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, future))
        await future

    async def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = [future for time, future in self._sleepers if time <= self.now]
        self._sleepers = [(time, future) for time, future in self._sleepers if time > self.now]
        for future in due:
            if not future.done():
                future.set_result(None)
        await settle()


async def settle(turns: int = 40) -> None:
    """Let everybody do what they can do now."""
    for _ in range(turns):
        await asyncio.sleep(0)


@asynccontextmanager
async def running(api: FakeApi, clock: Clock | None = None, **options: Any) -> AsyncIterator[LiveScheduler]:
    clock = clock or Clock()
    gates = options.pop("gates", default_gates())
    live = LiveScheduler(api, api, gates, clock=clock, sleep=clock.sleep, **options)
    task = asyncio.create_task(live.run())
    try:
        await settle()
        yield live
        if task.done():
            task.result()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
