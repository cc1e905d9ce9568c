"""Keep claims, volumes and VolumeAttributesClasses while they are in use, by finalizers.

Claims: keys are namespaces, so that pods are listed once for all deleted claims; the finalizer is removed when no pod
with a node uses the claim, by the API server's own list. Volumes: the finalizer is removed when the volume is not
Bound. Classes: it is removed when no claim or volume names the class. Missing finalizers are added. Kubernetes:
pkg/controller/volume/pvcprotection, pvprotection and vacprotection.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Patch, Plan, Question, patch_metadata
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.control.volumes.volume_index import PodUses, is_over, keeps
from moorage.control.volumes.written import BOUND
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.finalizers import CLAIM_IN_USE, VOLUME_ATTRIBUTES_CLASS_IN_USE, VOLUME_IN_USE


class ClaimProtection(Controller):
    """Protects claims that pods use."""

    name = "persistentvolumeclaim-protection-controller"
    watches = (KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.POD)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._uses = PodUses()

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.POD:
            keys = self._uses.changed(old, new)
            return self._pod_changed(old, new, keys, world) if keys else ()
        if new is None:
            return ()
        return (new.namespace,) if is_wrong(new.view.metadata, CLAIM_IN_USE) else ()

    def _pod_changed(
        self, old: Object | None, new: Object | None, claims: Sequence[str], world: World
    ) -> Iterable[str]:
        """Return the namespace if the pod may have been the last to use a deleted claim."""
        is_new = old is None or new is None or old.uid != new.uid
        if new is not None and not is_new and new.view.spec.nodeName and not is_over(new.view):
            return ()
        for key in claims:
            claim = world.view(KINDS.PERSISTENT_VOLUME_CLAIM, key)
            if claim is not None and claim.metadata.deletionTimestamp is not None:
                return (key.partition("/")[0],)
        return ()

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        return (Question(KINDS.POD, key),) if any(self._unused(key, world)) else ()

    def _unused(self, namespace: str, world: World) -> Iterable[Object]:
        """Yield deleted claims that no cached pod uses."""
        for claim in world.in_namespace(KINDS.PERSISTENT_VOLUME_CLAIM, namespace):
            if is_to_go(claim.view.metadata, CLAIM_IN_USE) and not any(
                keeps(pod.view, claim.view) for pod in self._uses.of(claim.key)
            ):
                yield claim

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return Plan(tuple(self._additions(key, world)))

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        uses = PodUses()
        for pod in answers.get(Question(KINDS.POD, key), ()):
            uses.changed(None, pod)
        unused = [
            claim
            for claim in self._unused(key, world)
            if not any(keeps(pod.view, claim.view) for pod in uses.of(claim.key))
        ]
        return Plan((*self._additions(key, world), *(without(claim, CLAIM_IN_USE) for claim in unused)))

    def _additions(self, namespace: str, world: World) -> Iterable[Action]:
        for claim in world.in_namespace(KINDS.PERSISTENT_VOLUME_CLAIM, namespace):
            if lacks(claim.view.metadata, CLAIM_IN_USE):
                yield patch_metadata(claim, {"finalizers": [CLAIM_IN_USE]})


class VolumeProtection(Controller):
    """Protects bound volumes."""

    name = "persistentvolume-protection-controller"
    watches = (KINDS.PERSISTENT_VOLUME,)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (new.key,) if new is not None and is_wrong(new.view.metadata, VOLUME_IN_USE) else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        volume = world.get(KINDS.PERSISTENT_VOLUME, key)
        if volume is None:
            return NOTHING
        metadata: ObjectMeta = volume.view.metadata
        if lacks(metadata, VOLUME_IN_USE):
            return Plan((patch_metadata(volume, {"finalizers": [VOLUME_IN_USE]}),))
        if is_to_go(metadata, VOLUME_IN_USE) and volume.view.status.phase != BOUND:
            return Plan((without(volume, VOLUME_IN_USE),))
        return NOTHING


def is_to_go(metadata: ObjectMeta, finalizer: str) -> bool:
    return metadata.deletionTimestamp is not None and finalizer in metadata.finalizers


def lacks(metadata: ObjectMeta, finalizer: str) -> bool:
    return metadata.deletionTimestamp is None and finalizer not in metadata.finalizers


def is_wrong(metadata: ObjectMeta, finalizer: str) -> bool:
    """Return whether the finalizer is to be added, or removed if nothing uses the object."""
    return (metadata.deletionTimestamp is None) != (finalizer in metadata.finalizers)


def without(found: Object, finalizer: str) -> Patch:
    """Remove a finalizer, if the object is unchanged: a volume may have been bound."""
    gone = {"$deleteFromPrimitiveList/finalizers": [finalizer], "resourceVersion": str(found.revision)}
    return patch_metadata(found, gone)


def named_classes(view: PersistentVolumeClaim | PersistentVolume) -> set[str]:
    """Return the classes that a claim wants, has or is being changed to, or that a volume has."""
    names = {view.spec.volumeAttributesClassName}
    if isinstance(view, PersistentVolumeClaim):
        names.add(view.status.currentVolumeAttributesClassName)
        if view.status.modifyVolumeStatus is not None:
            names.add(view.status.modifyVolumeStatus.targetVolumeAttributesClassName)
    return {name for name in names if name}


class AttributesClassProtection(Controller):
    """Protects VolumeAttributesClasses."""

    name = "volumeattributesclass-protection-controller"
    watches = (KINDS.VOLUME_ATTRIBUTES_CLASS, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.PERSISTENT_VOLUME)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        #: How many claims and volumes name a class.
        self._uses: dict[str, int] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.VOLUME_ATTRIBUTES_CLASS:
            return (new.key,) if new is not None and is_wrong(new.view.metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE) else ()
        before = named_classes(old.view) if old is not None else set[str]()
        after = named_classes(new.view) if new is not None else set[str]()
        for name in after - before:
            self._uses[name] = self._uses.get(name, 0) + 1
        for name in before - after:
            self._uses[name] -= 1
            if not self._uses[name]:
                del self._uses[name]
        return before - after

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        volume_attributes_class = world.get(KINDS.VOLUME_ATTRIBUTES_CLASS, key)
        if volume_attributes_class is None:
            return NOTHING
        metadata: ObjectMeta = volume_attributes_class.view.metadata
        if lacks(metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE):
            return Plan((patch_metadata(volume_attributes_class, {"finalizers": [VOLUME_ATTRIBUTES_CLASS_IN_USE]}),))
        if is_to_go(metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE) and key not in self._uses:
            return Plan((without(volume_attributes_class, VOLUME_ATTRIBUTES_CLASS_IN_USE),))
        return NOTHING
