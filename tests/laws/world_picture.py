"""Describe what became of a world, in the same words whether a cluster or a plan tells it.

Names that are generated differ by their random suffix: pods are known by their workload, and such names are shortened
wherever a text has them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import Object, Raw
from moorage.control.framework.world import controller_of
from moorage.model.types.pod import Pod

#: Kinds whose objects are compared by name.
COMPARED = ("ReplicaSet", "ControllerRevision", "PersistentVolumeClaim", "PersistentVolume")
_GENERATED = re.compile(r"\b([rw]\d)-[a-z0-9-]+")
_DISRUPTION = "DisruptionTarget"


class PodRow(NamedTuple):
    """A pod that is there: of which workload, on which node, and why it has none, or has failed."""

    workload: str
    node: str
    phase: str
    reason: str
    message: str


class Departure(NamedTuple):
    """A pod that was deleted or failed to stay: from which node, after how many seconds, and for which reason."""

    workload: str
    node: str
    seconds: int
    reason: str


class Picture(msgspec.Struct):
    """What became of a world. `refusals` are of its documents, `refused_pods` of what controllers wanted to create."""

    refusals: Counter[str]
    refused_pods: Counter[tuple[str, str]]
    objects: dict[str, list[str]]
    pods: Counter[PodRow]
    departures: Counter[Departure]


def shortened(text: str) -> str:
    """Return a text without the random parts of generated names."""
    return _GENERATED.sub(r"\1-…", text)


def subject_of(document: Raw) -> str:
    """Return the kind, namespace and name of a document."""
    metadata = document["metadata"]
    where = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"{document['kind']} {where}{metadata['name']}"


def workload_of(view: Any) -> str:
    """Return the kind and name of a pod's controller, shortened, or of the pod itself."""
    owner = controller_of(view.metadata)
    where = view.metadata.namespace
    if owner is None:
        return f"Pod {where}/{view.metadata.name}"
    return f"{owner.kind} {where}/{shortened(owner.name)}"


def row_of(view: Pod) -> PodRow:
    """Describe a pod by its spec and status."""
    status = view.status
    reason, message = status.reason, status.message
    if not view.spec.nodeName:
        waits = next((one for one in status.conditions if one.type == "PodScheduled" and one.status == "False"), None)
        reason, message = (waits.reason, waits.message) if waits is not None else ("", "")
    return PodRow(workload_of(view), view.spec.nodeName, status.phase, reason, shortened(message))


def departure_of(old: Pod | None, new: Pod | None, seconds: float) -> Departure | None:
    """Return the departure that a change of a pod is: the moment in which its deletion is asked for."""
    if old is None or old.metadata.deletionTimestamp is not None:
        return None
    if new is not None and new.metadata.deletionTimestamp is None:
        return None
    told = new or old
    reasons = [one.reason for one in told.status.conditions if one.type == _DISRUPTION and one.status == "True"]
    return Departure(workload_of(old), old.spec.nodeName, round(seconds), "".join(reasons))


def objects_of(found: Mapping[str, Iterable[Object]]) -> dict[str, list[str]]:
    return {name: sorted(one.key for one in objects) for name, objects in found.items()}
