"""Views of pods' volumes, claims, PersistentVolumes, classes and CSI objects.

Kubernetes: k8s.io/api/core/v1 and k8s.io/api/storage/v1.
"""

from moorage.model.quantity import Quantity
from moorage.model.schema import named_types as named
from moorage.model.types import volume_sources as sources
from moorage.model.types.meta import (
    ApiObject,
    LabelSelector,
    ObjectMeta,
    ObjectReference,
    TypedLocalObjectReference,
    TypedObjectReference,
)
from moorage.model.types.node import NodeSelector
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, StorageView, View


class VolumeResourceRequirements(View, frozen=True, gc=False):
    limits: named.ResourceList = ABSENT_MAP
    requests: named.ResourceList = ABSENT_MAP


class PersistentVolumeClaimSpec(View, frozen=True, gc=False):
    accessModes: tuple[named.PersistentVolumeAccessMode, ...] = ABSENT_LIST
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volumeName: str = ""
    storageClassName: str | None = None
    volumeMode: named.PersistentVolumeMode | None = None
    dataSource: TypedLocalObjectReference | None = None
    dataSourceRef: TypedObjectReference | None = None
    volumeAttributesClassName: str | None = None


class PersistentVolumeClaimVolumeSource(View, frozen=True, gc=False):
    claimName: str = ""
    readOnly: bool = False


class PersistentVolumeClaimTemplate(View, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(View, frozen=True, gc=False):
    volumeClaimTemplate: PersistentVolumeClaimTemplate | None = None


class ImageVolumeSource(View, frozen=True, gc=False):
    reference: str = ""
    pullPolicy: named.PullPolicy = ""


class VolumeSource(View, frozen=True, gc=False):
    hostPath: sources.HostPathVolumeSource | None = None
    emptyDir: sources.EmptyDirVolumeSource | None = None
    gcePersistentDisk: sources.GCEPersistentDiskVolumeSource | None = None
    awsElasticBlockStore: sources.AWSElasticBlockStoreVolumeSource | None = None
    gitRepo: sources.GitRepoVolumeSource | None = None
    secret: sources.SecretVolumeSource | None = None
    nfs: sources.NFSVolumeSource | None = None
    iscsi: sources.ISCSIVolumeSource | None = None
    glusterfs: sources.GlusterfsVolumeSource | None = None
    persistentVolumeClaim: PersistentVolumeClaimVolumeSource | None = None
    rbd: sources.RBDVolumeSource | None = None
    flexVolume: sources.FlexVolumeSource | None = None
    cinder: sources.CinderVolumeSource | None = None
    cephfs: sources.CephFSVolumeSource | None = None
    flocker: sources.FlockerVolumeSource | None = None
    downwardAPI: sources.DownwardAPIVolumeSource | None = None
    fc: sources.FCVolumeSource | None = None
    azureFile: sources.AzureFileVolumeSource | None = None
    configMap: sources.ConfigMapVolumeSource | None = None
    vsphereVolume: sources.VsphereVirtualDiskVolumeSource | None = None
    quobyte: sources.QuobyteVolumeSource | None = None
    azureDisk: sources.AzureDiskVolumeSource | None = None
    photonPersistentDisk: sources.PhotonPersistentDiskVolumeSource | None = None
    projected: sources.ProjectedVolumeSource | None = None
    portworxVolume: sources.PortworxVolumeSource | None = None
    scaleIO: sources.ScaleIOVolumeSource | None = None
    storageos: sources.StorageOSVolumeSource | None = None
    csi: sources.CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None


class Volume(VolumeSource, frozen=True, gc=False):
    name: str = ""


class VolumeNodeAffinity(View, frozen=True, gc=False):
    required: NodeSelector | None = None


class PersistentVolumeSpec(sources.PersistentVolumeSource, frozen=True, gc=False):
    capacity: named.ResourceList = ABSENT_MAP
    accessModes: tuple[named.PersistentVolumeAccessMode, ...] = ABSENT_LIST
    claimRef: ObjectReference | None = None
    persistentVolumeReclaimPolicy: named.PersistentVolumeReclaimPolicy = ""
    storageClassName: str = ""
    mountOptions: tuple[str, ...] = ABSENT_LIST
    volumeMode: named.PersistentVolumeMode | None = None
    nodeAffinity: VolumeNodeAffinity | None = None
    volumeAttributesClassName: str | None = None


class PersistentVolumeStatus(View, frozen=True, gc=False):
    phase: named.PersistentVolumePhase = ""
    message: str = ""
    reason: str = ""
    lastPhaseTransitionTime: named.Time | None = None


class PersistentVolume(ApiObject, frozen=True, gc=False):
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimCondition(View, frozen=True, gc=False):
    type: named.PersistentVolumeClaimConditionType = ""
    status: named.ConditionStatus = ""
    lastProbeTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class ModifyVolumeStatus(View, frozen=True, gc=False):
    targetVolumeAttributesClassName: str = ""
    status: named.PersistentVolumeClaimModifyVolumeStatus = ""


class PersistentVolumeClaimStatus(View, frozen=True, gc=False):
    phase: named.PersistentVolumeClaimPhase = ""
    accessModes: tuple[named.PersistentVolumeAccessMode, ...] = ABSENT_LIST
    capacity: named.ResourceList = ABSENT_MAP
    conditions: tuple[PersistentVolumeClaimCondition, ...] = ABSENT_LIST
    allocatedResources: named.ResourceList = ABSENT_MAP
    allocatedResourceStatuses: dict[str, named.ClaimResourceStatus] = ABSENT_MAP
    currentVolumeAttributesClassName: str | None = None
    modifyVolumeStatus: ModifyVolumeStatus | None = None


class PersistentVolumeClaim(ApiObject, frozen=True, gc=False):
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class TopologySelectorLabelRequirement(View, frozen=True, gc=False):
    key: str = ""
    values: tuple[str, ...] = ABSENT_LIST


class TopologySelectorTerm(View, frozen=True, gc=False):
    matchLabelExpressions: tuple[TopologySelectorLabelRequirement, ...] = ABSENT_LIST


class StorageClass(ApiObject, frozen=True, gc=False):
    provisioner: str = ""
    parameters: dict[str, str] = ABSENT_MAP
    reclaimPolicy: named.PersistentVolumeReclaimPolicy | None = None
    mountOptions: tuple[str, ...] = ABSENT_LIST
    allowVolumeExpansion: bool | None = None
    volumeBindingMode: named.VolumeBindingMode | None = None
    allowedTopologies: tuple[TopologySelectorTerm, ...] = ABSENT_LIST


class VolumeNodeResources(StorageView, frozen=True, gc=False):
    count: Int32 | None = None


class VolumeAttributesClass(ApiObject, frozen=True, gc=False):
    driverName: str = ""
    parameters: dict[str, str] = ABSENT_MAP


class CSINodeDriver(StorageView, frozen=True, gc=False):
    name: str = ""
    nodeID: str = ""
    topologyKeys: tuple[str, ...] = ABSENT_LIST
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(StorageView, frozen=True, gc=False):
    drivers: tuple[CSINodeDriver, ...] = ABSENT_LIST


class CSINode(ApiObject, frozen=True, gc=False):
    spec: CSINodeSpec = CSINodeSpec()


class TokenRequest(StorageView, frozen=True, gc=False):
    audience: str = ""
    expirationSeconds: Int64 | None = None


class CSIDriverSpec(StorageView, frozen=True, gc=False):
    attachRequired: bool | None = None
    podInfoOnMount: bool | None = None
    volumeLifecycleModes: tuple[str, ...] = ABSENT_LIST
    storageCapacity: bool | None = None
    fsGroupPolicy: str | None = None
    tokenRequests: tuple[TokenRequest, ...] = ABSENT_LIST
    requiresRepublish: bool | None = None
    seLinuxMount: bool | None = None
    nodeAllocatableUpdatePeriodSeconds: Int64 | None = None
    serviceAccountTokenInSecrets: bool | None = None
    preventPodSchedulingIfMissing: bool | None = None


class CSIDriver(ApiObject, frozen=True, gc=False):
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(ApiObject, frozen=True, gc=False):
    nodeTopology: LabelSelector | None = None
    storageClassName: str = ""
    capacity: Quantity | None = None
    maximumVolumeSize: Quantity | None = None


class VolumeAttachmentSource(StorageView, frozen=True, gc=False):
    persistentVolumeName: str | None = None
    inlineVolumeSpec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(StorageView, frozen=True, gc=False):
    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    nodeName: str = ""


class VolumeError(StorageView, frozen=True, gc=False):
    time: named.Time | None = None
    message: str = ""
    errorCode: Int32 | None = None


class VolumeAttachmentStatus(StorageView, frozen=True, gc=False):
    attached: bool = False
    attachmentMetadata: dict[str, str] = ABSENT_MAP
    attachError: VolumeError | None = None
    detachError: VolumeError | None = None


class VolumeAttachment(ApiObject, frozen=True, gc=False):
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
