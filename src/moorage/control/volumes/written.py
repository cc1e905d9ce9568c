"""Actions that bind and unbind volumes and claims. Kubernetes: bind, unbindVolume, updateClaimStatus.

The volume is written before the claim, and only if unchanged: two claims cannot both get it, and after a crash in
between the claim finds the volume that names it.
"""

from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Patch, Raw, Update, patch_status
from moorage.match.volumes.claims import BIND_COMPLETED
from moorage.match.volumes.volume_matching import is_reserved_for
from moorage.model.kinds import KINDS
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.annotations import BOUND_BY_CONTROLLER

PENDING, BOUND, LOST = "Pending", "Bound", "Lost"
AVAILABLE, RELEASED, FAILED = "Available", "Released", "Failed"
_YES = "yes"
_STORAGE = "storage"


def bind(volume: Object, claim: Object) -> tuple[Action, ...]:
    """Return what makes volume and claim name each other and both Bound; nothing if they are."""
    found = [*_bind_volume(volume, claim)]
    if volume.view.status.phase != BOUND:
        found.append(_phase(volume, BOUND))
    found += _bind_claim(claim, volume)
    found += claim_status(claim, BOUND, volume)
    return tuple(found)


def unbind(volume: Object) -> tuple[Action, ...]:
    """Make a volume Available. A claimRef that was not set by the controller is kept without its UID."""
    spec = dict(volume.raw["spec"])
    annotations = dict(volume.view.metadata.annotations)
    if BOUND_BY_CONTROLLER in annotations:
        del annotations[BOUND_BY_CONTROLLER], spec["claimRef"]
    else:
        spec["claimRef"] = {key: value for key, value in spec["claimRef"].items() if key != "uid"}
    return Update(KINDS.PERSISTENT_VOLUME, changed(volume, annotations=annotations, spec=spec)), _phase(
        volume, AVAILABLE
    )


def volume_phase(volume: Object, phase: str, message: str = "") -> tuple[Action, ...]:
    return () if volume.view.status.phase == phase else (_phase(volume, phase, message, volume.revision),)


def claim_status(claim: Object, phase: str, volume: Object | None = None) -> tuple[Action, ...]:
    """Return the patch of a claim's phase, capacity and access modes; nothing if they are so."""
    status = claim.view.status
    wanted: Raw = {} if status.phase == phase else {"phase": phase}
    if volume is None:
        for name in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
            if getattr(status, name):
                wanted[name] = None
    else:
        spec = volume.raw["spec"]
        if list(status.accessModes) != spec.get("accessModes", []):
            wanted["accessModes"] = spec.get("accessModes")
        if status.phase != phase and status.capacity.get(_STORAGE) != volume.view.spec.capacity.get(_STORAGE):
            wanted["capacity"] = spec.get("capacity")
        attributes_class = volume.view.spec.volumeAttributesClassName
        if status.phase in ("", PENDING) and phase == BOUND and attributes_class:
            wanted["currentVolumeAttributesClassName"] = attributes_class
    if not wanted:
        return ()
    return (patch_status(claim, wanted),)


def changed(found: Object, *, annotations: dict[str, str] | None = None, spec: Raw | None = None) -> Raw:
    """Return the object with other annotations and spec, to be written if unchanged."""
    metadata: dict[str, Any] = {**found.raw["metadata"], "resourceVersion": str(found.revision)}
    if annotations is not None:
        metadata["annotations"] = annotations
    document = {**found.raw, "apiVersion": found.kind.api_version, "kind": found.kind.name, "metadata": metadata}
    if spec is not None:
        document["spec"] = spec
    return document


def _bind_volume(volume: Object, claim: Object) -> tuple[Action, ...]:
    view: PersistentVolume = volume.view
    annotations, spec = dict(view.metadata.annotations), volume.raw["spec"]
    is_theirs = is_reserved_for(view, claim.view)
    if not is_theirs:
        annotations[BOUND_BY_CONTROLLER] = _YES
    reference = view.spec.claimRef
    if is_theirs and reference is not None and reference.uid == claim.uid:
        return ()
    return (
        Update(
            KINDS.PERSISTENT_VOLUME,
            changed(volume, annotations=annotations, spec={**spec, "claimRef": claim.reference}),
        ),
    )


def _bind_claim(claim: Object, volume: Object) -> tuple[Action, ...]:
    view: PersistentVolumeClaim = claim.view
    annotations, spec = dict(view.metadata.annotations), claim.raw["spec"]
    if view.spec.volumeName == volume.name and BIND_COMPLETED in annotations:
        return ()
    if view.spec.volumeName != volume.name:
        annotations[BOUND_BY_CONTROLLER] = _YES
    annotations[BIND_COMPLETED] = _YES
    return (
        Update(
            KINDS.PERSISTENT_VOLUME_CLAIM,
            changed(claim, annotations=annotations, spec={**spec, "volumeName": volume.name}),
        ),
    )


def _phase(volume: Object, phase: str, message: str = "", revision: int = 0) -> Patch:
    return patch_status(volume, {"phase": phase, "message": message or None}, revision)
