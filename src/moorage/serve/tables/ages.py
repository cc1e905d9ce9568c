"""Render durations and ages briefly: `42s`, `5m30s`, `3d4h`.

Kubernetes: apimachinery's util/duration.
"""

from datetime import UTC, datetime
from typing import Any

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


def human_duration(seconds: float) -> str:
    """At most two units, and fewer digits the longer it is. A clock may be two seconds off."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two_units(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two_units(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two_units(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two_units(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two_units(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    head = f"{seconds // large}{large_name}"
    return f"{head}{rest}{small_name}" if rest else head


def moment(text: Any) -> float | None:
    """A timestamp in seconds since the epoch; None if it is absent or unreadable."""
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
        # A time without a zone is none of the API's; to guess the machine's zone would be worse than UTC.
        return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


class Ages:
    """Ages as of one moment. Objects made together share their timestamp, so each is read once."""

    __slots__ = ("_known", "now")

    def __init__(self, now: float) -> None:
        self.now = now
        self._known: dict[str, str] = {}

    def since(self, timestamp: Any) -> str:
        """The age of a timestamp, or `<unknown>`."""
        if not isinstance(timestamp, str):
            return UNKNOWN
        age = self._known.get(timestamp)
        if age is None:
            at = moment(timestamp)
            age = self._known[timestamp] = UNKNOWN if at is None else human_duration(self.now - at)
        return age
