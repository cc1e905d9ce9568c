"""Say what is being done before there is a cluster to show or to ask: listing, reading, simulating."""

import time
from collections.abc import Callable
from math import inf

import msgspec

_TELL_EVERY = 0.25  # seconds


class Progress(msgspec.Struct, frozen=True):
    """A phase such as `Listing pods`, how many are done, and of how many; 0 where that is not known."""

    phase: str
    done: int = 0
    total: int = 0

    @property
    def left(self) -> float:
        """How many are left to do; without end where that is not known."""
        return self.total - self.done if self.total else inf

    @property
    def text(self) -> str:
        """The line that people read: `Listing pods: 12,000 of 50,000`."""
        if not self.done:
            return self.phase
        return f"{self.phase}: {self.done:,}" + (f" of {self.total:,}" if self.total else "")


#: Hears of progress; None when all is done.
Report = Callable[[Progress | None], None]


class Teller:
    """Tells now and then how many steps of a phase are done."""

    def __init__(self, tell: Callable[[Progress], None], phase: str) -> None:
        self._tell, self._phase = tell, phase
        self._done, self._next_at = 0, time.monotonic() + _TELL_EVERY
        tell(Progress(phase))

    def tick(self) -> None:
        self._done += 1
        now = time.monotonic()
        if now >= self._next_at:
            self._next_at = now + _TELL_EVERY
            self._tell(Progress(self._phase, self._done))
