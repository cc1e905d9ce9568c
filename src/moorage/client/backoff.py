"""Exponential backoff with jitter. Kubernetes: wait.Backoff as client-go's reflector sets it up."""

from collections.abc import Callable


class Backoff:
    """Delays that double from `first` to `most`, each lengthened at random by up to its own length."""

    def __init__(
        self,
        first: float,
        most: float,
        *,
        now: Callable[[], float],
        random: Callable[[], float],
        reset_after: float = 120.0,
    ) -> None:
        """`now` is a monotonic clock; `random` returns 0 to 1; `reset_after` seconds without failure, start anew."""
        self._first, self._most, self._reset_after = first, most, reset_after
        self._now, self._random = now, random
        self._next = first
        self._last_failure = float("-inf")

    def delay(self) -> float:
        """Return the seconds to wait after a failure now."""
        now = self._now()
        if now - self._last_failure > self._reset_after:
            self._next = self._first
        delay = self._next
        self._next = min(self._next * 2, self._most)
        waited = delay * (1 + self._random())
        self._last_failure = now + waited
        return waited

    def reset(self) -> None:
        self._next = self._first
