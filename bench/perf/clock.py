"""Time as a workload sees it: it passes while work is done, and waiting is skipped.

Churn every 200 ms comes as often between pods as it would in a cluster; but where nothing is left to do until the next
tick, or until a pod's backoff is over, the clock jumps there.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock:
    """The time, and what is to happen at which times. `timer` tells how much time work has taken."""

    def __init__(self, timer: Callable[[], float] = perf_counter) -> None:
        self._timer = timer
        self._skipped = 0.0
        self._number = 0
        self._tickers: list[tuple[float, int, float, Callable[[float], bool]]] = []
        self.next_tick = inf

    def now(self) -> float:
        return self._timer() + self._skipped

    def skip_to(self, when: float) -> None:
        self._skipped += max(0.0, when - self.now())

    def every(self, interval: float, tick: Callable[[float], bool]) -> None:
        """Call `tick` after each interval for as long as it returns True."""
        self._push(self.now() + interval, interval, tick)

    def fire(self) -> None:
        """Do what is due."""
        while self.next_tick <= (now := self.now()):
            due, _, interval, tick = heappop(self._tickers)
            self._note_next()
            if tick(now):
                self._push(max(due + interval, now), interval, tick)

    def _push(self, due: float, interval: float, tick: Callable[[float], bool]) -> None:
        self._number += 1
        heappush(self._tickers, (due, self._number, interval, tick))
        self._note_next()

    def _note_next(self) -> None:
        self.next_tick = self._tickers[0][0] if self._tickers else inf
