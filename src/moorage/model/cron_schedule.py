"""Parse cron schedules, say what is wrong with them, and compute their next time.

Kubernetes: cron.ParseStandard: five fields (minute, hour, day of month, month, day of week) or a descriptor such as
`@daily` or `@every 1h30m`, with an optional time zone before it. A local time that a day does not have is left out that
day, and one that it has twice comes twice, as there.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from moorage.model.go.quoting import go_quote
from moorage.model.go.times import DurationError, parse_duration
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

#: (lowest, highest, names and their numbers) of each field
_FIELDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, start=1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_YEARS_AHEAD = 5
_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)


class ScheduleError(ValueError):
    """What is wrong with a schedule."""


class _Field(NamedTuple):
    """The numbers that match, and whether it was a star that said so."""

    numbers: frozenset[int]
    is_star: bool


class Schedule(NamedTuple):
    """A parsed schedule: five fields, or the seconds between one time and the next."""

    fields: tuple[_Field, ...] = ()
    every: int = 0
    zone: tzinfo = UTC

    def next_after(self, seconds: float) -> float | None:
        """Return the first time after this one, in seconds since 1970; None if there is none within five years."""
        if self.every:
            return int(seconds) + self.every
        minutes, hours, _, months, _ = (field.numbers for field in self.fields)
        if not (minutes and hours and months):
            return None
        at = self._local(datetime.fromtimestamp(int(seconds) // 60 * 60, UTC) + _MINUTE)
        limit = at.year + _YEARS_AHEAD
        while at.year <= limit:
            if at.month not in months:
                year, month = (at.year + 1, 1) if at.month == 12 else (at.year, at.month + 1)
                at = self._midnight(year, month, 1)
            elif not self._has_day(at):
                day = datetime(at.year, at.month, at.day, tzinfo=UTC) + timedelta(days=1)
                at = self._midnight(day.year, day.month, day.day)
            elif at.hour not in hours:
                at = self._later(at, _HOUR - timedelta(minutes=at.minute))
            elif at.minute not in minutes:
                at = self._later(at, _MINUTE)
            else:
                return at.timestamp()
        return None

    def _has_day(self, at: datetime) -> bool:
        """Match both days if one is a star; if both are given, either."""
        of_month, of_week = self.fields[2], self.fields[4]
        first, second = at.day in of_month.numbers, at.isoweekday() % 7 in of_week.numbers
        return (first and second) if of_month.is_star or of_week.is_star else (first or second)

    def _local(self, at: datetime) -> datetime:
        return at.astimezone(self.zone)

    def _later(self, at: datetime, by: timedelta) -> datetime:
        return self._local(at.astimezone(UTC) + by)

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        """Return the beginning of a day, which some days have at another time than zero o'clock."""
        return self._local(datetime(year, month, day, tzinfo=self.zone).astimezone(UTC))


@reads_text("@every ", "0s", "*", "/", "-", ",", "1", " ", "TZ=", "mon", raises=ScheduleError)
@remember_short(1024)
def parse_schedule(text: str, time_zone: str = "") -> Schedule:
    """Parse a schedule; a time zone in the text wins over the other one. Raises ScheduleError."""
    if text.startswith(("TZ=", "CRON_TZ=")):
        prefix, space, rest = text.partition(" ")
        if not space:
            raise ScheduleError(f"invalid schedule format: {prefix}")
        time_zone, text = prefix.partition("=")[2], rest.strip()
        try:
            zone = load_zone(time_zone)
        except ScheduleError as error:
            raise ScheduleError(f"provided bad location {time_zone}: {error}") from None
    else:
        zone = load_zone(time_zone)
    if text.startswith("@every "):
        return Schedule(every=_interval(text), zone=zone)
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise ScheduleError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    return Schedule(_parse_fields(text), zone=zone)


def load_zone(name: str) -> tzinfo:
    """Load a time zone. Raises ScheduleError for one that this machine does not know."""
    if name in ("", "UTC"):
        return UTC
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise ScheduleError(f"unknown time zone {name}") from None


def schedule_error(schedule: str) -> str | None:
    """Return what is wrong with a schedule, if anything; whether a time zone in it exists is not checked."""
    if schedule.startswith(("TZ=", "CRON_TZ=")) and " " in schedule:
        schedule = schedule.partition(" ")[2].strip()
    try:
        parse_schedule(schedule)
    except ScheduleError as error:
        return str(error)
    return None


def _interval(text: str) -> int:
    """Return seconds, at least one."""
    duration = text.removeprefix("@every ")
    try:
        return max(1, parse_duration(duration) // 1_000_000_000)
    except DurationError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None


def _parse_fields(text: str) -> tuple[_Field, ...]:
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    return tuple(_parse_field(field, *bounds) for field, bounds in zip(fields, _FIELDS, strict=True))


def _parse_field(text: str, lowest: int, highest: int, names: dict[str, int]) -> _Field:
    numbers: set[int] = set()
    is_star = False
    for expression in filter(None, text.split(",")):
        values, star = _parse_range(expression, lowest, highest, names)
        numbers.update(values)
        is_star = is_star or star
    return _Field(frozenset(numbers), is_star)


def _parse_range(expression: str, lowest: int, highest: int, names: dict[str, int]) -> tuple[range, bool]:
    """Parse one of `*`, `5`, `1-5`, `*/15`, `1-30/5`, `mon-fri`."""
    range_and_step = expression.split("/")
    bounds = range_and_step[0].split("-")
    is_star = bounds[0] in ("*", "?")
    if is_star:
        start, end = lowest, highest
    else:
        start = end = _number(bounds[0], names)
        if len(bounds) == 2:
            end = _number(bounds[1], names)
        elif len(bounds) > 2:
            raise ScheduleError(f"too many hyphens: {expression}")
    step = 1
    if len(range_and_step) == 2:
        step = _number(range_and_step[1], {})
        if len(bounds) == 1:
            end = highest
        is_star = is_star and step <= 1
    elif len(range_and_step) > 2:
        raise ScheduleError(f"too many slashes: {expression}")
    if start < lowest:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({lowest}): {expression}")
    if end > highest:
        raise ScheduleError(f"end of range ({end}) above maximum ({highest}): {expression}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {expression}")
    return range(start, end + 1, step), is_star


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    sign = text[:1] in ("+", "-")
    digits = text[1:] if sign else text
    if not (digits.isascii() and digits.isdigit()):
        detail = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {detail}")
    value = int(digits[:19])
    if text.startswith("-") and value:
        raise ScheduleError(f"negative number (-{value}) not allowed: {text}")
    return value
