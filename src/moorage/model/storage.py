"""PersistentVolumes, PersistentVolumeClaims and StorageClasses.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1 and k8s.io/api/storage/v1. Next: `kinds`, the registry of all kinds.
"""

# The names are the API's own and its reference documents each of them; msgspec copies the empty dict of a default.
# ruff: noqa: D101, RUF012

from moorage.model.claim import PersistentVolumeClaimSpec
from moorage.model.meta import ObjectMeta, ObjectReference, TypeMeta
from moorage.model.named_types import (
    ClaimResourceStatus,
    ConditionStatus,
    PersistentVolumeAccessMode,
    PersistentVolumeClaimConditionType,
    PersistentVolumeClaimModifyVolumeStatus,
    PersistentVolumeClaimPhase,
    PersistentVolumeMode,
    PersistentVolumePhase,
    PersistentVolumeReclaimPolicy,
    ResourceList,
    VolumeBindingMode,
)
from moorage.model.persistent_volume_source import PersistentVolumeSource
from moorage.model.scheduling import NodeSelector
from moorage.model.view import View


class VolumeNodeAffinity(View, frozen=True, gc=False):
    required: NodeSelector | None = None


class PersistentVolumeSpec(PersistentVolumeSource, frozen=True, gc=False):
    capacity: ResourceList = {}
    accessModes: tuple[PersistentVolumeAccessMode, ...] = ()
    claimRef: ObjectReference | None = None
    persistentVolumeReclaimPolicy: PersistentVolumeReclaimPolicy = ""
    storageClassName: str = ""
    mountOptions: tuple[str, ...] = ()
    volumeMode: PersistentVolumeMode | None = None
    nodeAffinity: VolumeNodeAffinity | None = None
    volumeAttributesClassName: str | None = None


class PersistentVolumeStatus(View, frozen=True, gc=False):
    phase: PersistentVolumePhase = ""
    message: str = ""
    reason: str = ""
    lastPhaseTransitionTime: str | None = None


class PersistentVolume(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimCondition(View, frozen=True, gc=False):
    type: PersistentVolumeClaimConditionType = ""
    status: ConditionStatus = ""
    lastProbeTime: str | None = None
    lastTransitionTime: str | None = None
    reason: str = ""
    message: str = ""


class ModifyVolumeStatus(View, frozen=True, gc=False):
    targetVolumeAttributesClassName: str = ""
    status: PersistentVolumeClaimModifyVolumeStatus = ""


class PersistentVolumeClaimStatus(View, frozen=True, gc=False):
    phase: PersistentVolumeClaimPhase = ""
    accessModes: tuple[PersistentVolumeAccessMode, ...] = ()
    capacity: ResourceList = {}
    conditions: tuple[PersistentVolumeClaimCondition, ...] = ()
    allocatedResources: ResourceList = {}
    allocatedResourceStatuses: dict[str, ClaimResourceStatus] = {}
    currentVolumeAttributesClassName: str | None = None
    modifyVolumeStatus: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(View, frozen=True, gc=False):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(View, frozen=True, gc=False):
    matchLabelExpressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaimPolicy: PersistentVolumeReclaimPolicy | None = None
    mountOptions: tuple[str, ...] = ()
    allowVolumeExpansion: bool | None = None
    volumeBindingMode: VolumeBindingMode | None = None
    allowedTopologies: tuple[TopologySelectorTerm, ...] = ()
