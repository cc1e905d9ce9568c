"""The tables of events, whose fields have other names in core/v1 than in events.k8s.io/v1.

Kubernetes: printEvent, which sees both after conversion.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.serve.tables.ages import Ages
from moorage.serve.tables.columns import Cells, Column, Raw, Table, definitions, name_of, part, wide


class _Spelling(NamedTuple):
    """How an API version names the members that both have."""

    about: str
    message: str
    source: str
    first: str
    last: str
    how_often: str
    reporter: str


_CORE = _Spelling(
    "involvedObject", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reportingComponent"
)
_EVENTS = _Spelling(
    "regarding",
    "note",
    "deprecatedSource",
    "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp",
    "deprecatedCount",
    "reportingController",
)


def _target(about: Raw) -> str:
    kind, name = str(about.get("kind", "")).lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _source(raw: Raw, spelling: _Spelling) -> str:
    source = part(raw, spelling.source)
    component = source.get("component") or raw.get(spelling.reporter) or ""
    instance = source.get("host") or raw.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells_of(spelling: _Spelling) -> Callable[[Raw, Ages], Cells]:
    def cells(raw: Raw, ages: Ages) -> Cells:
        about = part(raw, spelling.about)
        first = ages.since(raw.get(spelling.first) or raw.get("eventTime"))
        last = ages.since(raw[spelling.last]) if raw.get(spelling.last) else first
        count: Any = raw.get(spelling.how_often) or 1
        series = raw.get("series")
        if series is not None:
            last, count = ages.since(series.get("lastObservedTime")), series.get("count", 0)
        return [
            last,
            raw.get("type") or "",
            raw.get("reason") or "",
            _target(about),
            about.get("fieldPath") or "",
            _source(raw, spelling),
            (raw.get(spelling.message) or "").strip(),
            first,
            count,
            name_of(raw),
        ]

    return cells


_COLUMNS = (
    Column("Last Seen", "How long ago this happened last."),
    Column("Type", "Whether this is as it should be (Normal) or not (Warning)."),
    Column("Reason", "What happened, in a word for programs."),
    Column("Object", "What it happened to."),
    wide("Subobject", "The part of the object that it happened to."),
    wide("Source", "Who says so."),
    Column("Message", "What happened, in words for people."),
    wide("First Seen", "How long ago this happened for the first time."),
    wide("Count", "How often it has happened."),
    wide("Name", "The name of the event.")._replace(format="name"),
)

CORE_EVENTS = Table(definitions(_COLUMNS), _cells_of(_CORE))
EVENTS = Table(definitions(_COLUMNS), _cells_of(_EVENTS))
