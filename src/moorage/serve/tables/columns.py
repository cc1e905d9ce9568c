"""Build tables from columns: what each column is called, and how its cell is read from an object; ages such as `3d4h`.

A priority above 0 means `-o wide`: the server always sends such columns, the client shows them or not. Kubernetes:
metav1.TableColumnDefinition, metav1.FormatLabelSelector, labels.FormatLabels, apimachinery's util/duration.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple

from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.meta import LabelSelector

Raw = dict[str, Any]

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86400, 365 * 86400


#: Durations below the first number of seconds are shown in the unit, and the next smaller one if it says something.
_SCALE = (
    (2 * _MINUTE, 1, "s", 0, ""),
    (10 * _MINUTE, _MINUTE, "m", 1, "s"),
    (3 * _HOUR, _MINUTE, "m", 0, ""),
    (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
    (2 * _DAY, _HOUR, "h", 0, ""),
    (8 * _DAY, _DAY, "d", _HOUR, "h"),
    (2 * _YEAR, _DAY, "d", 0, ""),
    (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    (inf, _YEAR, "y", 0, ""),
)


def human_duration(seconds: float) -> str:
    """At most two units, and fewer digits the longer it is. A clock may be two seconds off."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    _, unit, name, small, small_name = next(row for row in _SCALE if whole < row[0])
    rest = whole % unit // small if small else 0
    return f"{whole // unit}{name}{rest}{small_name}" if rest else f"{whole // unit}{name}"


def moment(text: Any) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        at = datetime.fromisoformat(text)
        # The API writes times with a zone. One without is read as UTC, not in the zone of this machine.
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
        if not isinstance(timestamp, str):
            return UNKNOWN
        age = self._known.get(timestamp)
        if age is None:
            at = moment(timestamp)
            age = self._known[timestamp] = UNKNOWN if at is None else human_duration(self.now - at)
        return age


Cells = list[Any]

NONE, UNSET = "<none>", "<unset>"
WIDE = 1
INTEGER, BOOLEAN = "integer", "boolean"


class Table(NamedTuple):
    """The table of a kind. `conditions` says of a row what clients may hide or grey out, such as finished pods."""

    columns: tuple[Raw, ...]
    cells: Callable[[Raw, Ages], Cells]
    conditions: Callable[[Raw], list[Raw] | None] | None = None
    #: What the rows of a list are sorted by, if not by name.
    order: Callable[[Raw], Any] | None = None


#: By apiVersion and kind.
Tables = dict[tuple[str, str], Table]


class Row:
    """One object, as the cells of its row see it."""

    __slots__ = ("ages", "raw", "spec", "status")

    def __init__(self, raw: Raw, ages: Ages) -> None:
        self.raw, self.ages = raw, ages
        self.spec, self.status = part(raw, "spec"), part(raw, "status")


Cell = Callable[[Row], Any]


class Column(NamedTuple):
    """A column and the cell of an object, unless the table makes all cells at once."""

    name: str
    description: str
    cell: Cell = lambda _: None
    type: str = "string"
    priority: int = 0
    format: str = ""


def wide(name: str, description: str, cell: Cell = lambda _: None) -> Column:
    return Column(name, description, cell, priority=WIDE)


def table(*columns: Column) -> Table:
    cells = [column.cell for column in columns]

    def cells_of(raw: Raw, ages: Ages) -> Cells:
        row = Row(raw, ages)
        return [cell(row) for cell in cells]

    return Table(definitions(columns), cells_of)


def definitions(columns: Iterable[Column]) -> tuple[Raw, ...]:
    shown = ("name", "type", "format", "description", "priority")
    return tuple({name: getattr(column, name) for name in shown} for column in columns)


# Cells.


def name_of(raw: Raw) -> str:
    name = raw["metadata"].get("name", "")
    return name if isinstance(name, str) else ""


def age_of(raw: Raw, ages: Ages) -> str:
    return ages.since(raw["metadata"].get("creationTimestamp"))


def part(raw: Raw, name: str) -> Raw:
    """Return a member that is an object; one that is absent or null is empty."""
    return raw.get(name) or {}


def field(
    path: str, default: Any = "", *, empty_counts: bool = False, show: Callable[[Any], Any] | None = None
) -> Cell:
    """Make a cell that shows a field such as `spec.nodeName`, or the default if it is absent or does not count."""
    *holders, name = path.split(".")

    def cell(row: Row) -> Any:
        holder = row.raw
        for step in holders:
            holder = part(holder, step)
        value = holder.get(name)
        if value or (empty_counts and value is not None):
            return value if show is None else show(value)
        return default

    return cell


def condition_status(raw: Raw, kind: str) -> str | None:
    for condition in part(raw, "status").get("conditions") or ():
        if condition.get("type") == kind:
            status = condition.get("status")
            return status if isinstance(status, str) else ""
    return None


def selector_cell(selector: Any, *, nothing: str = NONE, unreadable: str = "<error>") -> str:
    """The canonical text of a label selector, `app=web,tier in (a,b)`; `nothing` if there is none or it is empty."""
    if selector is None:
        return nothing
    try:
        return str(compile_label_selector(convert_view(selector, LabelSelector))) or nothing
    except (ConversionError, SelectorError):
        return unreadable


def labels_cell(labels: Any) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


_UNIQUE = "The name, unique for the kind and, where there is one, the namespace."
NAME = Column("Name", _UNIQUE, lambda row: name_of(row.raw), format="name")
AGE = Column("Age", "How long ago the server accepted the object.", lambda row: age_of(row.raw, row.ages))
NAME_AND_AGE = table(NAME, AGE)
