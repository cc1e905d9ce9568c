"""Plugins for claims and volumes: resizing, the default StorageClass, protection while in use.

Kubernetes: PersistentVolumeClaimResize, DefaultStorageClass (of several defaults the newest wins, then the first by
name), StorageObjectInUseProtection, which needs the controllers that take its finalizers away.
"""

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw, part
from moorage.admit.world import AdmissionWorld
from moorage.match.volumes.claims import claim_class, default_class
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.well_known.annotations import BETA_STORAGE_CLASS
from moorage.model.well_known.finalizers import CLAIM_IN_USE, VOLUME_ATTRIBUTES_CLASS_IN_USE, VOLUME_IN_USE

_NOT_BOUND = "Only bound persistent volume claims can be expanded"
_NOT_ALLOWED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)
_STORAGE = "storage"


class PersistentVolumeClaimResize(Plugin):
    """Checks that a claim that grows is bound, and that its class allows it."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def validate(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.PERSISTENT_VOLUME_CLAIM or old is None:
            return
        claim, before = convert_view(new, PersistentVolumeClaim), convert_view(old, PersistentVolumeClaim)
        size, size_before = (one.spec.resources.requests.get(_STORAGE) for one in (claim, before))
        if size is None or (size_before is not None and not size_before < size):
            return
        if before.status.phase != "Bound":
            raise Forbidden(_NOT_BOUND)
        name = claim_class(claim)
        storage_class = self._world.storage_classes().get(name) if name == claim_class(before) else None
        if storage_class is None:
            can_expand = bool(name) and self._world.assumes(KINDS.STORAGE_CLASS, name, kind)
        else:
            can_expand = bool(storage_class.allowVolumeExpansion)
        if not can_expand:
            raise Forbidden(_NOT_ALLOWED)


class DefaultStorageClass(Plugin):
    """Gives a new claim that names no class the default one, if there is one."""

    def __init__(self, world: AdmissionWorld) -> None:
        self._world = world

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        if kind is not KINDS.PERSISTENT_VOLUME_CLAIM or old is not None:
            return
        spec = part(new, "spec")
        annotations = (new.get("metadata") or {}).get("annotations") or {}
        if BETA_STORAGE_CLASS in annotations or spec.get("storageClassName") is not None:
            return
        default = default_class(tuple(self._world.storage_classes().values()))
        if default is not None:
            spec["storageClassName"] = default.metadata.name


FINALIZERS = {
    KINDS.PERSISTENT_VOLUME: VOLUME_IN_USE,
    KINDS.PERSISTENT_VOLUME_CLAIM: CLAIM_IN_USE,
    KINDS.VOLUME_ATTRIBUTES_CLASS: VOLUME_ATTRIBUTES_CLASS_IN_USE,
}


class StorageObjectInUseProtection(Plugin):
    """Adds the finalizer when the object is made, and never again."""

    def admit(self, kind: Kind, new: Raw, old: Raw | None) -> None:
        finalizer = FINALIZERS.get(kind)
        if finalizer is None or old is not None:
            return
        metadata = part(new, "metadata")
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
