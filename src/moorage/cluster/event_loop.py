"""Runs a component on an event loop until SIGINT or SIGTERM, then stops it; a second signal does not wait."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterable
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from moorage.telemetry.watchdog import Watchdog

#: New objects before the youngest generation is looked at, and how many such looks before the older ones are.
_GARBAGE_THRESHOLDS = (50_000, 20, 100)


class Stoppable(Protocol):
    """What runs until a signal; `failure` returns when it cannot go on."""

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    async def failure(self) -> BaseException: ...

    @property
    def watchdog(self) -> Watchdog: ...


C = TypeVar("C", bound=Stoppable)


async def first_failure(tasks: Iterable[asyncio.Task[None]]) -> BaseException:
    """Wait until one of the tasks has ended, which none should."""
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    error = next(iter(done)).exception()
    return error if error is not None else RuntimeError("a component ended by itself")


def run_until_signal(make: Callable[[], C], started: Callable[[C], None] = lambda component: None) -> None:
    """Run on uvloop, where there is one. Raises what `start` raises, and what the component failed with."""
    run: Callable[[Coroutine[Any, Any, None]], None] = asyncio.run
    if find_spec("uvloop") is not None:
        import uvloop

        run = uvloop.run
    run(_run(make, started))


def _collect_less() -> None:
    """Freeze the objects of the start, and look for cycles less often: few objects are part of one."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    gc.enable()


async def _run(make: Callable[[], C], started: Callable[[C], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    at_interrupt = signal.getsignal(signal.SIGINT)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    component = make()
    watchdog: Watchdog | None = None
    try:
        starting = asyncio.create_task(component.start())
        waiting = asyncio.create_task(stop.wait())
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
            return
        starting.result()
        _collect_less()
        watchdog = component.watchdog
        watchdog.start()
        started(component)
        failing = asyncio.create_task(component.failure())
        await asyncio.wait({failing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if failing.done():
            raise failing.result()
        failing.cancel()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        signal.signal(signal.SIGINT, at_interrupt)  # asyncio would leave Python's own, and with it tracebacks
        await component.stop()
        if watchdog is not None:
            watchdog.stop()
