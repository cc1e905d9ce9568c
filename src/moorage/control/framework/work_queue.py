"""Work queue of keys: deduplicated, rate limited after failures, never handed out twice at a time.

A state machine that does no waiting itself: callers pass the time. Kubernetes: client-go's rate-limiting workqueue.
Differs: delays have jitter, so that keys that failed together are not retried together.
"""

import heapq
from collections import deque
from collections.abc import Callable, Mapping
from itertools import count

from moorage.telemetry.metrics import Metrics, exponential_buckets

FIRST_DELAY, MAX_DELAY = 0.005, 1000.0
_JITTER = 0.5


class WorkQueue:
    """The queue; `adds` and `retries` are counters for metrics."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
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
        """Return how many keys are ready."""
        return len(self._ready)

    def add(self, key: str, now: float) -> None:
        if key in self._dirty:
            return
        self.adds += 1
        self._dirty.add(key)
        self._added_at[key] = now
        if key not in self._working:
            self._ready.append(key)

    def add_after(self, key: str, seconds: float, now: float) -> None:
        """Add a key after a delay; the earliest of several counts."""
        if seconds <= 0:
            self.add(key, now)
            return
        due = now + seconds
        if due < self._due_at.get(key, float("inf")):
            self._due_at[key] = due
            heapq.heappush(self._later, (due, next(self._numbers), key))

    def add_failed(self, key: str, now: float, max_delay: float | None = None) -> float:
        """Add a key after a delay that grows with each failure, and return the delay.

        `max_delay` caps this delay, and keeps a failure that is not the key's fault from growing later ones beyond it.
        """
        failures = self._failures.get(key, 0) + 1
        self.retries += 1
        delay = min(MAX_DELAY, FIRST_DELAY * 2.0 ** min(failures - 1, 60))
        if max_delay is None or delay <= max_delay:
            self._failures[key] = failures
        else:
            delay = max_delay
        delay *= 1 + _JITTER * self._random()
        self.add_after(key, delay, now)
        return delay

    def forget(self, key: str) -> None:
        self._failures.pop(key, None)

    def pop(self, now: float) -> str | None:
        """Return the next key that is due; the caller must call `done` with it."""
        self.take_due(now)
        if not self._ready:
            return None
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._working[key] = now
        return key

    def waited(self, key: str, now: float) -> float:
        return now - self._added_at.pop(key, now)

    def done(self, key: str) -> None:
        self._working.pop(key, None)
        if key in self._dirty:
            self._ready.append(key)

    def longest_running(self, now: float) -> float:
        return max((now - began for began in self._working.values()), default=0.0)

    def next_due(self) -> float | None:
        return self._later[0][0] if self._later else None

    def take_due(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due_at.get(key) == due:
                del self._due_at[key]
                self.add(key, now)


#: Kubernetes' bounds, and some between them for a more exact p99.
_BUCKETS = (*exponential_buckets(10e-9, 10, 12), 0.0025, 0.005, 0.025, 0.05, 0.25, 0.5, 2.5, 5.0, 25.0, 50.0)
_NAME = ("name",)


class ControllerMetrics:
    """Metrics of all controllers, by the controller's name."""

    def __init__(self, metrics: Metrics, clock: Callable[[], float]) -> None:
        self.queues: dict[str, WorkQueue] = {}
        text = "How long in seconds an item stays in workqueue before being requested"
        self.waited = metrics.histogram("workqueue_queue_duration_seconds", text, _NAME, _BUCKETS)
        text = "How long in seconds processing an item from workqueue takes."
        self.worked = metrics.histogram("workqueue_work_duration_seconds", text, _NAME, _BUCKETS)
        self.refused = metrics.counter(
            "moorage_controller_refused_requests_total",
            "Requests of a controller that the API server refused, such as pods of a template that is not valid.",
            _NAME,
        )
        gauge, counter = metrics.gauge_function, metrics.counter_function
        gauge("workqueue_depth", "Current depth of workqueue", self._reading(lambda queue: float(len(queue))), _NAME)
        text = "How many seconds has the longest running processor for workqueue been running."
        longest = self._reading(lambda queue: queue.longest_running(clock()))
        gauge("workqueue_longest_running_processor_seconds", text, longest, _NAME)
        for what in ("adds", "retries"):
            count = self._reading(lambda queue, what=what: float(getattr(queue, what)))
            counter(f"workqueue_{what}_total", f"Total number of {what} handled by workqueue", count, _NAME)

    def _reading(self, read: Callable[..., float]) -> Callable[[], Mapping[tuple[str, ...], float]]:
        return lambda: {(name,): read(queue) for name, queue in self.queues.items()}
