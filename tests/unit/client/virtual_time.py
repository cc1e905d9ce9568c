"""An event loop in which waiting takes no time: its clock jumps to whatever is due next."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Never waits; tells how long it was asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.slept = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("everybody waits for something that will never happen")
        if not ready and timeout is not None and timeout > 0:
            self.slept += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """`time` starts at 0 and goes on only when nothing else is to be done."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.slept


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    """As asyncio.run, with a clock that jumps."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)
