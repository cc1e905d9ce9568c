"""Empty inboxes of informer batches in slices: nodes, storage, devices, budgets and controllers before pods.

Kinds are not ordered among each other, so a pod is looked at when its node, its claims and its Service are known.
Kubernetes: eventhandlers.go and the informers' processors.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.match.label_selector import compile_label_selector, compile_label_set
from moorage.match.requirement import SelectorError
from moorage.match.volumes.claims import ClaimKey
from moorage.model.gates import DRA_DEVICE_TAINT_RULES, DYNAMIC_RESOURCE_ALLOCATION, GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError
from moorage.model.types.core import Namespace
from moorage.model.types.devices import ResourceClaim
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.storage import CSIDriver, CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim
from moorage.schedule.cycle import Scheduler
from moorage.schedule.framework.events import Event, EventKind, resource_claim_event
from moorage.schedule.live.pod_feed import PodFeed
from moorage.schedule.plugins.spread_domains import DefaultSelectors
from moorage.schedule.plugins.volumes.volume_needs import largest_volume
from moorage.telemetry.logs import get_logger

_LOG = get_logger("scheduler")
# In the order in which they are looked at; pods come last.
_WATCHED = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "CSINode"),
    ("storage.k8s.io/v1", "CSIDriver"),
    ("storage.k8s.io/v1", "CSIStorageCapacity"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("storage.k8s.io/v1", "VolumeAttachment"),
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceSlice"),
    ("resource.k8s.io/v1beta2", "DeviceTaintRule"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("v1", "Service"),
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Pod"),
)
_GATES = {
    "DeviceClass": DYNAMIC_RESOURCE_ALLOCATION,
    "ResourceSlice": DYNAMIC_RESOURCE_ALLOCATION,
    "DeviceTaintRule": DRA_DEVICE_TAINT_RULES,
    "ResourceClaim": DYNAMIC_RESOURCE_ALLOCATION,
}


def watched_kinds(gates: GateSet) -> tuple[Kind, ...]:
    """Return the kinds that scheduling reads, as far as Moorage knows them and their gates are on."""
    known = (KINDS[key] for key in _WATCHED if key in KINDS)
    return tuple(kind for kind in known if kind.name not in _GATES or gates.enabled(_GATES[kind.name]))


# Of each kind, what its coming and its changing are to those who wait; what is not here takes more than that to say.
_EVENTS = {
    "PersistentVolume": (EventKind.VOLUME_ADDED, EventKind.VOLUME_CHANGED),
    "PersistentVolumeClaim": (EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED),
    "StorageClass": (EventKind.STORAGE_CLASS_ADDED, EventKind.STORAGE_CLASS_CHANGED),
    "CSINode": (EventKind.CSI_NODE_ADDED, EventKind.CSI_NODE_CHANGED),
}
_DEVICE_EVENTS = {
    "DeviceClass": (EventKind.DEVICE_CLASS_ADDED, EventKind.DEVICE_CLASS_CHANGED),
    "ResourceSlice": (EventKind.RESOURCE_SLICE_ADDED, EventKind.RESOURCE_SLICE_CHANGED),
    "DeviceTaintRule": (EventKind.RESOURCE_SLICE_CHANGED, EventKind.RESOURCE_SLICE_CHANGED),
}
_DEVICES = frozenset({*_DEVICE_EVENTS, "ResourceClaim"})
_STORAGE = frozenset({*_EVENTS, "CSIDriver", "CSIStorageCapacity", "VolumeAttachment"})
_CONTROLLERS = frozenset({"ReplicationController", "ReplicaSet", "StatefulSet"})


class SurroundingsFeed:
    """Other kinds from watches to the scheduler.

    `claims_changed` is called when a claim or volume changes, `resource_claims_changed` when a ResourceClaim does.
    """

    def __init__(self, scheduler: Scheduler, selectors: DefaultSelectors) -> None:
        self._scheduler = scheduler
        self._storage = scheduler.cluster.storage
        self._selectors = selectors
        self.claims_changed: Callable[[], None] = lambda: None
        self.resource_claims_changed: Callable[[], None] = lambda: None
        self._selected_by: dict[tuple[str, str, str], Any] = {}
        self.claims: dict[ClaimKey, PersistentVolumeClaim] = {}
        self.volumes: dict[str, PersistentVolume] = {}

    def changed(self, kind: str, old: Any, new: Any, now: float, revision: int = 0) -> None:
        """Take in an object that was added (no `old`) or changed, at this revision."""
        if kind in _DEVICES:
            self._devices_changed(kind, old, new, now, revision)
        elif kind in _STORAGE:
            self._storage_changed(kind, old, new, now)
        elif isinstance(new, Namespace):
            self._scheduler.namespace_changed(new.metadata.name, new.metadata.labels, now)
        elif isinstance(new, PodDisruptionBudget):
            if old is None or (old.spec, old.status) != (new.spec, new.status):
                self._scheduler.budgets.set(new)
        else:
            self._select(kind, new.metadata.namespace, new.metadata.name, new.spec.selector)

    def gone(self, kind: str, old: Any, now: float) -> None:
        """Take in that an object was deleted."""
        if kind in _DEVICES:
            self._devices_gone(kind, old, now)
        elif kind in _STORAGE:
            self._storage_gone(kind, old, now)
        elif isinstance(old, PodDisruptionBudget):
            self._scheduler.budgets.remove(old.metadata.namespace, old.metadata.name)
        elif isinstance(old, Namespace):  # nothing is left in it
            self._scheduler.cluster.remove_namespace(old.metadata.name)
        else:
            self._select(kind, old.metadata.namespace, old.metadata.name, None)

    # -- devices ------------------------------------------------------------------------------------------------------

    def _devices_changed(self, kind: str, old: Any, new: Any, now: float, revision: int) -> None:
        devices = self._scheduler.cluster.devices
        if isinstance(new, ResourceClaim):
            devices.set(new, revision)
            self.resource_claims_changed()
            event = resource_claim_event(old, new)
            if event is not None:
                self._scheduler.happened(event, now)
        elif old is None or old.spec != new.spec:
            devices.set(new)
            self._scheduler.happened(Event(_DEVICE_EVENTS[kind][old is not None], old, new), now)

    def _devices_gone(self, kind: str, old: Any, now: float) -> None:
        self._scheduler.cluster.devices.remove(old)
        if isinstance(old, ResourceClaim):
            self.resource_claims_changed()
            event = resource_claim_event(old, None)
            if event is not None:
                self._scheduler.happened(event, now)
        elif kind != "DeviceClass":  # a slice that is gone may have made its pool incomplete or invalid
            self._scheduler.happened(Event(EventKind.RESOURCE_SLICE_CHANGED, old), now)

    # -- storage ------------------------------------------------------------------------------------------------------

    def _storage_changed(self, kind: str, old: Any, new: Any, now: float) -> None:
        self._storage.set(new)
        if isinstance(new, PersistentVolumeClaim):
            self.claims[new.metadata.namespace, new.metadata.name] = new
            self.claims_changed()
        elif isinstance(new, PersistentVolume):
            self.volumes[new.metadata.name] = new
            self.claims_changed()
        kinds = _EVENTS.get(kind)
        if kinds is not None:
            self._scheduler.happened(Event(kinds[old is not None], old, new), now)
        elif (isinstance(new, CSIStorageCapacity) and _has_more(old, new)) or (
            isinstance(new, CSIDriver) and old is not None and _counted(old) and not _counted(new)
        ):
            self._scheduler.happened(Event(EventKind.STORAGE_CAPACITY, old, new), now)

    def _storage_gone(self, kind: str, old: Any, now: float) -> None:
        self._storage.remove(old)
        if isinstance(old, PersistentVolumeClaim):
            self.claims.pop((old.metadata.namespace, old.metadata.name), None)
            self.claims_changed()
        elif isinstance(old, PersistentVolume):
            self.volumes.pop(old.metadata.name, None)
            self.claims_changed()
        elif kind == "VolumeAttachment":
            self._scheduler.happened(Event(EventKind.ATTACHMENT_REMOVED, old), now)
        elif isinstance(old, CSIDriver) and _counted(old):
            self._scheduler.happened(Event(EventKind.STORAGE_CAPACITY, old), now)

    # -- who belongs together -----------------------------------------------------------------------------------------

    def _select(self, kind: str, namespace: str, name: str, selector: Any) -> None:
        """Set a selector if it changed; status alone changes all the time."""
        key = (kind, namespace, name)
        if self._selected_by.get(key) == selector:
            return
        if selector is None:
            del self._selected_by[key]
        else:
            self._selected_by[key] = selector
        if kind == "Service":
            self._selectors.set_service(namespace, name, selector)
        elif kind in _CONTROLLERS:
            self._selectors.set_controller(kind, namespace, name, _compile(selector))


def _compile(selector: Any) -> Any:
    if selector is None:
        return None
    if isinstance(selector, dict):
        return compile_label_set(selector)
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return None


def _counted(driver: CSIDriver) -> bool:
    return bool(driver.spec.storageCapacity)


def _has_more(old: CSIStorageCapacity | None, new: CSIStorageCapacity) -> bool:
    """Return whether a larger volume than before can be provisioned."""
    if old is None:
        return True
    before, after = largest_volume(old), largest_volume(new)
    return after is not None and (before is None or after > before)


class Feed:
    """One inbox per watched kind. `wake` is called when something arrives."""

    def __init__(
        self,
        pods: PodFeed,
        surroundings: SurroundingsFeed,
        kinds: Iterable[Kind],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._pods = pods
        self._surroundings = surroundings
        self._wake = wake
        self._inboxes: dict[Kind, deque[Delta]] = {kind: deque() for kind in kinds}
        self._arrived = 0

    def handler(self, kind: Kind) -> Callable[[Sequence[Delta]], None]:
        inbox = self._inboxes[kind]

        def arrived(deltas: Sequence[Delta]) -> None:
            inbox.extend(deltas)
            self._arrived += len(deltas)
            self._wake()

        return arrived

    def put(self, kind: Kind, delta: Delta) -> None:
        """Take in one change; one of a kind that is not watched is ignored."""
        inbox = self._inboxes.get(kind)
        if inbox is not None:
            inbox.append(delta)
            self._arrived += 1
            self._wake()

    def __bool__(self) -> bool:
        return self._arrived > 0

    def take(self, clock: Callable[[], float], until: float) -> int:
        """Process what arrived until the time is up, at least one delta; return how many."""
        taken = 0
        for kind, inbox in self._inboxes.items():
            while inbox:
                if taken and not taken & 7 and clock() >= until:
                    self._arrived -= taken
                    return taken
                taken += 1
                self._tell(kind, inbox.popleft(), clock())
        self._arrived -= taken
        return taken

    def _tell(self, kind: Kind, delta: Delta, now: float) -> None:
        old, new = delta
        try:
            if kind is KINDS.POD:
                self._tell_pod(old, new, now)
            elif kind is KINDS.NODE:
                if new is not None:
                    self._pods.node_changed(new.view, now)
                elif old is not None:
                    self._pods.node_gone(old.name, now)
            elif new is not None:
                self._surroundings.changed(kind.name, _view(old), new.view, now, new.revision)
            elif old is not None:
                self._surroundings.gone(kind.name, old.view, now)
        except ConversionError as error:
            # Only a foreign API server has such objects. What it was before still holds.
            _LOG.error("An object that cannot be read", kind=kind.name, key=_key(delta), err=str(error))
        except Exception:
            # A mistake of ours, about one object: the others must not suffer for it.
            _LOG.exception("An object could not be taken in", kind=kind.name, key=_key(delta))

    def _tell_pod(self, old: Object | None, new: Object | None, now: float) -> None:
        if new is not None:
            self._pods.pod_changed(new.key, new.view, now, new.template)
        elif old is not None:
            self._pods.pod_gone(old.key, old.view, now)


def _key(delta: Delta) -> str:
    return next((version.key for version in (delta.new, delta.old) if version is not None), "")


def _view(version: Object | None) -> Any:
    return version.view if version is not None else None
