"""Implement timestamps and durations as Go's package time has them: text, calendar fields, time zones.

Kubernetes: Go's time.ParseDuration, time.Parse(RFC3339) and time.Time; cel-go common/stdlib/standard.go for the
accessors.
Differs: the proleptic calendar is computed with integers, so no year is out of reach. Time zones come from the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from moorage.match.cel.functions import Function, row
from moorage.match.cel.libraries.operators import MAX_SECONDS, MIN_SECONDS
from moorage.match.cel.values import CelError, Duration, Timestamp
from moorage.model.go import times
from moorage.model.go.integers import read_int
from moorage.model.go.times import TIME_PATTERN
from moorage.model.text.patterns import Pattern, whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_NANOS = 1_000_000_000
_is_time = whole(TIME_PATTERN.replace(r"\Z", r"\z"))
_PARTS = Pattern(r"(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)(?:[.,](\d{1,9})\d*)?(?:Z|([+-])(\d+):(\d+))")


def parse_duration(text: str) -> Duration | None:
    """Parse `1h30m`, `-1.5s`, `0`; None if it is not a duration."""
    try:
        return Duration(times.parse_duration(text))
    except times.DurationError:
        return None


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date of the proleptic Gregorian calendar."""
    year -= month <= 2
    era = year // 400
    year_of_era = year - era * 400
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return the date this many days after 1970-01-01."""
    days += 719468
    era = days // 146097
    day_of_era = days - era * 146097
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


@reads_text("2020-01-01", "T", "10:00:00", ".", "0", "Z", "+01:00")
def parse_timestamp(text: str) -> Timestamp | None:
    """Return an RFC 3339 timestamp, or None; raises if it is one, but of the year 0."""
    match = _PARTS.match(text) if _is_time(text) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = match.groups()[6:]
    offset = 0
    if sign:
        offset = int(offset_hours) * 3600 + int(offset_minutes) * 60
        offset = -offset if sign == "-" else offset
    nanos = int(fraction.ljust(9, "0"))
    seconds = days_from_civil(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - offset
    return make_timestamp(seconds, nanos, offset)


def make_timestamp(seconds: int, nanos: int = 0, offset: int = 0) -> Timestamp:
    """Return a timestamp from seconds since 1970, within the years 1 to 9999."""
    if not MIN_SECONDS <= seconds <= MAX_SECONDS:
        raise CelError("timestamp overflow")
    return Timestamp(seconds * _NANOS + nanos, offset)


class Moment(NamedTuple):
    """A timestamp as a calendar and a clock show it."""

    year: int
    month: int
    day: int
    day_of_year: int
    weekday: int
    hour: int
    minute: int
    second: int
    nanos: int


def moment(timestamp: Timestamp, offset_seconds: int) -> Moment:
    """Return what calendar and clock show at an offset from UTC; the weekday counts from Sunday = 0."""
    seconds, nanos = divmod(timestamp.nanos, _NANOS)
    days, of_day = divmod(seconds + offset_seconds, 86400)
    year, month, day = civil_from_days(days)
    day_of_year = days - days_from_civil(year, 1, 1)
    hour, rest = divmod(of_day, 3600)
    return Moment(year, month, day, day_of_year, (days + 4) % 7, hour, rest // 60, rest % 60, nanos)


def format_timestamp(timestamp: Timestamp) -> str:
    """Write RFC 3339 with as many digits of a second as are needed, in the offset the timestamp was written with."""
    at = moment(timestamp, timestamp.offset_seconds)
    text = f"{at.year:04d}-{at.month:02d}-{at.day:02d}T{at.hour:02d}:{at.minute:02d}:{at.second:02d}"
    if at.nanos:
        text += f".{at.nanos:09d}".rstrip("0")
    if timestamp.offset_seconds == 0:
        return text + "Z"
    sign = "-" if timestamp.offset_seconds < 0 else "+"
    minutes = abs(timestamp.offset_seconds) // 60
    return f"{text}{sign}{minutes // 60:02d}:{minutes % 60:02d}"


@remember_short(64)
def _zone(name: str) -> ZoneInfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def offset_in_zone(timestamp: Timestamp, zone: str) -> int:
    """Return the seconds east of UTC at a time in `Europe/Berlin` or at `+02:00`."""
    if ":" in zone:
        hours, _, minutes = zone.partition(":")
        offset = _atoi(hours) * 60
        return (offset - _atoi(minutes) if zone.startswith("-") else offset + _atoi(minutes)) * 60
    if zone in ("", "UTC"):
        return 0
    zone_info = _zone(zone)
    if zone_info is None:
        raise CelError(f"unknown time zone {zone}")
    # Python's dates end a day before CEL's may, once shifted; no zone changes its offset out there.
    seconds = min(max(timestamp.nanos // _NANOS, MIN_SECONDS + 86400), MAX_SECONDS - 86400)
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    offset_then = utc.astimezone(zone_info).utcoffset()
    return 0 if offset_then is None else int(offset_then.total_seconds())


@reads_text("1", "0", "-", "+", "x", raises=CelError)
def _atoi(text: str) -> int:
    number = read_int(text)
    if number is None:
        why = "value out of range" if text.lstrip("+-").isdecimal() and text.isascii() else "invalid syntax"
        raise CelError(f'strconv.Atoi: parsing "{text}": {why}')
    return number


def _accessor(name: str, suffix: str, read: Callable[[Moment], int], unit: int | None = None) -> Iterator[Function]:
    """Yield a getter on timestamps, with and without a time zone, and on durations if they have the unit."""

    def in_zone(timestamp: Timestamp, zone: str) -> int:
        return read(moment(timestamp, offset_in_zone(timestamp, zone)))

    yield row(f"timestamp.{name}() -> int", f"timestamp_to_{suffix}", lambda timestamp: read(moment(timestamp, 0)))
    yield row(f"timestamp.{name}(string) -> int", f"timestamp_to_{suffix}_with_tz", in_zone)
    if unit is not None:

        def whole_units(duration: Duration) -> int:
            count = abs(duration.nanos) // unit
            return -count if duration.nanos < 0 else count

        yield row(f"duration.{name}() -> int", f"duration_to_{suffix}", whole_units)


TIME_FUNCTIONS: tuple[Function, ...] = (
    *_accessor("getFullYear", "year", lambda at: at.year),
    *_accessor("getMonth", "month", lambda at: at.month - 1),
    *_accessor("getDayOfYear", "day_of_year", lambda at: at.day_of_year),
    *_accessor("getDayOfMonth", "day_of_month", lambda at: at.day - 1),
    *_accessor("getDate", "day_of_month_1_based", lambda at: at.day),
    *_accessor("getDayOfWeek", "day_of_week", lambda at: at.weekday),
    *_accessor("getHours", "hours", lambda at: at.hour, 3600 * _NANOS),
    *_accessor("getMinutes", "minutes", lambda at: at.minute, 60 * _NANOS),
    *_accessor("getSeconds", "seconds", lambda at: at.second, _NANOS),
    *_accessor("getMilliseconds", "milliseconds", lambda at: at.nanos // 1_000_000, 1_000_000),
)
