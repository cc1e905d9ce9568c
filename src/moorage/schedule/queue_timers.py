"""Keep pods of the scheduling queue by the time at which they move on, and say for how long a failed one backs off."""

from heapq import heapify, heappop, heappush
from math import inf

import msgspec

from moorage.schedule.plugins.priority_sort import QueuePosition
from moorage.schedule.waiting_pods import QueuedPod, QueueState

INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 10.0


class Backoff(msgspec.Struct, frozen=True):
    """How long a pod waits after a failure: doubles up to a limit, and is not rounded to seconds as in Kubernetes."""

    initial: float = INITIAL_BACKOFF_SECONDS
    longest: float = MAX_BACKOFF_SECONDS

    def seconds(self, failures: int) -> float:
        if failures <= 0:
            return 0.0
        doublings = min(failures - 1, 63)
        return min(self.longest, self.initial * (1 << doublings))


class Timers:
    """Pods by time; entries of pods that have left the state are skipped."""

    __slots__ = ("_entries", "_place")

    def __init__(self, place: QueueState) -> None:
        self._place = place
        self._entries: list[tuple[float, QueuePosition, QueuedPod]] = []

    def push(self, time: float, position: QueuePosition, pod: QueuedPod) -> None:
        heappush(self._entries, (time, position, pod))

    def __bool__(self) -> bool:
        return bool(self._entries)

    def next_time(self) -> float:
        entries = self._entries
        while entries and not self._is_valid(entries[0]):
            heappop(entries)
        return entries[0][0] if entries else inf

    def pop(self, now: float) -> QueuedPod | None:
        """Return the next pod whose time has come."""
        return heappop(self._entries)[2] if self._entries and self.next_time() <= now else None

    def pop_early(self) -> QueuedPod | None:
        """Return the next pod, whether its time has come or not."""
        return heappop(self._entries)[2] if self.next_time() < inf else None

    def trim(self, pods: int) -> None:
        """Drop stale entries if there are many."""
        if len(self._entries) > 64 + 2 * pods:
            self._entries = [entry for entry in self._entries if self._is_valid(entry)]
            heapify(self._entries)

    def _is_valid(self, entry: tuple[float, QueuePosition, QueuedPod]) -> bool:
        return entry[1][2] == entry[2].number and entry[2].place is self._place
