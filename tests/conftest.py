"""Runs `async def` tests: in virtual time, or in real time where the test is marked `real_time`.

A fixture may return an async context manager: it is entered in the event loop of the test, and the test is given what
it yields. `@pytest.mark.real_time` is for real sockets, files and processes; `real_time(loop="uvloop")` runs on the
event loop that `moorage up` uses.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import pytest
import uvloop
from tests.virtual_time import VirtualTimeLoop

#: Seconds of real time after which a test hangs: far more than any takes on a busy machine.
PATIENCE = 300.0
_REAL_LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    mark = pyfuncitem.get_closest_marker("real_time")
    new_loop = VirtualTimeLoop if mark is None else _REAL_LOOPS[mark.kwargs.get("loop", "asyncio")]
    patience = None if mark is None else PATIENCE
    wanted = pyfuncitem._fixtureinfo.argnames
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_run(pyfuncitem.obj, pyfuncitem.funcargs, wanted, patience))
    return True


async def _run(
    test: Callable[..., Awaitable[None]], fixtures: dict[str, Any], wanted: tuple[str, ...], patience: float | None
) -> None:
    async with asyncio.timeout(patience), AsyncExitStack() as stack:
        values = {
            name: await stack.enter_async_context(value) if isinstance(value, AbstractAsyncContextManager) else value
            for name, value in fixtures.items()
        }
        await test(**{name: values[name] for name in wanted})
