"""The tables of events, of which there are two spellings: core/v1 and events.k8s.io/v1.

In: raw Events of either. Out: the same cells. Kubernetes: printEvent, which sees both after
conversion.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.serve.tables.ages import Ages
from moorage.serve.tables.columns import WIDE, Cells, Raw, TableFacts, column, name_of, part


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
    column("Last Seen", "string", "How long ago this happened last."),
    column("Type", "string", "Whether this is as it should be (Normal) or not (Warning)."),
    column("Reason", "string", "What happened, in a word for programs."),
    column("Object", "string", "What it happened to."),
    column("Subobject", "string", "The part of the object that it happened to.", WIDE),
    column("Source", "string", "Who says so.", WIDE),
    column("Message", "string", "What happened, in words for people."),
    column("First Seen", "string", "How long ago this happened for the first time.", WIDE),
    column("Count", "string", "How often it has happened.", WIDE),
    column("Name", "string", "The name of the event.", WIDE, "name"),
)

CORE_EVENTS = TableFacts(_COLUMNS, _cells_of(_CORE))
EVENTS = TableFacts(_COLUMNS, _cells_of(_EVENTS))
