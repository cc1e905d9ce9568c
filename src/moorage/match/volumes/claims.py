"""Find a pod's claims on storage, their state, and which of them scheduling can tell apart.

A shape carries `ClaimFacts` in place of claim names: a thousand pods that each have a claim of their own are one shape,
as long as the volumes are alike. A claim is itself and no other if it matters who else uses it, if a volume was
reserved for it, or if a message would name it. Kubernetes: volumebinding's podHasPVCs and GetPodVolumeClaims.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from moorage.match.volumes.csi_migration import Attachable, moved_disk
from moorage.model.quantity import Quantity
from moorage.model.types.pod import Pod, PodSpec
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.model.well_known.annotations import BETA_DEFAULT_STORAGE_CLASS, BETA_STORAGE_CLASS, DEFAULT_STORAGE_CLASS
from moorage.model.well_known.labels import BETA_REGION, BETA_ZONE, REGION, ZONE

READ_WRITE_ONCE_POD = "ReadWriteOncePod"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)

ClaimKey = tuple[str, str]  # namespace and name
Key = tuple[Any, ...]
_DEFAULT_ANNOTATIONS = (
    DEFAULT_STORAGE_CLASS,
    BETA_DEFAULT_STORAGE_CLASS,
)


class ClaimUse(NamedTuple):
    """A claim as a pod names it; `ephemeral` ones are made for the pod and bear its name."""

    name: str
    ephemeral: bool


class ClaimState(StrEnum):
    """What has become of a claim."""

    MISSING = "not found"
    LOST = "its volume is gone"
    DELETED = "being deleted"
    FOREIGN = "made for another pod"
    BOUND = "bound"
    DELAYED = "bound when its pod gets a node"
    IMMEDIATE = "not bound, and the scheduler is not the one to bind it"


_BY_NAME = frozenset({ClaimState.MISSING, ClaimState.LOST, ClaimState.DELETED, ClaimState.FOREIGN})


class ClaimFacts(msgspec.Struct, frozen=True):
    """One claim of a pod, as it was when the shape was made. `is_itself`: no other claim is meant."""

    use: ClaimUse
    state: ClaimState
    claim: PersistentVolumeClaim | None = None
    volume: PersistentVolume | None = None
    storage_class: StorageClass | None = None
    attachable: Attachable | None = None
    is_reserved: bool = False  # there is a volume that names this claim and would do
    is_itself: bool = False
    pod: str = ""  # whom an ephemeral claim should have been made for

    def may_be(self, name: str) -> bool:
        """Return whether a pod of this shape may have the claim of this name."""
        return self.use.name == name or not (self.is_itself or self.state in _BY_NAME)

    @property
    def is_exclusive(self) -> bool:
        return self.claim is not None and not self.use.ephemeral and READ_WRITE_ONCE_POD in self.claim.spec.accessModes


def claims_of(pod: Pod) -> tuple[ClaimUse, ...]:
    """Return the claims of a pod in its order, each once."""
    uses: dict[ClaimUse, None] = {}
    for volume in pod.spec.volumes:
        if volume.persistentVolumeClaim is not None:
            uses[ClaimUse(volume.persistentVolumeClaim.claimName, False)] = None
        elif volume.ephemeral is not None:
            uses[ClaimUse(f"{pod.metadata.name}-{volume.name}", True)] = None
    return tuple(uses)


def claim_class(claim: PersistentVolumeClaim) -> str:
    """Return the name of a claim's StorageClass; empty if it asks for none."""
    old = claim.metadata.annotations.get(BETA_STORAGE_CLASS)
    return (claim.spec.storageClassName or "") if old is None else old


def volume_class(volume: PersistentVolume) -> str:
    old = volume.metadata.annotations.get(BETA_STORAGE_CLASS)
    return volume.spec.storageClassName if old is None else old


# -- keys ---------------------------------------------------------------------------------------------------------


def facts_key(kind: ClaimFacts) -> Key:
    """Return a key that is equal for two claims exactly when scheduling a pod cannot tell them apart."""
    state, use, claim = kind.state, kind.use, kind.claim
    if state in _BY_NAME or claim is None:
        return state, use, claim.spec.volumeName if claim is not None else ""
    name = use if kind.is_itself else use.ephemeral
    if state is ClaimState.BOUND:
        if kind.volume is None:
            return state, use, claim.spec.volumeName
        return state, name, _volume_key(kind.volume, kind.attachable)
    if state is ClaimState.IMMEDIATE:
        volume = _volume_key(kind.volume, kind.attachable) if kind.volume is not None else None
        return state, name, claim_class(claim), claim.spec.volumeName, volume, _class_key(kind.storage_class)
    return state, name, kind.is_reserved, _request_key(claim), _class_key(kind.storage_class)


def _volume_key(volume: PersistentVolume, attachable: Attachable | None) -> Key:
    labels = volume.metadata.labels
    zones = tuple((label, labels[label]) for label in TOPOLOGY_LABELS if label in labels) if labels else ()
    affinity = volume.spec.nodeAffinity
    where = encode_view(affinity) if affinity is not None else b""
    return where, zones, (attachable.driver, attachable.plugin) if attachable is not None else ()


def _request_key(claim: PersistentVolumeClaim) -> Key:
    spec = claim.spec
    return (
        claim_class(claim),
        spec.accessModes,
        str(spec.resources.requests.get("storage", "")),
        encode_view(spec.selector) if spec.selector is not None else b"",
        spec.volumeMode,
        spec.volumeAttributesClassName,
        claim.metadata.annotations.get(SELECTED_NODE),
    )


def _class_key(storage_class: StorageClass | None) -> Key:
    if storage_class is None:
        return ()
    mode, topologies = storage_class.volumeBindingMode, storage_class.allowedTopologies
    return storage_class.metadata.name, storage_class.provisioner, mode, encode_view(topologies) if topologies else b""


def inline_key(spec: PodSpec) -> Key:
    """Return what scheduling reads of volumes that are not claims: disks and images. Secrets are everywhere."""
    return tuple(
        source
        for volume in spec.volumes
        for source in (
            volume.gcePersistentDisk,
            volume.awsElasticBlockStore,
            volume.iscsi,
            volume.rbd,
            volume.azureDisk,
            volume.cinder,
            volume.portworxVolume,
            volume.image,
        )
        if source is not None
    )


def inline_attachables(spec: PodSpec) -> tuple[Attachable, ...]:
    """Return the disks in a pod's spec that take one of a driver's places where a driver took over."""
    return tuple(disk for volume in spec.volumes if (disk := moved_disk(volume, {})) is not None)


def _encode_quantity(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value)
    raise TypeError(f"cannot encode {type(value).__name__}")


encode_view = msgspec.msgpack.Encoder(enc_hook=_encode_quantity).encode


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """Return the class that claims without one get: of those marked the newest, then the first by name.

    Kubernetes: pkg/volume/util, GetDefaultClass.
    """
    marked = sorted((class_ for class_ in classes if is_default(class_)), key=lambda each: each.metadata.name)
    marked.sort(key=lambda each: each.metadata.creationTimestamp or "", reverse=True)
    return marked[0] if marked else None


def is_default(storage_class: StorageClass) -> bool:
    """Return whether it is marked as default; several classes may be."""
    return any(storage_class.metadata.annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
