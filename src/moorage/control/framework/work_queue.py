"""Keys that wait to be worked on, each once however often it is added, and later after each failure.

In: keys, with the time. Out: the next key that is due, which nobody else gets until it is done; what is added
meanwhile waits. A state machine: it never sleeps, and `next_time` says how long one might. Kubernetes: client-go's
rate-limiting workqueue with its metrics. Differs: delays have jitter, so that what failed together is not tried
together.
"""

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

FIRST_DELAY, MAX_DELAY = 0.005, 1000.0
_JITTER = 0.5


class WorkQueue:
    """See the module. Everything counted is plain, for metrics to read."""

    def __init__(
        self, random: Callable[[], float], first_delay: float = FIRST_DELAY, most_delay: float = MAX_DELAY
    ) -> None:
        self._random, self._first_delay, self._most_delay = random, first_delay, most_delay
        self._ready: deque[str] = deque()
        self._added_at: dict[str, float] = {}
        self._working: dict[str, float] = {}
        self._dirty: set[str] = set()
        self._later: list[tuple[float, int, str]] = []
        self._due_at: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._numbers = count()
        self.adds = 0
        self.retries = 0

    def __len__(self) -> int:
        """How many are ready to be worked on."""
        return len(self._ready)

    def add(self, key: str, now: float) -> None:
        """As soon as possible."""
        if key in self._dirty:
            return
        self.adds += 1
        self._dirty.add(key)
        self._added_at[key] = now
        if key not in self._working:
            self._ready.append(key)

    def add_after(self, key: str, seconds: float, now: float) -> None:
        """When the time has come; the earliest of several counts."""
        if seconds <= 0:
            self.add(key, now)
            return
        due = now + seconds
        if due < self._due_at.get(key, float("inf")):
            self._due_at[key] = due
            heapq.heappush(self._later, (due, next(self._numbers), key))

    def add_failed(self, key: str, now: float, most_delay: float | None = None) -> float:
        """Again, later each time. Returns the delay.

        With a `most_delay` of its own such a failure, of which the key is innocent, does not make later ones wait for
        longer than that either.
        """
        failures = self._failures.get(key, 0) + 1
        self.retries += 1
        delay = min(self._most_delay, self._first_delay * 2.0 ** min(failures - 1, 60))
        if most_delay is None or delay <= most_delay:
            self._failures[key] = failures
        else:
            delay = most_delay
        delay *= 1 + _JITTER * self._random()
        self.add_after(key, delay, now)
        return delay

    def forget(self, key: str) -> None:
        """It went well: the next failure is the first again."""
        self._failures.pop(key, None)

    def failures(self, key: str) -> int:
        return self._failures.get(key, 0)

    def pop(self, now: float) -> str | None:
        """The next key that is due; `done` must be called with it."""
        self.take_due(now)
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._working[key] = now
        return key

    def waited(self, key: str, now: float) -> float:
        """How long a key that was just popped has waited."""
        return now - self._added_at.pop(key, now)

    def done(self, key: str) -> None:
        self._working.pop(key, None)
        if key in self._dirty:
            self._ready.append(key)

    def next_time(self) -> float:
        """When there is something to do; minus infinity for now, infinity for never."""
        if self._ready:
            return float("-inf")
        return self._later[0][0] if self._later else float("inf")

    def longest_running(self, now: float) -> float:
        """For how long the oldest key that is worked on has been."""
        return max((now - began for began in self._working.values()), default=0.0)

    def next_due(self) -> float | None:
        """When the next of those that wait for a time is due."""
        return self._later[0][0] if self._later else None

    def take_due(self, now: float) -> None:
        """What has waited for its time is ready."""
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due_at.get(key) == due:
                del self._due_at[key]
                self.add(key, now)
