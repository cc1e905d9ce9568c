"""Define cluster events that may make a waiting pod schedulable, and the rows by which plugins name them.

Events are derived from an object before and after a change. The law: a hint never denies an event that turns its
plugin's refusal into an acceptance. Kubernetes: ClusterEvent, NodeSchedulingPropertiesChange,
PodSchedulingPropertiesChange, and EnqueueExtensions with their QueueingHintFns.
Differs: a pod whose deletion begins is an event, since spreading no longer counts it; so are a namespace's new labels.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum
from typing import Any

import msgspec

from moorage.columns.cluster import Cluster
from moorage.columns.pod_classes import Label
from moorage.columns.resources import pod_requests
from moorage.columns.shape import Shape
from moorage.match.devices.claims import ClaimKey, claim_keys
from moorage.match.volumes.claims import claims_of
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import EXTENDED_RESOURCE_CLAIM


class EventKind(Enum):
    """The kinds of events. POD: about pods on a node, or nominated for one; OWN: about the waiting pod itself.

    The values are Kubernetes' event labels in metrics.
    """

    NODE_ADDED = "NodeAdd"
    NODE_REMOVED = "NodeDelete"
    NODE_ALLOCATABLE = "NodeUpdateNodeAllocatable"
    NODE_LABELS = "NodeUpdateNodeLabel"
    NODE_TAINTS = "NodeUpdateNodeTaint"  # and spec.unschedulable, which is a taint in all but name
    NODE_DECLARED_FEATURES = "NodeUpdateNodeDeclaredFeature"
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
    OWN_CLAIMS = "UnschedulablePodUpdatePodGeneratedResourceClaim"
    RESOURCE_CLAIM_ADDED = "resource.k8s.io/ResourceClaimAdd"
    RESOURCE_CLAIM_CHANGED = "resource.k8s.io/ResourceClaimUpdate"
    DEVICES_FREED = "resource.k8s.io/ResourceClaimDelete"  # of a claim, whether it is deallocated or deleted
    DEVICE_CLASS_ADDED = "resource.k8s.io/DeviceClassAdd"
    DEVICE_CLASS_CHANGED = "resource.k8s.io/DeviceClassUpdate"
    RESOURCE_SLICE_ADDED = "resource.k8s.io/ResourceSliceAdd"
    RESOURCE_SLICE_CHANGED = "resource.k8s.io/ResourceSliceUpdate"  # and rules, which taint the devices in it


class Event(msgspec.Struct, frozen=True):
    """One event. `of` names the only waiting pod that it is about, if there is one; `by`, one that it does not help."""

    kind: EventKind
    old: Any = None
    new: Any = None
    of: str = ""
    by: str = ""


#: Events about one claim on storage, which concern the pods that use it.
ABOUT_STORAGE_CLAIMS = frozenset({EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED})
#: Events about one ResourceClaim, which concern the pods that use it.
ABOUT_RESOURCE_CLAIMS = frozenset({EventKind.RESOURCE_CLAIM_ADDED, EventKind.RESOURCE_CLAIM_CHANGED})


def concerns(event: Event, key: str, pod: Pod) -> bool:
    """Return whether an event can concern a waiting pod: it is not about another pod, nor about others' claims."""
    if event.of:
        return event.of == key
    if event.by == key:
        return False
    if event.kind in ABOUT_RESOURCE_CLAIMS:
        return bool(pod.spec.resourceClaims) and claim_of(event) in claim_keys(pod)
    if event.kind not in ABOUT_STORAGE_CLAIMS:
        return True
    claim = event.new.metadata
    return bool(claim.namespace == pod.metadata.namespace and any(use.name == claim.name for use in claims_of(pod)))


def claim_of(event: Event) -> ClaimKey:
    """Return the ResourceClaim that an event is about."""
    return event.new.metadata.namespace, event.new.metadata.name


def resource_claim_event(old: ResourceClaim | None, new: ResourceClaim | None) -> Event | None:
    """Return the event of a claim that is added, changed or removed; None if it helps no pod.

    Kubernetes: isSchedulableAfterClaimChange. Differs: the removal of a claim that is allocated, or made for extended
    resources, is an event, too.
    """
    if old is not None and new is None and EXTENDED_RESOURCE_CLAIM in old.metadata.annotations:
        return Event(EventKind.DEVICES_FREED, old)
    if old is not None and old.status.allocation is not None and (new is None or new.status.allocation is None):
        return Event(EventKind.DEVICES_FREED, old, new)
    if new is None or (old is not None and old.status == new.status and _is_leaving(old) == _is_leaving(new)):
        return None
    return Event(EventKind.RESOURCE_CLAIM_ADDED if old is None else EventKind.RESOURCE_CLAIM_CHANGED, old, new)


def _is_leaving(claim: ResourceClaim) -> bool:
    return claim.metadata.deletionTimestamp is not None


def node_events(old: Node | None, new: Node | None) -> tuple[Event, ...]:
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
    if old.status.declaredFeatures != new.status.declaredFeatures:
        kinds.append(EventKind.NODE_DECLARED_FEATURES)
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
    if old.status.resourceClaimStatuses != new.status.resourceClaimStatuses:
        kinds.append(EventKind.OWN_CLAIMS)
    return tuple(Event(kind, old, new, key) for kind in kinds or [EventKind.OWN_OTHER])


def scaled_down(old: Pod, new: Pod) -> bool:
    if old.spec == new.spec:
        return False
    before, after = pod_requests(old.spec), pod_requests(new.spec)
    return any(after.get(name, 0) < value for name, value in before.items())


# -- a plugin's rows ---------------------------------------------------------------------------------------------------

# Given what the plugin wants for the shape, the shape, the event and the cluster: may the plugin now say yes?
Hint = Callable[[Any, Shape, Event, Cluster], bool]
# What a shape waits for: a label of another pod, a port, a claim, a disk.
Key = Hashable
# Given the same but for the event: keys of which an event must have one for the hint to say yes about it; None if that
# cannot be told. No key at all: the hint never says yes.
Needs = Callable[[Any, Shape, Cluster], tuple[Key, ...] | None]


def any_event(event: Event) -> bool:
    return True


def labels_in(event: Event) -> Iterator[Label]:
    """Yield the labels of the event's pod, before and after."""
    for pod in (event.old, event.new):
        if pod is not None:
            yield from pod.metadata.labels.items()


class Requeue(msgspec.Struct, frozen=True):
    """One row of a plugin: events that may undo its refusal; with a hint, only those for which it is true.

    With `needs`, events that have none of the keys it names need not be asked about, if `by_keys` is true of them.
    """

    kinds: frozenset[EventKind]
    hint: Hint | None = None
    needs: Needs | None = None
    by_keys: Callable[[Event], bool] = any_event
    keys: Callable[[Event], Iterable[Key]] = labels_in


def on(
    *kinds: EventKind,
    hint: Hint | None = None,
    needs: Needs | None = None,
    by_keys: Callable[[Event], bool] = any_event,
    keys: Callable[[Event], Iterable[Key]] = labels_in,
) -> Requeue:
    return Requeue(frozenset(kinds), hint, needs, by_keys, keys)
