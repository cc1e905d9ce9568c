"""Read and write times (RFC 3339) and durations (`1h30m`) as Go does, with Go's complaints about malformed ones.

`TIME_PATTERN` matches exactly the texts that are times, so that views can be checked without calling this;
`MICRO_TIME_PATTERN` those with six digits after the point, which some fields demand. Kubernetes: metav1.Time, which
asks time.Parse(time.RFC3339), metav1.MicroTime and metav1.Duration. As there, an hour may have one digit and seconds
any fraction.
"""

import time
from calendar import monthrange
from datetime import UTC, datetime
from functools import lru_cache

from moorage.model.go.integers import INT64_MAX, read_int
from moorage.model.go.quoting import go_quote
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

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

_DIGITS = frozenset("0123456789")
_MICROSECOND_DIGITS = 6
_OFFSET = Pattern(r"(?s)([\x00-\x7f])([0-9][0-9]):([0-9]{2}|..|[^\x00-\x7f])")
_OFFSET_LENGTH = 6
#: The text before each number, the number's name in the layout and in complaints, the least and the most digits it
#: has, and its range.
_NUMBERS = (
    ("", "2006", "year", 4, 4, 0, 9999),
    ("-", "01", "month", 2, 2, 1, 12),
    ("-", "02", "day", 2, 2, 0, 99),
    ("T", "15", "hour", 1, 2, 0, 23),
    (":", "04", "minute", 2, 2, 0, 59),
    (":", "05", "second", 2, 2, 0, 59),
)


def time_text(seconds: float) -> str:
    return f"{_whole_seconds(int(seconds))}Z"


def micro_time_text(microseconds: int) -> str:
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{_whole_seconds(seconds)}.{rest:06d}Z"


@lru_cache(64)
def _whole_seconds(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@reads_text("2020-01-01", "T", "10:00:00", ".", "0", "Z", "+01:00")
@remember_short(4096)
def seconds_of(text: str | None) -> float | None:
    """Parse a time to seconds since 1970; None if absent or malformed."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


@reads_text("2020-01-01", "T", "10:00:00", ".", "0", "Z", "+01:00", "é")
def time_complaint(text: str, *, micro: bool = False) -> str | None:
    """Explain why the text is not a time (with microseconds), as Go's time.Parse does; None if it is one."""
    whole = _MICRO_LAYOUT if micro else _LAYOUT
    rest = text
    parts: dict[str, int] = {}
    for before, layout, name, fewest_digits, most_digits, least, most in _NUMBERS:
        if not rest.startswith(before):
            return _unreadable(text, rest, before, whole)
        rest = rest.removeprefix(before)
        width = _end_of_digits(rest, 0, most_digits)
        if width < fewest_digits:
            return _unreadable(text, rest, layout, whole)
        parts[name] = int(rest[:width])
        rest = rest[width:]
        if not least <= parts[name] <= most:
            return f"parsing time {_quote(text)}: {name} out of range"
    end = _end_of_digits(rest, 1, 1 + _MICROSECOND_DIGITS if micro else len(rest)) if rest[:1] in (".", ",") else 0
    if micro and end <= _MICROSECOND_DIGITS:
        return _unreadable(text, rest, ".000000", whole)
    rest = rest[end:] if end > 1 else rest
    if rest.startswith("Z"):
        rest = rest[1:]
    else:
        offset = _OFFSET.match(rest[:_OFFSET_LENGTH])
        if offset is None:
            return _unreadable(text, rest, "Z07:00", whole)
        sign, hours, minutes = offset.groups()
        # Go complains about the range of a part before it complains that another part is no number.
        for part, most, name in ((minutes, 60, "minute"), (hours, 24, "hour")):
            if (number := read_int(part)) is not None and number > most:
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


def _end_of_digits(text: str, at: int, end: int) -> int:
    """Return where the digits end that begin at a place, at the latest at `end`."""
    while at < end and text[at : at + 1] in _DIGITS:
        at += 1
    return at


def _unreadable(text: str, rest: str, layout: str, whole: str) -> str:
    return f"parsing time {_quote(text)} as {_quote(whole)}: cannot parse {_quote(rest)} as {_quote(layout)}"


class _Quotes(dict[int, str]):
    """What each character becomes between the quotes of Go's time package: bytes but for printable ASCII."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if " " <= character <= "\x7f":
            return f"\\{character}" if character in '"\\' else character
        return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


_QUOTES = _Quotes()
_QUOTES.update({code: _QUOTES[code] for code in range(0x80)})


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTES)}"'


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
_NUMERIC = frozenset("0123456789.")
#: Go's limits: of whole numbers and of sums of parts, which may be the lowest int64 without its sign.
_MOST, _MOST_DIGITS = 2**63, 19
_MOST_SCALE = 330  # ten to the power of more digits than this is infinite as a float


class DurationError(ValueError):
    """Text that is no duration, in Go's words."""


@reads_text("0", "1", ".", "s", "h", "ms", "µ", "-", raises=DurationError)
def parse_duration(text: str) -> int:
    """Return nanoseconds. Raises DurationError."""
    at, end, total = int(text[:1] in ("+", "-")), len(text), 0
    if text[at:] == "0":
        return 0
    if at == end:
        raise _invalid_duration(text)
    while at < end:
        whole_end = _end_of_digits(text, at, end)
        whole = _leading_int(text, at, whole_end)
        has_point = text[whole_end : whole_end + 1] == "."
        fraction_end = _end_of_digits(text, whole_end + 1, end) if has_point else whole_end
        if whole_end == at and fraction_end <= whole_end + 1:
            raise _invalid_duration(text)
        unit_end = fraction_end
        while unit_end < end and text[unit_end] not in _NUMERIC:
            unit_end += 1
        unit = text[fraction_end:unit_end]
        if not unit:
            raise DurationError(f"time: missing unit in duration {go_quote(text)}")
        if unit not in _UNITS:
            raise DurationError(f"time: unknown unit {go_quote(unit)} in duration {go_quote(text)}")
        total += whole * _UNITS[unit] + _fraction_of(text, whole_end + 1, fraction_end, _UNITS[unit])
        if total > _MOST:
            raise _invalid_duration(text)
        at = unit_end
    if total > INT64_MAX and text[0] != "-":
        raise _invalid_duration(text)
    return -total if text[0] == "-" else total


def _invalid_duration(text: str) -> DurationError:
    return DurationError(f"time: invalid duration {go_quote(text)}")


def _leading_int(text: str, at: int, end: int) -> int:
    """Return the whole number of a part; Go gives up on one that does not fit before it looks at the unit."""
    while at < end and text[at] == "0":
        at += 1
    if end - at > _MOST_DIGITS or (number := int(text[at:end] or "0")) > _MOST:
        raise _invalid_duration(text)
    return number


def _fraction_of(text: str, at: int, end: int, unit: int) -> int:
    """Return nanoseconds. Go reads as many digits as fit an int64, and multiplies in double precision."""
    number, scale, place = 0, 1.0, at
    while place < end and place - at < _MOST_SCALE and number <= INT64_MAX // 10:
        following = number * 10 + ord(text[place]) - ord("0")
        if following > _MOST:
            break
        number, scale, place = following, scale * 10, place + 1
    return int(float(number) * (float(unit) / scale)) if number else 0


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
