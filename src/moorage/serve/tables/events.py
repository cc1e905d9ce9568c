"""The tables of events, whose fields have other names in core/v1 than in events.k8s.io/v1.

Kubernetes: printEvent, which sees both after conversion.
"""

from typing import Any

from moorage.serve.resources.objects import to_core
from moorage.serve.tables.columns import Ages, Cells, Column, Raw, Table, definitions, name_of, part, wide


def _target(about: Raw) -> str:
    kind, name = str(about.get("kind", "")).lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _source(raw: Raw) -> str:
    source = part(raw, "source")
    component = source.get("component") or raw.get("reportingComponent") or ""
    instance = source.get("host") or raw.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells(raw: Raw, ages: Ages) -> Cells:
    about = part(raw, "involvedObject")
    first = ages.since(raw.get("firstTimestamp") or raw.get("eventTime"))
    last = ages.since(raw["lastTimestamp"]) if raw.get("lastTimestamp") else first
    count: Any = raw.get("count") or 1
    series = raw.get("series")
    if series is not None:
        last, count = ages.since(series.get("lastObservedTime")), series.get("count", 0)
    return [
        last,
        raw.get("type") or "",
        raw.get("reason") or "",
        _target(about),
        about.get("fieldPath") or "",
        _source(raw),
        (raw.get("message") or "").strip(),
        first,
        count,
        name_of(raw),
    ]


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

CORE_EVENTS = Table(definitions(_COLUMNS), _cells)
EVENTS = Table(definitions(_COLUMNS), lambda raw, ages: _cells(to_core(raw), ages))
