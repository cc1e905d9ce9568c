"""Go's durations: `1h30m`, `15s`, `1.5s`, read into nanoseconds and written as Go writes them.

Kubernetes: metav1.Duration over time.ParseDuration and Duration.String.
"""

import re

from moorage.model.go.quoting import go_quote
from moorage.model.types.view import INT64_MAX

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, the micro sign
    "μs": 1_000,  # U+03BC, the Greek letter
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_SECOND = _UNITS["s"]
_PART = re.compile(r"([0-9]*)(\.[0-9]*)?([^0-9.]*)")


class DurationError(ValueError):
    """Text that is no duration, in Go's words."""


def parse_duration(text: str) -> int:
    """Nanoseconds. Raises DurationError."""
    rest = text[1:] if text[:1] in ("+", "-") and text else text
    if rest == "0":
        return 0
    total = 0
    if not rest:
        raise DurationError(f"time: invalid duration {go_quote(text)}")
    while rest:
        match = _PART.match(rest)
        whole, fraction, unit = match.groups("") if match else ("", "", "")
        if not whole and fraction in ("", "."):
            raise DurationError(f"time: invalid duration {go_quote(text)}")
        if not unit:
            raise DurationError(f"time: missing unit in duration {go_quote(text)}")
        if unit not in _UNITS:
            raise DurationError(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
        scale, digits = _UNITS[unit], fraction[1:19]
        total += int(whole or "0") * scale
        if digits:
            # Go reads as many digits of the fraction as fit an int64 and multiplies in double precision.
            total += int(float(int(digits)) * (float(scale) / 10.0 ** len(digits)))
        rest = rest[len(whole) + len(fraction) + len(unit) :]
        if total > 2**63:
            raise DurationError(f"time: invalid duration {go_quote(text)}")
    if total > INT64_MAX and not text.startswith("-"):
        raise DurationError(f"time: invalid duration {go_quote(text)}")
    return -total if text.startswith("-") else total


def duration_text(nanoseconds: int) -> str:
    """`72h3m0.5s`; below a second the largest unit that gives a number from 1 on."""
    sign, amount = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if amount == 0:
        return "0s"
    if amount < _SECOND:
        unit = next(name for name in ("ms", "µs", "ns") if amount >= _UNITS[name])
        return f"{sign}{_decimal(amount, _UNITS[unit])}{unit}"
    hours, below = divmod(amount, _UNITS["h"])
    minutes, below = divmod(below, _UNITS["m"])
    parts = f"{hours}h" if hours else ""
    parts += f"{minutes}m" if hours or minutes else ""
    return f"{sign}{parts}{_decimal(below, _SECOND)}s"


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    digits = str(rest).zfill(len(str(unit)) - 1).rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)
