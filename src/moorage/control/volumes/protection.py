"""Finalizers that keep claims and volumes while they are in use.

Claims: keys are namespaces, so that pods are listed once for all deleted claims; the finalizer is removed when no pod
with a node uses the claim, by the API server's own list. Volumes: the finalizer is removed when the volume is not
Bound. Both add missing finalizers. Kubernetes: pkg/controller/volume/pvcprotection and pvprotection.
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
from moorage.model.well_known.finalizers import CLAIM_IN_USE, VOLUME_IN_USE


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
