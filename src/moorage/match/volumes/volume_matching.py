"""Decide which volumes a claim can be bound to, wherever its pod will be, and why not to the others.

Kubernetes: component-helpers/storage/volume, FindMatchingVolume.
Differs: a volume without a phase, as people write them, is available; that is what a cluster would make of it.
"""

from moorage.match.label_selector import EVERYTHING, NOTHING, Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.match.volumes.claims import claim_class, volume_class
from moorage.model.go.quoting import go_quote
from moorage.model.quantity import Quantity
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim

_STORAGE = "storage"
_FILESYSTEM = "Filesystem"
_FREE = ("Available", "")
_ZERO = Quantity.from_int(0)


def is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claimRef
    return (
        reference is not None
        and reference.name == claim.metadata.name
        and reference.namespace == claim.metadata.namespace
        and reference.uid in ("", claim.metadata.uid)
    )


class ClaimMatcher:
    """What one claim asks of a volume."""

    __slots__ = ("_access_modes", "_attributes_class", "_mode", "_selector", "claim", "requested", "storage_class")

    def __init__(self, claim: PersistentVolumeClaim) -> None:
        spec = claim.spec
        self.claim = claim
        self.requested = spec.resources.requests.get(_STORAGE, _ZERO)
        self.storage_class = claim_class(claim)
        self._mode = spec.volumeMode or _FILESYSTEM
        self._attributes_class = spec.volumeAttributesClassName or ""
        self._access_modes = frozenset(spec.accessModes)
        self._selector = _selector(claim)

    def reserved(self, volume: PersistentVolume) -> bool:
        """Return whether the volume was set aside for the claim and would do."""
        return (
            is_reserved_for(volume, self.claim)
            and volume_class(volume) == self.storage_class
            and self._misfit(volume) is None
        )

    def promised(self, volume: PersistentVolume) -> bool:
        """Whether the volume names the claim and can serve it, whatever class it is of: its owner wants it so."""
        return (
            is_reserved_for(volume, self.claim)
            and self._misfit(volume) is None
            and self._access_modes.issubset(volume.spec.accessModes)
        )

    def free(self, volume: PersistentVolume) -> bool:
        return self.explain(volume) is None

    def explain(self, volume: PersistentVolume) -> str | None:
        """Return why a volume that is not set aside for the claim will not do; None if it will."""
        reference, spec = volume.spec.claimRef, volume.spec
        if reference is not None:
            return f"belongs to claim {reference.namespace}/{reference.name}"
        if misfit := self._misfit(volume):
            return misfit
        if volume.status.phase not in _FREE:
            return f"is {volume.status.phase}, not Available"
        if reason := self._selector.explain(volume.metadata.labels):
            return reason
        if volume_class(volume) != self.storage_class:
            return f'class "{volume_class(volume)}" = "{self.storage_class}" is false'
        missing = self._access_modes.difference(spec.accessModes)
        return f"does not offer {', '.join(sorted(missing))}" if missing else None

    def _misfit(self, volume: PersistentVolume) -> str | None:
        capacity = volume.spec.capacity.get(_STORAGE, _ZERO)
        if capacity.compare(self.requested) < 0:
            return f"capacity {capacity} >= {self.requested} is false"
        mode = volume.spec.volumeMode or _FILESYSTEM
        if mode != self._mode:
            return f"volumeMode {mode} = {self._mode} is false"
        attributes_class = volume.spec.volumeAttributesClassName or ""
        if attributes_class != self._attributes_class:
            return f'volumeAttributesClassName "{attributes_class}" = "{self._attributes_class}" is false'
        return "is being deleted" if volume.metadata.deletionTimestamp is not None else None


def capacity_of(volume: PersistentVolume) -> int:
    """Return a volume's size in bytes, by which the smallest that will do is found."""
    return volume.spec.capacity.get(_STORAGE, _ZERO).value()


def preference(volume: PersistentVolume) -> tuple[int, int, str]:
    """Order the volumes that would do: those that can do little else first, the smallest of them first."""
    return len(set(volume.spec.accessModes)), capacity_of(volume), volume.metadata.name


def why_not_requested(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str | None:
    """Return why a claim that asks for this very volume cannot have it, as its event says; None if it can."""
    spec = volume.spec
    if volume.metadata.deletionTimestamp is not None:
        return f"the volume is marked for deletion {go_quote(volume.metadata.name)}"
    if capacity_of(volume) < claim.spec.resources.requests.get(_STORAGE, _ZERO).value():
        return "requested PV is too small"
    if volume_class(volume) != claim_class(claim):
        return "storageClassName does not match"
    if (spec.volumeAttributesClassName or "") != (claim.spec.volumeAttributesClassName or ""):
        return "volumeAttributesClassName does not match"
    if not same_mode(volume, claim):
        return "incompatible volumeMode"
    return None if set(claim.spec.accessModes).issubset(spec.accessModes) else "incompatible accessMode"


def same_mode(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (volume.spec.volumeMode or _FILESYSTEM) == (claim.spec.volumeMode or _FILESYSTEM)


def _selector(claim: PersistentVolumeClaim) -> Selector:
    if claim.spec.selector is None:
        return EVERYTHING
    try:
        return compile_label_selector(claim.spec.selector)
    except SelectorError:
        return NOTHING  # Kubernetes gives up on the pod; no volume will do, either
