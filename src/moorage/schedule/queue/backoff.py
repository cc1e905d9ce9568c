"""Backoff of pods that could not be scheduled.

Kubernetes: backoff_queue.go. Differs: times are exact and not rounded to whole seconds.
"""

import msgspec

INITIAL_SECONDS = 1.0
MAX_SECONDS_LENGTH = 10.0


class Backoff(msgspec.Struct, frozen=True):
    """Doubles with every failure up to a limit."""

    initial: float = INITIAL_SECONDS
    longest: float = MAX_SECONDS_LENGTH

    def seconds(self, failures: int) -> float:
        if failures <= 0:
            return 0.0
        doublings = min(failures - 1, 63)
        return min(self.longest, self.initial * (1 << doublings))
