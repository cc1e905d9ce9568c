"""PersistentVolumes, PersistentVolumeClaims and StorageClasses.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1 and k8s.io/api/storage/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import (
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
    Time,
    VolumeBindingMode,
)
from moorage.model.types.meta import ObjectMeta, ObjectReference, TypeMeta
from moorage.model.types.scheduling import NodeSelector
from moorage.model.types.storage.claim_spec import PersistentVolumeClaimSpec
from moorage.model.types.storage.persistent_volume_source import PersistentVolumeSource
from moorage.model.types.view import View


class VolumeNodeAffinity(View, frozen=True, gc=False):
    required: NodeSelector | None = None


class PersistentVolumeSpec(PersistentVolumeSource, frozen=True, gc=False):
    capacity: ResourceList = ABSENT_MAP
    accessModes: tuple[PersistentVolumeAccessMode, ...] = ABSENT_LIST
    claimRef: ObjectReference | None = None
    persistentVolumeReclaimPolicy: PersistentVolumeReclaimPolicy = ""
    storageClassName: str = ""
    mountOptions: tuple[str, ...] = ABSENT_LIST
    volumeMode: PersistentVolumeMode | None = None
    nodeAffinity: VolumeNodeAffinity | None = None
    volumeAttributesClassName: str | None = None


class PersistentVolumeStatus(View, frozen=True, gc=False):
    phase: PersistentVolumePhase = ""
    message: str = ""
    reason: str = ""
    lastPhaseTransitionTime: Time | None = None


class PersistentVolume(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimCondition(View, frozen=True, gc=False):
    type: PersistentVolumeClaimConditionType = ""
    status: ConditionStatus = ""
    lastProbeTime: Time | None = None
    lastTransitionTime: Time | None = None
    reason: str = ""
    message: str = ""


class ModifyVolumeStatus(View, frozen=True, gc=False):
    targetVolumeAttributesClassName: str = ""
    status: PersistentVolumeClaimModifyVolumeStatus = ""


class PersistentVolumeClaimStatus(View, frozen=True, gc=False):
    phase: PersistentVolumeClaimPhase = ""
    accessModes: tuple[PersistentVolumeAccessMode, ...] = ABSENT_LIST
    capacity: ResourceList = ABSENT_MAP
    conditions: tuple[PersistentVolumeClaimCondition, ...] = ABSENT_LIST
    allocatedResources: ResourceList = ABSENT_MAP
    allocatedResourceStatuses: dict[str, ClaimResourceStatus] = ABSENT_MAP
    currentVolumeAttributesClassName: str | None = None
    modifyVolumeStatus: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(View, frozen=True, gc=False):
    key: str = ""
    values: tuple[str, ...] = ABSENT_LIST


class TopologySelectorTerm(View, frozen=True, gc=False):
    matchLabelExpressions: tuple[TopologySelectorLabelRequirement, ...] = ABSENT_LIST


class StorageClass(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = ABSENT_MAP
    reclaimPolicy: PersistentVolumeReclaimPolicy | None = None
    mountOptions: tuple[str, ...] = ABSENT_LIST
    allowVolumeExpansion: bool | None = None
    volumeBindingMode: VolumeBindingMode | None = None
    allowedTopologies: tuple[TopologySelectorTerm, ...] = ABSENT_LIST
