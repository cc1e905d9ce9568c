"""Bind claims and volumes. Kubernetes: pkg/controller/volume/persistentvolume.

Keys: a claim as `namespace/name`, a volume by its name. Node affinity of volumes is left to the scheduler and the
kubelet. Differs: reconciles what a change concerns, not everything every 15 seconds.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Answers, Plan, Question
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.pods_of import POD
from moorage.control.framework.world import World
from moorage.control.volumes.claims import ClaimSync
from moorage.control.volumes.pod_uses import PodUses
from moorage.control.volumes.provisioning import NODE, STORAGE_CLASS, Provisioner
from moorage.control.volumes.volume_index import VolumeIndex, claim_of
from moorage.control.volumes.volumes import VolumeSync
from moorage.control.volumes.written import BOUND, CLAIM, VOLUME
from moorage.match.volumes.claims import BIND_COMPLETED, claim_class, is_default, volume_class
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.model.types.storage import PersistentVolume, StorageClass
from moorage.telemetry.metrics import Metrics

_PLUGINS = {
    "hostPath": "kubernetes.io/host-path",
    "local": "kubernetes.io/local-volume",
    "nfs": "kubernetes.io/nfs",
    "iscsi": "kubernetes.io/iscsi",
    "fc": "kubernetes.io/fc",
}
_Counts = Mapping[tuple[str, ...], float]


class PersistentVolumeBinder(Controller):
    """Reconciles claims and volumes. Its memory can be rebuilt from objects, but for the last event."""

    name = "persistentvolume-binder-controller"
    component = "persistentvolume-controller"
    watches = (VOLUME, CLAIM, STORAGE_CLASS, NODE, POD)

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
        number = "number of persistent volume"
        gauges: list[tuple[str, str, Callable[[], _Counts], tuple[str, ...]]] = [
            ("total_pv_count", f"total {number}s", self._all_volumes, ("plugin_name", "volume_mode"))
        ]
        for state in ("bound", "unbound"):
            volumes = partial(self._volumes_by_class, state == "bound")
            claims = partial(self._claims_by_class, state == "bound")
            gauges.append((f"{state}_pv_count", f"{number} currently {state}", volumes, ("storage_class",)))
            gauges.append((f"{state}_pvc_count", f"{number} claim currently {state}", claims, claim_labels))
        for name, what, count, labels in gauges:
            metrics.gauge_function(f"pv_collector_{name}", f"Gauge measuring {what}", count, labels)
        name, what = "retroactive_storageclass", "retroactive StorageClass assignments to persistent volume claim"
        self._retroactive = metrics.counter(f"{name}_total", f"Total number of {what}")
        self._retroactive_errors = metrics.counter(f"{name}_errors_total", f"Total number of failed {what}")

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        self._world = world
        if kind is POD:
            return self._pod_changed(old, new, world)
        if kind is VOLUME:
            return self._volume_changed(old, new)
        if kind is CLAIM:
            return self._claim_changed(old, new, world)
        return self._class_changed(new.view) if kind is STORAGE_CLASS and new is not None else ()

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
                if world.get(VOLUME, found.view.spec.volumeName) is not None:
                    keys[found.view.spec.volumeName] = None
        return keys

    def _class_changed(self, storage_class: StorageClass) -> Iterable[str]:
        keys = self._shelf.waiting(storage_class.metadata.name)
        return [*keys, *self._shelf.waiting("")] if is_default(storage_class) else keys

    def _pod_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        """Return unbound claims, whose event names the pod they wait for."""
        waiting = []
        for key in self._uses.changed(old, new):
            claim = world.view(CLAIM, key)
            if claim is not None and not claim.spec.volumeName and BIND_COMPLETED not in claim.metadata.annotations:
                waiting.append(key)
        return waiting

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        if _is_claim(key):
            claim = world.get(CLAIM, key)
            return self._claims.questions(claim, world) if claim is not None else ()
        volume = world.get(VOLUME, key)
        return self._volumes.questions(volume, world) if volume is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        if _is_claim(key):
            return self._claims.plan(key, world.get(CLAIM, key), world, answers)
        return self._volumes.plan(world.get(VOLUME, key), world, answers)

    def done(self, key: str, plan: Plan, now: float) -> None:
        if self._claims.gave_class(key):
            self._retroactive.labels().inc()

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        if self._claims.gave_class(key):
            self._retroactive.labels().inc()
            self._retroactive_errors.labels().inc()
        return ()

    def _all_volumes(self) -> _Counts:
        views = [found.view for found in self._world.all(VOLUME)] if self._world is not None else []
        return Counter((_plugin(view), view.spec.volumeMode or "Filesystem") for view in views)

    def _volumes_by_class(self, bound: bool) -> _Counts:
        views = [found.view for found in self._world.all(VOLUME)] if self._world is not None else []
        return Counter((volume_class(view),) for view in views if (view.status.phase == BOUND) == bound)

    def _claims_by_class(self, bound: bool) -> _Counts:
        views = [found.view for found in self._world.all(CLAIM)] if self._world is not None else []
        return Counter(
            (view.metadata.namespace, claim_class(view), view.spec.volumeAttributesClassName or "")
            for view in views
            if (view.status.phase == BOUND) == bound
        )


def _plugin(volume: PersistentVolume) -> str:
    """Return the name of the volume's plugin for metrics."""
    if volume.spec.csi is not None:
        return f"kubernetes.io/csi:{volume.spec.csi.driver}"
    return next((name for source, name in _PLUGINS.items() if getattr(volume.spec, source) is not None), "N/A")


def _is_claim(key: str) -> bool:
    return "/" in key
