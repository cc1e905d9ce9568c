"""Draws a progress bar on standard error once a run takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

_LONG_AFTER = 1.0
_REDRAW_EVERY = 0.1
_WIDTH = 30


class Progress:
    """Counts ticks; draws nothing during the first second."""

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        noun: str = "files",
    ) -> None:
        self._total = total
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._done = 0
        self._next_at = clock() + _LONG_AFTER
        self._drawn = 0

    def tick(self) -> None:
        self._done += 1
        now = self._clock()
        if now >= self._next_at:
            self._next_at = now + _REDRAW_EVERY
            self._draw()

    def _draw(self) -> None:
        filled = _WIDTH * self._done // max(self._total, 1)
        bar = "#" * min(filled, _WIDTH)
        line = f"[{bar:-<{_WIDTH}}] {self._done:,}/{self._total:,} {self._noun}"
        self._stream.write(f"\r{line:<{self._drawn}}")
        self._stream.flush()
        self._drawn = len(line)

    def clear(self) -> None:
        """Remove the line, if there is one, so that something else can be printed."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0
