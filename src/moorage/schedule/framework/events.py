"""Cluster events that may make a waiting pod schedulable, derived from an object before and after a change.

Kubernetes: ClusterEvent, NodeSchedulingPropertiesChange and PodSchedulingPropertiesChange.
Differs: a pod whose deletion begins is an event, since spreading no longer counts it; so are a namespace's new labels.
"""

from enum import Enum
from typing import Any

import msgspec

from moorage.columns.resources import pod_requests
from moorage.match.volumes.claims import claims_of
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod


class EventKind(Enum):
    """The kinds of events. POD: about pods on a node, or nominated for one; OWN: about the waiting pod itself.

    The values are Kubernetes' event labels in metrics.
    """

    NODE_ADDED = "NodeAdd"
    NODE_REMOVED = "NodeDelete"
    NODE_ALLOCATABLE = "NodeUpdateNodeAllocatable"
    NODE_LABELS = "NodeUpdateNodeLabel"
    NODE_TAINTS = "NodeUpdateNodeTaint"  # and spec.unschedulable, which is a taint in all but name
    POD_ADDED = "AssignedPodAdd"
    POD_REMOVED = "AssignedPodDelete"
    POD_ENDING = "AssignedPodUpdate"
    POD_LABELS = "AssignedPodUpdatePodLabel"
    POD_SCALED_DOWN = "AssignedPodUpdatePodScaleDown"
    OWN_LABELS = "UnschedulablePodUpdatePodLabel"
    OWN_TOLERATIONS = "UnschedulablePodUpdatePodToleration"
    OWN_SCALED_DOWN = "UnschedulablePodUpdatePodScaleDown"
    OWN_OTHER = "UnschedulablePodUpdate"
    NAMESPACE_LABELS = "NamespaceUpdate"
    CLAIM_ADDED = "PersistentVolumeClaimAdd"
    CLAIM_CHANGED = "PersistentVolumeClaimUpdate"
    VOLUME_ADDED = "PersistentVolumeAdd"
    VOLUME_CHANGED = "PersistentVolumeUpdate"
    STORAGE_CLASS_ADDED = "StorageClassAdd"
    STORAGE_CLASS_CHANGED = "StorageClassUpdate"
    CSI_NODE_ADDED = "CSINodeAdd"
    CSI_NODE_CHANGED = "CSINodeUpdate"
    STORAGE_CAPACITY = "CSIStorageCapacityUpdate"  # there is more of it, or the driver does not report it any more
    ATTACHMENT_REMOVED = "VolumeAttachmentDelete"
    TIME_IS_UP = "UnschedulableTimeout"  # the pod has waited for so long that it is tried again whatever happened


class Event(msgspec.Struct, frozen=True):
    """One event. `of` names the only waiting pod that it is about, if there is one; `by`, one that it does not help."""

    kind: EventKind
    old: Any = None
    new: Any = None
    of: str = ""
    by: str = ""


_ABOUT_CLAIMS = frozenset({EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED})


def concerns(event: Event, key: str, pod: Pod) -> bool:
    """Return whether an event can concern a waiting pod: it is not about another pod, nor about others' claims."""
    if event.of:
        return event.of == key
    if event.by == key:
        return False
    if event.kind not in _ABOUT_CLAIMS:
        return True
    claim = event.new.metadata
    return bool(claim.namespace == pod.metadata.namespace and any(use.name == claim.name for use in claims_of(pod)))


def node_events(old: Node | None, new: Node | None) -> tuple[Event, ...]:
    """Return the events of a node that is added, removed or changed."""
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
    """Return the events that a change to a pod on a node is for others."""
    kinds = []
    if old.metadata.labels != new.metadata.labels:
        kinds.append(EventKind.POD_LABELS)
    if scaled_down(old, new):
        kinds.append(EventKind.POD_SCALED_DOWN)
    if old.metadata.deletionTimestamp is None and new.metadata.deletionTimestamp is not None:
        kinds.append(EventKind.POD_ENDING)
    return tuple(Event(kind, old, new) for kind in kinds)


def own_events(key: str, old: Pod, new: Pod) -> tuple[Event, ...]:
    """Return the events that a change to a waiting pod's shape is for itself."""
    kinds = []
    if old.metadata.labels != new.metadata.labels:
        kinds.append(EventKind.OWN_LABELS)
    if old.spec.tolerations != new.spec.tolerations:
        kinds.append(EventKind.OWN_TOLERATIONS)
    if scaled_down(old, new):
        kinds.append(EventKind.OWN_SCALED_DOWN)
    return tuple(Event(kind, old, new, key) for kind in kinds or [EventKind.OWN_OTHER])


def scaled_down(old: Pod, new: Pod) -> bool:
    """Return whether the pod requests less of any resource than before."""
    if old.spec == new.spec:
        return False
    before, after = pod_requests(old.spec), pod_requests(new.spec)
    return any(after.get(name, 0) < value for name, value in before.items())
