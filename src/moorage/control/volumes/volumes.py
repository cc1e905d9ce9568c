"""Reconcile one volume: bind, release, reclaim. Kubernetes: syncVolume and reclaimVolume.

Differs: a volume is deleted in the step after its release, if unchanged; one that is deleted before its claim has taken
it is released.
"""

from collections.abc import Sequence

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
from moorage.control.framework.world import World
from moorage.control.volumes.claims import VOLUME_MISMATCH
from moorage.control.volumes.provisioning import PROVISIONED_BY, Provisioner
from moorage.control.volumes.volume_index import claim_of
from moorage.control.volumes.written import AVAILABLE, BOUND, CLAIM, FAILED, RELEASED, VOLUME, unbind, volume_phase
from moorage.match.volumes.volume_matching import same_mode
from moorage.model.go.quoting import go_quote
from moorage.model.types.storage import PersistentVolume

_NO_PLUGIN = "no deletable volume plugin matched"
#: Finalizers of the volume controller and of external provisioners.
_FINALIZERS = ("kubernetes.io/pv-controller", "external-provisioner.volume.kubernetes.io/finalizer")
_RETAIN, _DELETE, _RECYCLE = "Retain", "Delete", "Recycle"


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
        claim = world.get(CLAIM, claim_of(view))
        if claim is not None and claim.uid == reference.uid:
            return ()
        return (Question(CLAIM, reference.namespace, reference.name),)

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
        claim = world.get(CLAIM, key)
        if claim is None or claim.uid != reference.uid:
            question = Question(CLAIM, reference.namespace, reference.name)
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
        return [one for one in view.metadata.finalizers if one in _FINALIZERS]

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
            return () if is_leaving else (Delete(VOLUME, "", volume.name, volume.uid, revision=volume.revision),)
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
