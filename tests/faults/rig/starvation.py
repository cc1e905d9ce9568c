"""Count seconds as a cluster's processes have them: on a machine with much else to do, they wait for a processor.

Linux counts for every thread how long it ran and how long it was ready to run but had to wait. `slowness` is how many
times longer things take by that. A promise of seconds, and the patience of the suite, are measured on a clock that runs
as much slower: a cluster that is starved is waited for, and one that hangs, which waits for no processor, is not.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

#: Below this, several processes that share a few processors are only what they are on a quiet machine.
NOTICEABLE = 2.0
#: How often threads are looked at.
LOOK_SECONDS = 0.25
#: The clock never runs slower than this.
MOST = 25.0


class Work(NamedTuple):
    """Seconds that threads have run, and that they have waited for a processor."""

    ran: float
    waited: float


class Threads:
    """All threads of some processes, as the kernel counts them."""

    def __init__(self, pids: Callable[[], Iterable[int]]) -> None:
        self._pids = pids
        self._last: dict[str, Work] = {}
        self._total = Work(0.0, 0.0)

    def work(self) -> Work:
        """Return what they have done since the first call, threads that have ended included."""
        seen: dict[str, Work] = {}
        ran, waited = self._total
        for pid in self._pids():
            with suppress(OSError):
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    with suppress(OSError, ValueError, IndexError):
                        numbers = (thread / "schedstat").read_text().split()
                        now = seen[thread.name] = Work(int(numbers[0]) / 1e9, int(numbers[1]) / 1e9)
                        before = self._last.get(thread.name, now)
                        ran += max(0.0, now.ran - before.ran)
                        waited += max(0.0, now.waited - before.waited)
        self._last, self._total = seen, Work(ran, waited)
        return self._total


def slowness(ran: float, waited: float) -> float:
    """Return how many times longer something takes; 1 on a machine with nothing else to do."""
    if ran <= 0.0:
        return 1.0 if waited <= 0.0 else MOST
    factor = 1.0 + waited / ran
    return 1.0 if factor < NOTICEABLE else min(factor, MOST)


class PatientClock:
    """Seconds since it was made: `wall` on the machine's clock, `spent` as the processes have them."""

    def __init__(self, work: Callable[[], Work], clock: Callable[[], float] = time.monotonic) -> None:
        self._work, self._clock = work, clock
        self._began = self._looked = clock()
        self._seen = work()
        self.spent = 0.0

    def tick(self) -> float:
        """Return the seconds that are spent by now. Call it again and again."""
        now = self._clock()
        if now - self._looked >= LOOK_SECONDS:
            seen = self._work()
            factor = slowness(seen.ran - self._seen.ran, seen.waited - self._seen.waited)
            self.spent += (now - self._looked) / factor
            self._looked, self._seen = now, seen
        return self.spent

    @property
    def wall(self) -> float:
        return self._clock() - self._began

    @property
    def slowness(self) -> float:
        """How many times slower it has run than the machine's clock."""
        return max(1.0, self.wall / self.spent) if self.spent else 1.0
