"""What happens in a cluster that may make a waiting pod schedulable.

In: an object before and after a change. Out: `Event`s, each of one kind; a change that scheduling does not read makes
none. Kubernetes: ClusterEvent, NodeSchedulingPropertiesChange and PodSchedulingPropertiesChange.
Differs: a pod that begins to end is an event, since spreading no longer counts it; so is a namespace with new labels.
"""

from enum import Enum, auto
from typing import Any

import msgspec

from moorage.columns.resources import pod_requests
from moorage.match.volumes.claims import claims_of
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod


class EventKind(Enum):
    """The kinds of events. POD: about pods on a node, or nominated for one; OWN: about the pod that waits."""

    NODE_ADDED = auto()
    NODE_REMOVED = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()  # and spec.unschedulable, which is a taint in all but name
    POD_ADDED = auto()
    POD_REMOVED = auto()
    POD_ENDING = auto()
    POD_LABELS = auto()
    POD_SCALED_DOWN = auto()
    OWN_LABELS = auto()
    OWN_TOLERATIONS = auto()
    OWN_SCALED_DOWN = auto()
    OWN_OTHER = auto()
    NAMESPACE_LABELS = auto()
    CLAIM_ADDED = auto()
    CLAIM_CHANGED = auto()
    VOLUME_ADDED = auto()
    VOLUME_CHANGED = auto()
    STORAGE_CLASS_ADDED = auto()
    STORAGE_CLASS_CHANGED = auto()
    CSI_NODE_ADDED = auto()
    CSI_NODE_CHANGED = auto()
    STORAGE_CAPACITY = auto()  # there is more of it, or nobody counts it any more
    ATTACHMENT_REMOVED = auto()
    TIME_IS_UP = auto()  # the pod has waited for so long that it is tried again whatever happened


class Event(msgspec.Struct, frozen=True):
    """One event. `of` names the waiting pod that it is about, if there is one; `by`, one that it does not help."""

    kind: EventKind
    old: Any = None
    new: Any = None
    of: str = ""
    by: str = ""


_ABOUT_CLAIMS = frozenset({EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED})


def concerns(event: Event, key: str, pod: Pod) -> bool:
    """Whether an event can concern a waiting pod at all: it is not about another one, nor about others' claims."""
    if event.of:
        return event.of == key
    if event.by == key:
        return False
    if event.kind not in _ABOUT_CLAIMS:
        return True
    claim = event.new.metadata
    return bool(claim.namespace == pod.metadata.namespace and any(use.name == claim.name for use in claims_of(pod)))


def node_events(old: Node | None, new: Node | None) -> tuple[Event, ...]:
    """What a node's coming, going or changing means."""
    if old is None:
        return (Event(EventKind.NODE_ADDED, None, new),)
    if new is None:
        return (Event(EventKind.NODE_REMOVED, old),)
    kinds = []
    if old.spec.unschedulable != new.spec.unschedulable or old.spec.taints != new.spec.taints:
        kinds.append(EventKind.NODE_TAINTS)
    if old.status.allocatable != new.status.allocatable:
        kinds.append(EventKind.NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        kinds.append(EventKind.NODE_LABELS)
    return tuple(Event(kind, old, new) for kind in kinds)


def pod_events(old: Pod, new: Pod) -> tuple[Event, ...]:
    """What a change to a pod on a node means for others."""
    kinds = []
    if old.metadata.labels != new.metadata.labels:
        kinds.append(EventKind.POD_LABELS)
    if scaled_down(old, new):
        kinds.append(EventKind.POD_SCALED_DOWN)
    if old.metadata.deletionTimestamp is None and new.metadata.deletionTimestamp is not None:
        kinds.append(EventKind.POD_ENDING)
    return tuple(Event(kind, old, new) for kind in kinds)


def own_events(key: str, old: Pod, new: Pod) -> tuple[Event, ...]:
    """What a change to a waiting pod means for itself, given that its shape changed."""
    kinds = []
    if old.metadata.labels != new.metadata.labels:
        kinds.append(EventKind.OWN_LABELS)
    if old.spec.tolerations != new.spec.tolerations:
        kinds.append(EventKind.OWN_TOLERATIONS)
    if scaled_down(old, new):
        kinds.append(EventKind.OWN_SCALED_DOWN)
    return tuple(Event(kind, old, new, key) for kind in kinds or [EventKind.OWN_OTHER])


def scaled_down(old: Pod, new: Pod) -> bool:
    """Whether the pod asks for less of anything than it did."""
    if old.spec == new.spec:
        return False
    before, after = pod_requests(old.spec), pod_requests(new.spec)
    return any(after.get(name, 0) < value for name, value in before.items())
