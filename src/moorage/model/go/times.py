"""Read and write times (RFC 3339) and durations (`1h30m`) as Go does, with Go's complaints about malformed ones.

`TIME_PATTERN` matches exactly the texts that are times, so that views can be checked without calling this;
`MICRO_TIME_PATTERN` those with six digits after the point, which some fields demand. Kubernetes: metav1.Time, which
asks time.Parse(time.RFC3339), metav1.MicroTime and metav1.Duration. As there, an hour may have one digit and seconds
any fraction.
"""

import re
import time
from calendar import monthrange
from datetime import UTC, datetime
from functools import lru_cache

from moorage.model.go.integers import INT64_MAX
from moorage.model.go.quoting import go_quote

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_LEAP_YEAR = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_MONTH_AND_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = f"(?:{_LEAP_YEAR}-02-29|[0-9]{{4}}-{_MONTH_AND_DAY})"
_CLOCK = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ZONE = "(?:Z|[+-](?:[01][0-9]|2[0-4]):(?:[0-5][0-9]|60))"
TIME_TITLE = "v1.Time"
TIME_PATTERN = rf"^{_DATE}T{_CLOCK}(?:[.,][0-9]+)?{_ZONE}\Z"
MICRO_TIME_TITLE = "v1.MicroTime"
MICRO_TIME_PATTERN = rf"^{_DATE}T{_CLOCK}[.,][0-9]{{6}}{_ZONE}\Z"

_FRACTION = re.compile("[.,][0-9]+")
_MICROSECONDS = re.compile("[.,][0-9]{6}")
_OFFSET = re.compile(r"([\x00-\x7f])([0-9][0-9]):([0-9]{2}|..|[^\x00-\x7f])", re.ASCII | re.DOTALL)
#: The text before each number, the number's name in the layout and in complaints, its digits and its range.
_NUMBERS = (
    ("", "2006", "year", re.compile("[0-9]{4}"), 0, 9999),
    ("-", "01", "month", re.compile("[0-9]{2}"), 1, 12),
    ("-", "02", "day", re.compile("[0-9]{2}"), 0, 99),
    ("T", "15", "hour", re.compile("[0-9]{1,2}"), 0, 23),
    (":", "04", "minute", re.compile("[0-9]{2}"), 0, 59),
    (":", "05", "second", re.compile("[0-9]{2}"), 0, 59),
)


def time_text(seconds: float) -> str:
    return f"{_whole_seconds(int(seconds))}Z"


def micro_time_text(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{_whole_seconds(seconds)}.{rest:06d}Z"


@lru_cache(64)
def _whole_seconds(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@lru_cache(4096)
def seconds_of(text: str | None) -> float | None:
    """Parse a time to seconds since 1970; None if absent or malformed."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def time_complaint(text: str, *, micro: bool = False) -> str | None:
    """Explain why the text is not a time (with microseconds), as Go's time.Parse does; None if it is one."""
    whole = _MICRO_LAYOUT if micro else _LAYOUT
    rest = text
    parts: dict[str, int] = {}
    for before, layout, name, digits, least, most in _NUMBERS:
        if not rest.startswith(before):
            return _unreadable(text, rest, before, whole)
        rest = rest.removeprefix(before)
        number = digits.match(rest)
        if number is None:
            return _unreadable(text, rest, layout, whole)
        rest = rest[number.end() :]
        parts[name] = int(number[0])
        if not least <= parts[name] <= most:
            return f"parsing time {_quote(text)}: {name} out of range"
    fraction = (_MICROSECONDS if micro else _FRACTION).match(rest)
    if micro and fraction is None:
        return _unreadable(text, rest, ".000000", whole)
    rest = rest[fraction.end() :] if fraction is not None else rest
    if rest.startswith("Z"):
        rest = rest[1:]
    else:
        offset = _OFFSET.match(rest)
        if offset is None:
            return _unreadable(text, rest, "Z07:00", whole)
        sign, hours, minutes = offset.groups()
        # Go complains about the range of a part before it complains that another part is no number.
        for part, most, name in ((minutes, 60, "minute"), (hours, 24, "hour")):
            if part.isdigit() and int(part) > most:
                return f"parsing time {_quote(text)}: time zone offset {name} out of range"
        if sign not in "+-" or not minutes.isdigit():
            return _unreadable(text, rest, "Z07:00", whole)
        rest = rest[offset.end() :]
    if rest:
        return f"parsing time {_quote(text)}: extra text: {_quote(rest)}"
    days = monthrange(parts["year"] or 4, parts["month"])[1]  # Go's year 0 is a leap year, Python has none
    if not 1 <= parts["day"] <= days:
        return f"parsing time {_quote(text)}: day out of range"
    return None


def _unreadable(text: str, rest: str, layout: str, whole: str) -> str:
    return f"parsing time {_quote(text)} as {_quote(whole)}: cannot parse {_quote(rest)} as {_quote(layout)}"


def _quote(text: str) -> str:
    """Quote as Go's time package does, which escapes all bytes that are not printable ASCII."""
    quoted = []
    for character in text:
        if character in '"\\':
            quoted.append(f"\\{character}")
        elif " " <= character <= "\x7f":
            quoted.append(character)
        else:
            quoted.extend(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    return f'"{"".join(quoted)}"'


def in_utc(text: str) -> str:
    """Return a time as Go prints it again: in UTC, to the second."""
    try:
        return f"{whole_seconds(datetime.fromisoformat(text).astimezone(UTC))}Z"
    except (ValueError, OverflowError):
        return text


def whole_seconds(moment: datetime) -> str:
    """Write date and time without a zone. The year has four digits always; strftime writes `1` for the year 0001."""
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")


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
    """Return nanoseconds. Raises DurationError."""
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
    """Write `72h3m0.5s`; below a second the largest unit that gives a number from 1 on."""
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
