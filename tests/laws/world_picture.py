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
from moorage.model.types.pod import FINISHED_PHASES, Pod

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


class Line(NamedTuple):
    """What became of a pod that is or was there: one line for each, as in the outcome of a plan.

    `seconds` is when a taint evicted it. Pods that are on their node have no reason.
    """

    workload: str
    state: str
    node: str
    seconds: int | None = None
    reason: str = ""
    message: str = ""


ON_NODE, PENDING, REFUSED = "On node", "Pending", "Refused"
REASON_OF_REFUSED = "Forbidden"
EVICTED, PREEMPTED, DELETED = "Evicted", "Preempted", "Deleted"
_ENDINGS = {"DeletionByTaintManager": EVICTED, "PreemptionByScheduler": PREEMPTED}


_ABSENT = re.compile(
    r"(namespace \S+|PriorityClass \S+) is not in the input; the API server refuses "
    r"(?:\w+ in namespaces that do not exist$|pods that name one that does not exist)"
)


def absent_objects(messages: Iterable[str]) -> Counter[str]:
    """Return the namespaces and PriorityClasses that notes or findings say are missing: `namespace gone`."""
    return Counter(match[1] for match in map(_ABSENT.match, messages) if match is not None)


class Picture(msgspec.Struct):
    """What became of a world.

    `refusals` are of its documents, `failed` of the pods that controllers wanted to create, by workload. `pods` are
    those that are there at the end, `lines` all that have ever been. A namespace or PriorityClass that is
    missing is told once; all else is as if it were there. `is_endless`: pods are evicted or refused, and replaced,
    without end; then nothing else is told.
    """

    refusals: Counter[str]
    failed: dict[str, str]
    objects: dict[str, list[str]]
    pods: Counter[PodRow]
    lines: Counter[Line]
    absent: Counter[str]
    is_endless: bool = False


ENDLESS = Picture(Counter(), {}, {}, Counter(), Counter(), Counter(), is_endless=True)
#: More pods than any world ends otherwise.
MAX_ENDINGS = 250


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


class PodHistory:
    """Every pod that has ever been, and how it ended: it finishes or is deleted, whichever is first."""

    def __init__(self) -> None:
        self._latest: dict[str, Pod] = {}
        self._endings: dict[str, Line] = {}

    def changed(self, old: Pod | None, new: Pod | None, seconds: float) -> None:
        """Take in a change of a pod."""
        pod = new or old
        assert pod is not None
        uid = pod.metadata.uid
        self._latest[uid] = pod
        if uid in self._endings:
            return
        if new is None or new.metadata.deletionTimestamp is not None:
            reasons = [one.reason for one in pod.status.conditions if one.type == _DISRUPTION and one.status == "True"]
            state = _ENDINGS.get("".join(reasons), DELETED)
            when = round(seconds) if state == EVICTED else None
            self._endings[uid] = Line(shown_workload(pod), state, pod.spec.nodeName, when)
        elif pod.status.phase in FINISHED_PHASES:
            self._endings[uid] = Line(shown_workload(pod), pod.status.phase, pod.spec.nodeName)

    @property
    def is_endless(self) -> bool:
        return len(self._endings) > MAX_ENDINGS

    def lines(self) -> Counter[Line]:
        return Counter(self._line(uid, pod) for uid, pod in self._latest.items())

    def _line(self, uid: str, pod: Pod) -> Line:
        ending, status = self._endings.get(uid), pod.status
        if ending is None:
            row = row_of(pod)
            state = ON_NODE if row.node else PENDING
            return Line(shown_workload(pod), state, row.node, None, row.reason, row.message)
        if ending.state in FINISHED_PHASES:
            return ending._replace(reason=status.reason or status.phase, message=shortened(status.message))
        return ending


def shown_workload(pod: Pod) -> str:
    """Return the workload that outcomes name: the Deployment of a ReplicaSet."""
    return deployment_for(workload_of(pod))


def deployment_for(workload: str) -> str:
    """Return the Deployment for its ReplicaSet; worlds have no other ReplicaSets."""
    return workload.replace("ReplicaSet", "Deployment").removesuffix("-…")


def objects_of(found: Mapping[str, Iterable[Object]]) -> dict[str, list[str]]:
    return {name: sorted(one.key for one in objects) for name, objects in found.items()}
