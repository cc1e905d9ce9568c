"""A token bucket, for rate limits with a burst. Kubernetes: client-go's util/flowcontrol."""


class TokenBucket:
    """Holds up to `burst` tokens, of which `rate` come per second. Callers pass the time in seconds."""

    def __init__(self, rate: float, burst: float = 1.0, *, since: float = 0.0, full: bool = True) -> None:
        self.rate, self._burst, self._since = rate, burst, since
        self._tokens = burst if full and rate > 0 else 0.0

    def take(self, now: float) -> bool:
        self._fill(now)
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def reserve(self, now: float) -> float:
        """Take a token that may yet have to come; return the seconds until it does."""
        self._fill(now)
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self.rate)

    def wait(self, now: float) -> float | None:
        """Return the seconds until there is a token; None for never."""
        if self.rate <= 0:
            return None
        self._fill(now)
        return max(0.0, (1.0 - self._tokens) / self.rate)

    def _fill(self, now: float) -> None:
        # A rate of 0.1 would otherwise leave 0.9999... after ten seconds.
        self._tokens = min(self._burst, round(self._tokens + max(0.0, now - self._since) * self.rate, 9))
        self._since = now
