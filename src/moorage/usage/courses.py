"""Parse how an amount goes on over time: a constant, steps, a ramp, a wave, a pulse, or a column of a trace.

    200m                                    always
    steps(0s=100m, 10m=400m, 30m=100m)      each from its time on
    pulse(2, 4, 10m, 20m)                   2, but 4 from the tenth minute on, for 20 minutes
    ramp(100m, 1, 30m)                      from the first amount to the second in this time, which then stays
    sine(100m, 1, 24h)                      between the two, beginning with the first, in periods
    trace(NAME/KEY, COLUMN)                 a CSV file in a ConfigMap of the namespace

Times count from the start of what is annotated. An amount of thousands of steps belongs into a trace.
"""

from functools import lru_cache
from itertools import pairwise
from math import cos, isfinite, tau
from typing import NamedTuple

from moorage.model.go.times import DurationError, parse_duration
from moorage.model.quantity import QuantityError, parse_quantity
from moorage.model.text.readers import reads_text

_SECOND = 1e9
#: Characters of one course, and of a duration or an amount in it.
MAX_COURSE, _MAX_WORD = 4096, 40
_MAX_ROWS, _MAX_COLUMNS = 50_000, 256
#: Characters of a trace.
MAX_TRACE = 256 * 1024
_TIME_COLUMNS = ("seconds", "time")


class CourseError(ValueError):
    """A text that says no course. `str()` is why."""


class Steps(NamedTuple):
    """Amounts from times on; the first also before its time. A single step is a constant."""

    times: tuple[float, ...]
    amounts: tuple[float, ...]

    def at(self, seconds: float) -> float:
        low, high = 0, len(self.times)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.times[middle] <= seconds else (low, middle)
        return self.amounts[low]


class Ramp(NamedTuple):
    """From one amount to another within some seconds."""

    first: float
    last: float
    seconds: float

    def at(self, seconds: float) -> float:
        share = 1.0 if seconds >= self.seconds else max(0.0, seconds) / self.seconds
        return self.first + (self.last - self.first) * share


class Wave(NamedTuple):
    """Between two amounts, in periods that begin with the first."""

    first: float
    other: float
    period: float

    def at(self, seconds: float) -> float:
        return self.first + (self.other - self.first) * (1 - cos(tau * (seconds % self.period) / self.period)) / 2


class Trace(NamedTuple):
    """A column of a file in a ConfigMap; an empty one is called as what is measured."""

    config_map: str
    key: str
    column: str


Timed = Steps | Ramp | Wave
Course = Timed | Trace


def constant(amount: float) -> Steps:
    return Steps((0.0,), (amount,))


@reads_text("steps(", "pulse(", "0s=1", "1", ",", ")", "trace(a/b", "m", raises=CourseError, longest=MAX_COURSE)
@lru_cache(maxsize=1024)
def read_course(text: str) -> Course:
    """Parse a course. Raises CourseError."""
    if len(text) > MAX_COURSE:
        raise CourseError(f"it has {len(text):,} characters; {MAX_COURSE:,} are read")
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return constant(_amount(name))
    if not rest.endswith(")"):
        raise CourseError(f"{name}(…) does not end with a bracket")
    arguments = [argument.strip() for argument in rest[:-1].split(",")]
    read = _FORMS.get(name.strip())
    if read is None:
        raise CourseError(f'"{_short(name)}" is not one of {", ".join(sorted(_FORMS))}')
    return read(arguments)


def _steps(arguments: list[str]) -> Course:
    pairs = [argument.partition("=") for argument in arguments]
    if any(not equals for _, equals, _ in pairs):
        raise CourseError("steps are written TIME=AMOUNT, such as steps(0s=100m, 10m=400m)")
    times = tuple(_seconds(time) for time, _, _ in pairs)
    if any(earlier >= later for earlier, later in pairwise(times)):
        raise CourseError("the times of steps must grow")
    return Steps(times, tuple(_amount(amount) for _, _, amount in pairs))


def _pulse(arguments: list[str]) -> Course:
    base, peak, start, length = _some(arguments, "pulse(BASE, PEAK, START, LENGTH)", 4)
    begin, seconds = _seconds(start), _positive(length)
    steps = [(0.0, _amount(base)), (begin, _amount(peak)), (begin + seconds, _amount(base))]
    kept = steps if begin > 0 else steps[1:]
    return Steps(tuple(time for time, _ in kept), tuple(amount for _, amount in kept))


def _ramp(arguments: list[str]) -> Course:
    first, last, time = _some(arguments, "ramp(FIRST, LAST, TIME)", 3)
    return Ramp(_amount(first), _amount(last), _positive(time))


def _wave(arguments: list[str]) -> Course:
    first, other, period = _some(arguments, "sine(FIRST, OTHER, PERIOD)", 3)
    return Wave(_amount(first), _amount(other), _positive(period))


def _trace(arguments: list[str]) -> Course:
    form = "trace(CONFIGMAP/KEY) or trace(CONFIGMAP/KEY, COLUMN)"
    if len(arguments) not in (1, 2):
        raise CourseError(f"a trace is written {form}")
    name, slash, key = arguments[0].partition("/")
    if not name or not slash or not key:
        raise CourseError(f"a trace is written {form}")
    return Trace(name, key, arguments[1] if len(arguments) == 2 else "")


_FORMS = {"steps": _steps, "pulse": _pulse, "ramp": _ramp, "sine": _wave, "trace": _trace}


def _some(arguments: list[str], form: str, count: int) -> list[str]:
    if len(arguments) != count:
        raise CourseError(f"it is written {form}")
    return arguments


def _amount(text: str) -> float:
    """Parse an amount that is not negative."""
    text = text.strip()
    try:
        amount = parse_quantity(text).as_approximate_float() if len(text) <= _MAX_WORD else float("nan")
    except QuantityError:
        amount = float("nan")
    if not isfinite(amount) or amount < 0:
        raise CourseError(f'"{_short(text)}" is not an amount such as 200m, 1.5 or 300Mi')
    return amount


def _seconds(text: str) -> float:
    """Parse a duration such as 90s or 1h30m, or a plain number of seconds."""
    text = text.strip()
    try:
        if len(text) > _MAX_WORD or not text.isascii():
            raise ValueError
        seconds = float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text) / _SECOND
        if seconds < 0:
            raise ValueError
    except (DurationError, ValueError):
        raise CourseError(f'"{_short(text)}" is not a time such as 90s or 1h30m') from None
    return seconds


def _positive(text: str) -> float:
    seconds = _seconds(text)
    if not seconds:
        raise CourseError("a length of time must be more than 0")
    return seconds


def _short(text: str) -> str:
    return text if len(text) <= _MAX_WORD else f"{text[:_MAX_WORD]}…"


@reads_text("seconds,a\n", "0,1\n", "1m,2", ",", "\n", arguments=("a",), raises=CourseError, longest=MAX_TRACE)
@lru_cache(maxsize=64)
def read_trace(text: str, column: str) -> Steps:
    """Parse a column of a CSV file, whose first column has the times. Raises CourseError."""
    if len(text) > MAX_TRACE:
        raise CourseError(f"it has {len(text):,} characters; {MAX_TRACE:,} are read")
    lines = [line for line in text.splitlines() if line.strip()]
    header = [name.strip() for name in lines[0].split(",", _MAX_COLUMNS)] if lines else []
    if len(header) > _MAX_COLUMNS:
        raise CourseError(f"it has more than {_MAX_COLUMNS} columns")
    if not header or header[0] not in _TIME_COLUMNS:
        raise CourseError(f"its first line must name the columns, the first of them {' or '.join(_TIME_COLUMNS)}")
    if column not in header[1:]:
        raise CourseError(f'it has no column "{_short(column)}"')
    if not 1 < len(lines) <= _MAX_ROWS:
        raise CourseError(f"it has {len(lines) - 1:,} rows; 1 to {_MAX_ROWS - 1:,} are read")
    place = header.index(column, 1)
    times: list[float] = []
    amounts: list[float] = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split(",", place + 1)
        if len(cells) <= place:
            raise CourseError(f"line {number} has no {_short(column)}")
        try:
            time, amount = _seconds(cells[0]), _amount(cells[place])
        except CourseError as error:
            raise CourseError(f"line {number}: {error}") from None
        if times and time <= times[-1]:
            raise CourseError(f"line {number}: times must grow")
        times.append(time)
        amounts.append(amount)
    return Steps(tuple(times), tuple(amounts))
