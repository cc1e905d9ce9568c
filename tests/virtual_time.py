"""Virtual time: an event loop whose clock jumps to the next timer when nothing is ready, so that waiting is free.

Tests that are `async def` run in it (see `tests/conftest.py`). `run_virtual(main())` runs a coroutine in one of its
own. `time_of_day` is the clock to pass to components: it starts at `BASE` and moves with the loop. `virtual_cluster`
is an API server in memory with controllers, in such a loop.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from unittest.mock import patch

T = TypeVar("T")

#: 2026-01-01T00:00:00Z
BASE = 1_767_225_600.0


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits and adds up how long it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("every task waits for something that will never happen")
        if not ready and timeout is not None and timeout > 0:
            self.slept += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time` starts at 0 and moves only when no callback is ready."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.slept

    def pause(self, seconds: float) -> None:
        """Let time pass in which nothing runs, as if the process had been stopped."""
        self._jumping.slept += seconds


#: Modules whose tasks let others work after this much real time, which is more often on a busy machine.
_SLICED = (
    "moorage.control.framework.runner",
    "moorage.control.framework.steps",
    "moorage.serve.requests.long_work",
)
NEVER_ENDS = float("inf")


@contextmanager
def _slices_of(seconds: float) -> Iterator[None]:
    """Let tasks work for so long before others do: what happens first at one moment then depends on no real time."""
    with ExitStack() as stack:
        for module in _SLICED:
            stack.enter_context(patch(f"{module}.SLICE_SECONDS", seconds))
        yield


def run_virtual(main: Coroutine[Any, Any, T], slice_seconds: float = NEVER_ENDS) -> T:
    """Run a coroutine as asyncio.run does, with a clock that jumps.

    Tasks work until they wait for something, or with 0.0 let others work wherever they may.
    """
    with _slices_of(slice_seconds), asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def time_of_day() -> float:
    """Seconds since 1970, as of the running loop."""
    return BASE + asyncio.get_running_loop().time()
