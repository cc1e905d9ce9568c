"""A live scheduler over a fake API, for as long as a test needs it; waiting takes no time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.unit.schedule.live.fake_api import FakeApi
from tests.virtual_time import run_virtual

from moorage.model.gates import default_gates
from moorage.schedule.live.loop import LiveScheduler

__all__ = ["run_virtual", "running", "settle"]


async def settle(seconds: float = 0.001) -> None:
    """Let everybody do what they can do within this time."""
    await asyncio.sleep(seconds)


@asynccontextmanager
async def running(api: FakeApi, **options: Any) -> AsyncIterator[LiveScheduler]:
    gates = options.pop("gates", default_gates())
    twin = options.pop("binder", None)
    live = LiveScheduler(api, api, gates, clock=asyncio.get_running_loop().time, **options)
    if twin is not None:
        live.binder.__class__ = twin
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
