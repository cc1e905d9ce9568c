"""Run a component on an event loop until SIGINT, SIGTERM or SIGHUP, then stop it; a second signal does not wait.

A process that was started with SIGHUP ignored, as by nohup, goes on when its terminal is gone.
"""

import asyncio
import gc
import os
import signal
import ssl
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeVar

from moorage.telemetry.watchdog import Watchdog

#: New objects before the youngest generation is looked at, and how many such looks before the older ones are. A look
#: takes 0.3 to 0.6 µs for each object that it meets, some 60,000 of the middle generation.
_GARBAGE_THRESHOLDS = (20_000, 2, 2_000)
_ENDED_BY_SIGNAL = 128


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


class SignalEnding(NamedTuple):
    """The signal that ended a component, and whether it had started by then."""

    number: int
    had_started: bool


def run_until_signal(make: Callable[[], C], started: Callable[[C], None] = lambda component: None) -> SignalEnding:
    """Run on uvloop, where there is one. Raises what `start` raises, and what the component failed with."""
    run: Callable[[Coroutine[Any, Any, SignalEnding]], SignalEnding] = asyncio.run
    if find_spec("uvloop") is not None:
        import uvloop

        run = uvloop.run
    return run(_run(make, started))


def collect_less() -> None:
    """Freeze the objects of the start, and look for cycles less often: few objects are part of one."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GARBAGE_THRESHOLDS)
    gc.enable()


def _pass_over_abandoned_handshakes(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what no task was told of, but for TLS handshakes that were given up: uvloop reports each as a traceback."""
    if "task" in context or not isinstance(context.get("exception"), ssl.SSLError):
        loop.default_exception_handler(context)


async def _run(make: Callable[[], C], started: Callable[[C], None]) -> SignalEnding:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_pass_over_abandoned_handshakes)
    ended: asyncio.Future[Any] = loop.create_future()  # with the signal's number
    with _signals_go_to(loop, ended):
        component = make()
        watchdog: Watchdog | None = None
        try:
            starting = asyncio.create_task(component.start())
            await asyncio.wait([starting, ended], return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                starting.cancel()
                await asyncio.gather(starting, return_exceptions=True)
                return SignalEnding(ended.result(), had_started=False)
            starting.result()
            collect_less()
            watchdog = component.watchdog
            watchdog.start()
            started(component)
            failing = asyncio.create_task(component.failure())
            await asyncio.wait([failing, ended], return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                raise failing.result()
            failing.cancel()
            return SignalEnding(ended.result(), had_started=True)
        finally:
            await component.stop()
            if watchdog is not None:
                watchdog.stop()


@contextmanager
def _signals_go_to(loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[Any]") -> Iterator[None]:
    """Set the future to the first signal that ends a process; at the second, end the process wherever it is.

    Not by `add_signal_handler`, which waits until the loop is free: reading large manifests may keep it busy.
    """
    seen: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if seen and number == signal.SIGHUP:
            return  # a terminal that is closed sends one, and its shell another
        seen.append(number)
        if len(seen) > 1:
            os._exit(_ENDED_BY_SIGNAL + number)
        loop.call_soon_threadsafe(ended.set_result, number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
