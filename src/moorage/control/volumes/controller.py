"""Bind claims and volumes. Kubernetes: pkg/controller/volume/persistentvolume.

Keys: a claim as `namespace/name`, a volume by its name. Node affinity of volumes is left to the scheduler and the
kubelet. Differs: reconciles what a change concerns, not everything every 15 seconds; a volume is deleted in the step
after its release, if unchanged; one that is deleted before its claim has taken it is released.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import (
    NOTHING,
    Action,
    Answers,
    Delete,
    Plan,
    Question,
    note,
    patch_metadata,
    warn,
)
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.control.volumes.claims import VOLUME_MISMATCH, ClaimSync
from moorage.control.volumes.provisioning import PROVISIONED_BY, Provisioner
from moorage.control.volumes.volume_index import PodUses, VolumeIndex, claim_of
from moorage.control.volumes.written import AVAILABLE, BOUND, FAILED, RELEASED, unbind, volume_phase
from moorage.match.volumes.claims import BIND_COMPLETED, claim_class, is_default, volume_class
from moorage.match.volumes.volume_matching import same_mode
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.telemetry.metrics import Metrics

_NO_PLUGIN = "no deletable volume plugin matched"
#: Finalizers of the volume controller and of external provisioners.
_FINALIZERS = ("kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer")
_RETAIN, _DELETE, _RECYCLE = "Retain", "Delete", "Recycle"


_PLUGINS = {
    "hostPath": "kubernetes.io/host-path",
    "local": "kubernetes.io/local-volume",
    "nfs": "kubernetes.io/nfs",
    "iscsi": "kubernetes.io/iscsi",
    "fc": "kubernetes.io/fc",
}
_Counts = Mapping[tuple[str, ...], float]


class VolumeSync:
    """Plans for volumes."""

    def __init__(self, provisioner: Provisioner) -> None:
        self._provisioner = provisioner
        self._mismatched: dict[str, str] = {}  # volume → claim whose mismatch was reported

    def questions(self, volume: Object, world: World) -> Sequence[Question]:
        """Look up a claim that is not in the caches before its volume is released."""
        view: PersistentVolume = volume.view
        reference = view.spec.claimRef
        if reference is None or not reference.uid:
            return ()
        if view.status.phase in (RELEASED, FAILED) and not self._is_deleted_here(view):
            return ()
        claim = world.get(KINDS.PERSISTENT_VOLUME_CLAIM, claim_of(view))
        if claim is not None and claim.uid == reference.uid:
            return ()
        return (Question(KINDS.PERSISTENT_VOLUME_CLAIM, reference.namespace, reference.name),)

    def plan(self, volume: Object | None, world: World, answers: Answers) -> Plan:
        if volume is None:
            return NOTHING
        view: PersistentVolume = volume.view
        reference = view.spec.claimRef
        if gone := self._forsaken(view):
            return Plan((patch_metadata(volume, {"$deleteFromPrimitiveList/finalizers": gone}),))
        if reference is None or not reference.uid:
            return Plan(volume_phase(volume, AVAILABLE))
        key = claim_of(view)
        claim = world.get(KINDS.PERSISTENT_VOLUME_CLAIM, key)
        if claim is None or claim.uid != reference.uid:
            question = Question(KINDS.PERSISTENT_VOLUME_CLAIM, reference.namespace, reference.name)
            claim = next((one for one in answers.get(question, ()) if one.uid == reference.uid), None)
        if claim is None:
            return Plan(self._released(volume))
        bound_to = claim.view.spec.volumeName
        if bound_to == volume.name:
            return Plan(volume_phase(volume, BOUND))
        if not bound_to:
            return self._unfinished(volume, claim, key)
        if PROVISIONED_BY in view.metadata.annotations and view.spec.persistentVolumeReclaimPolicy == _DELETE:
            return Plan(self._released(volume))
        return Plan(unbind(volume))

    def _forsaken(self, view: PersistentVolume) -> list[str]:
        """Return the provisioners' finalizers of a deleted volume that has no real storage."""
        if view.metadata.deletionTimestamp is None or view.status.phase == BOUND or not self._provisioner.deletes(view):
            return []
        return [finalizer for finalizer in view.metadata.finalizers if finalizer in _FINALIZERS]

    def _unfinished(self, volume: Object, claim: Object, key: str) -> Plan:
        """Wake the claim that is to take the volume; release a volume that is being deleted."""
        if volume.view.metadata.deletionTimestamp is not None:
            return Plan(unbind(volume), wakes=(key,))
        if same_mode(volume.view, claim.view):
            self._mismatched.pop(volume.name, None)
            return Plan(wakes=(key,))
        if self._mismatched.get(volume.name) == claim.uid:
            return NOTHING
        self._mismatched[volume.name] = claim.uid
        why = "due to incompatible volumeMode."
        ours = f"Cannot bind PersistentVolume to requested PersistentVolumeClaim {go_quote(claim.name)} {why}"
        theirs = f"Cannot bind PersistentVolume {go_quote(volume.name)} to requested PersistentVolumeClaim {why}"
        return Plan((warn(volume, VOLUME_MISMATCH, ours), warn(claim, VOLUME_MISMATCH, theirs)))

    def _released(self, volume: Object) -> tuple[Action, ...]:
        view: PersistentVolume = volume.view
        if view.status.phase not in (RELEASED, FAILED):
            return volume_phase(volume, RELEASED)
        policy = view.spec.persistentVolumeReclaimPolicy
        if policy == _RETAIN:
            return ()
        if policy == _RECYCLE:
            if self._provisioner.deletes(view) and (view.spec.hostPath is not None or view.spec.nfs is not None):
                return (*unbind(volume), note(volume, "VolumeRecycled", "Volume recycled"))
            return _fail(volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
        if policy != _DELETE:
            text = "Volume has unrecognized PersistentVolumeReclaimPolicy"
            return _fail(volume, "VolumeUnknownReclaimPolicy", text)
        if self._is_deleted_here(view):
            is_leaving = view.metadata.deletionTimestamp is not None
            return (
                ()
                if is_leaving
                else (Delete(KINDS.PERSISTENT_VOLUME, "", volume.name, volume.uid, revision=volume.revision),)
            )
        provisioner = view.metadata.annotations.get(PROVISIONED_BY, "")
        if view.spec.csi is not None or (provisioner and not provisioner.startswith("kubernetes.io/")):
            return ()  # an external provisioner deletes it
        text = f"error getting deleter volume plugin for volume {go_quote(volume.name)}: {_NO_PLUGIN}"
        return _fail(volume, "VolumeFailedDelete", text)

    def _is_deleted_here(self, view: PersistentVolume) -> bool:
        return view.spec.persistentVolumeReclaimPolicy == _DELETE and self._provisioner.deletes(view)


def _fail(volume: Object, reason: str, message: str) -> tuple[Action, ...]:
    if volume.view.status.phase == FAILED:
        return ()
    return (*volume_phase(volume, FAILED, message), warn(volume, reason, message))


class PersistentVolumeBinder(Controller):
    """Reconciles claims and volumes. Its memory can be rebuilt from objects, but for the last event."""

    name = "persistentvolume-binder-controller"
    component = "persistentvolume-controller"
    watches = (KINDS.PERSISTENT_VOLUME, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.STORAGE_CLASS, KINDS.NODE, KINDS.POD)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._shelf, self._uses = VolumeIndex(), PodUses()
        provisioner = Provisioner(context.simulates_storage)
        self._claims = ClaimSync(self._shelf, self._uses, provisioner)
        self._volumes = VolumeSync(provisioner)
        self._world: World | None = None
        self._add_metrics(context.metrics)

    def _add_metrics(self, metrics: Metrics) -> None:
        claim_labels = ("namespace", "storage_class", "volume_attributes_class")
        number, plugin_labels = "number of persistent volume", ("plugin_name", "volume_mode")
        gauges: list[tuple[str, str, Callable[[], _Counts], tuple[str, ...]]] = [
            (
                "total_pv_count",
                f"total {number}s",
                partial(self._count, KINDS.PERSISTENT_VOLUME, _plugin),
                plugin_labels,
            )
        ]
        for state in ("bound", "unbound"):
            volumes = partial(
                self._count, KINDS.PERSISTENT_VOLUME, lambda volume: (volume_class(volume),), state == "bound"
            )
            claims = partial(self._count, KINDS.PERSISTENT_VOLUME_CLAIM, _classes, state == "bound")
            gauges.append((f"{state}_pv_count", f"{number} currently {state}", volumes, ("storage_class",)))
            gauges.append((f"{state}_pvc_count", f"{number} claim currently {state}", claims, claim_labels))
        for name, what, count, labels in gauges:
            metrics.gauge_function(f"pv_collector_{name}", f"Gauge measuring {what}", count, labels)
        name, what = "retroactive_storageclass", "retroactive StorageClass assignments to persistent volume claim"
        self._retroactive = metrics.counter(f"{name}_total", f"Total number of {what}")
        self._retroactive_errors = metrics.counter(f"{name}_errors_total", f"Total number of failed {what}")

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        self._world = world
        if kind is KINDS.POD:
            return self._pod_changed(old, new, world)
        if kind is KINDS.PERSISTENT_VOLUME:
            return self._volume_changed(old, new)
        if kind is KINDS.PERSISTENT_VOLUME_CLAIM:
            return self._claim_changed(old, new, world)
        return self._class_changed(new.view) if kind is KINDS.STORAGE_CLASS and new is not None else ()

    def _volume_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        self._shelf.volume_changed(old, new)
        keys: dict[str, None] = {}
        for found in (old, new):
            if found is not None:
                keys[found.key] = None
                keys |= dict.fromkeys(self._shelf.claims_naming(found.key))
                keys |= dict.fromkeys(filter(None, (claim_of(found.view),)))
        if new is not None:
            keys |= dict.fromkeys(self._shelf.waiting_for(new.view))
        return keys

    def _claim_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        self._shelf.claim_changed(old, new)
        keys: dict[str, None] = {}
        for found in (old, new):
            if found is not None:
                keys[found.key] = None
                keys |= dict.fromkeys(self._shelf.volumes_naming(found.key))
                if world.get(KINDS.PERSISTENT_VOLUME, found.view.spec.volumeName) is not None:
                    keys[found.view.spec.volumeName] = None
        return keys

    def _class_changed(self, storage_class: StorageClass) -> Iterable[str]:
        keys = self._shelf.waiting(storage_class.metadata.name)
        return [*keys, *self._shelf.waiting("")] if is_default(storage_class) else keys

    def _pod_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        """Return unbound claims, whose event names the pod they wait for."""
        waiting = []
        for key in self._uses.changed(old, new):
            claim = world.view(KINDS.PERSISTENT_VOLUME_CLAIM, key)
            if claim is not None and not claim.spec.volumeName and BIND_COMPLETED not in claim.metadata.annotations:
                waiting.append(key)
        return waiting

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        if _is_claim(key):
            claim = world.get(KINDS.PERSISTENT_VOLUME_CLAIM, key)
            return self._claims.questions(claim, world) if claim is not None else ()
        volume = world.get(KINDS.PERSISTENT_VOLUME, key)
        return self._volumes.questions(volume, world) if volume is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        if _is_claim(key):
            return self._claims.plan(key, world.get(KINDS.PERSISTENT_VOLUME_CLAIM, key), world, answers)
        return self._volumes.plan(world.get(KINDS.PERSISTENT_VOLUME, key), world, answers)

    def done(self, key: str, plan: Plan, now: float) -> None:
        if self._claims.gave_class(key):
            self._retroactive.labels().inc()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        if self._claims.gave_class(key):
            self._retroactive.labels().inc()
            self._retroactive_errors.labels().inc()
        return ()

    def _count(self, kind: Kind, labels: Callable[[Any], tuple[str, ...]], bound: bool | None = None) -> _Counts:
        views = [found.view for found in self._world.all(kind)] if self._world is not None else []
        return Counter(labels(view) for view in views if bound is None or (view.status.phase == BOUND) == bound)


def _plugin(volume: PersistentVolume) -> tuple[str, str]:
    """Return the name of the volume's plugin and its mode, for metrics."""
    spec = volume.spec
    name = next((name for source, name in _PLUGINS.items() if getattr(spec, source) is not None), "N/A")
    return f"kubernetes.io/csi:{spec.csi.driver}" if spec.csi is not None else name, spec.volumeMode or "Filesystem"


def _classes(claim: PersistentVolumeClaim) -> tuple[str, str, str]:
    return claim.metadata.namespace, claim_class(claim), claim.spec.volumeAttributesClassName or ""


def _is_claim(key: str) -> bool:
    return "/" in key
