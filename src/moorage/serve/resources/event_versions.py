"""Convert events between the core group and events.k8s.io; they are stored in the core form.

Kubernetes: the conversion functions of the events group.
"""

from typing import Any

from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]

CORE_EVENT = KINDS["v1", "Event"]
REPORTED_EVENT = KINDS["events.k8s.io/v1", "Event"]

#: The core group's name of a field, and that of events.k8s.io.
_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
_TO_CORE = {new: core for core, new in _NAMES}
_FROM_CORE = dict(_NAMES)


def to_core(raw: Raw) -> Raw:
    return {_TO_CORE.get(name, name): value for name, value in raw.items()} | {"apiVersion": CORE_EVENT.api_version}


def from_core(raw: Raw) -> Raw:
    renamed = {_FROM_CORE.get(name, name): value for name, value in raw.items()}
    return renamed | {"apiVersion": REPORTED_EVENT.api_version}


def is_renamed(kind: Kind) -> bool:
    """Whether objects of the kind are stored under other field names."""
    return kind is REPORTED_EVENT
