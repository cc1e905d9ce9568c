"""Print what a command that goes on is doing: one line that changes on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from moorage.dashboard.state.progress import Progress

#: What takes no longer than this is not worth a word.
_QUIET_SECONDS = 1.0
_REDRAW_SECONDS = 0.2
_LINE_SECONDS = 10.0


class ProgressLines:
    """Progress on standard error. Nothing is printed during the first second of a phase that follows silence."""

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._is_terminal = self._stream.isatty()
        self._next_at: float | None = None
        self._phase = ""
        self._drawn = 0

    def show(self, progress: Progress | None) -> None:
        """Print the progress, where it is time to; None ends it."""
        if progress is None:
            self.clear()
            self._next_at, self._phase = None, ""
            return
        now = self._clock()
        if self._next_at is None:
            self._next_at = now + _QUIET_SECONDS
        is_new = progress.phase != self._phase and self._phase != ""
        if now < self._next_at and not is_new:
            return
        self._phase = progress.phase
        self._next_at = now + (_REDRAW_SECONDS if self._is_terminal else _LINE_SECONDS)
        line = f"{progress.text} …"
        if self._is_terminal:
            self._stream.write(f"\r{line:<{self._drawn}}")
            self._drawn = len(line)
        else:
            self._stream.write(f"{line}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line, so that something else can be printed."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0
