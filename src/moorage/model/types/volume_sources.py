"""Views of the sources of volumes: storage products, files made from objects, sources of PersistentVolumes.

Kubernetes: k8s.io/api/core/v1.
"""

from moorage.model.quantity import Quantity
from moorage.model.schema.named_types import AzureDataDiskCachingMode, AzureDataDiskKind, HostPathType, StorageMedium
from moorage.model.types.container import ObjectFieldSelector, ResourceFieldSelector
from moorage.model.types.meta import LabelSelector, LocalObjectReference, ObjectReference, SecretReference
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View


class GCEPersistentDiskVolumeSource(View, frozen=True, gc=False):
    pdName: str = ""
    fsType: str = ""
    partition: Int32 = 0
    readOnly: bool = False


class AWSElasticBlockStoreVolumeSource(View, frozen=True, gc=False):
    volumeID: str = ""
    fsType: str = ""
    partition: Int32 = 0
    readOnly: bool = False


class GitRepoVolumeSource(View, frozen=True, gc=False):
    repository: str = ""
    revision: str = ""
    directory: str = ""


class NFSVolumeSource(View, frozen=True, gc=False):
    server: str = ""
    path: str = ""
    readOnly: bool = False


class ISCSIVolumeSource(View, frozen=True, gc=False):
    targetPortal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    iscsiInterface: str = ""
    fsType: str = ""
    readOnly: bool = False
    portals: tuple[str, ...] = ABSENT_LIST
    chapAuthDiscovery: bool = False
    chapAuthSession: bool = False
    secretRef: LocalObjectReference | None = None
    initiatorName: str | None = None


class GlusterfsVolumeSource(View, frozen=True, gc=False):
    endpoints: str = ""
    path: str = ""
    readOnly: bool = False


class RBDVolumeSource(View, frozen=True, gc=False):
    monitors: tuple[str, ...] = ABSENT_LIST
    image: str = ""
    fsType: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secretRef: LocalObjectReference | None = None
    readOnly: bool = False


class FlexVolumeSource(View, frozen=True, gc=False):
    driver: str = ""
    fsType: str = ""
    secretRef: LocalObjectReference | None = None
    readOnly: bool = False
    options: dict[str, str] = ABSENT_MAP


class CinderVolumeSource(View, frozen=True, gc=False):
    volumeID: str = ""
    fsType: str = ""
    readOnly: bool = False
    secretRef: LocalObjectReference | None = None


class CephFSVolumeSource(View, frozen=True, gc=False):
    monitors: tuple[str, ...] = ABSENT_LIST
    path: str = ""
    user: str = ""
    secretFile: str = ""
    secretRef: LocalObjectReference | None = None
    readOnly: bool = False


class FlockerVolumeSource(View, frozen=True, gc=False):
    datasetName: str = ""
    datasetUUID: str = ""


class FCVolumeSource(View, frozen=True, gc=False):
    targetWWNs: tuple[str, ...] = ABSENT_LIST
    lun: Int32 | None = None
    fsType: str = ""
    readOnly: bool = False
    wwids: tuple[str, ...] = ABSENT_LIST


class AzureFileVolumeSource(View, frozen=True, gc=False):
    secretName: str = ""
    shareName: str = ""
    readOnly: bool = False


class VsphereVirtualDiskVolumeSource(View, frozen=True, gc=False):
    volumePath: str = ""
    fsType: str = ""
    storagePolicyName: str = ""
    storagePolicyID: str = ""


class QuobyteVolumeSource(View, frozen=True, gc=False):
    registry: str = ""
    volume: str = ""
    readOnly: bool = False
    user: str = ""
    group: str = ""
    tenant: str = ""


class AzureDiskVolumeSource(View, frozen=True, gc=False):
    diskName: str = ""
    diskURI: str = ""
    cachingMode: AzureDataDiskCachingMode | None = None
    fsType: str | None = None
    readOnly: bool | None = None
    kind: AzureDataDiskKind | None = None


class PhotonPersistentDiskVolumeSource(View, frozen=True, gc=False):
    pdID: str = ""
    fsType: str = ""


class PortworxVolumeSource(View, frozen=True, gc=False):
    volumeID: str = ""
    fsType: str = ""
    readOnly: bool = False


class ScaleIOVolumeSource(View, frozen=True, gc=False):
    gateway: str = ""
    system: str = ""
    secretRef: LocalObjectReference | None = None
    sslEnabled: bool = False
    protectionDomain: str = ""
    storagePool: str = ""
    storageMode: str = ""
    volumeName: str = ""
    fsType: str = ""
    readOnly: bool = False


class StorageOSVolumeSource(View, frozen=True, gc=False):
    volumeName: str = ""
    volumeNamespace: str = ""
    fsType: str = ""
    readOnly: bool = False
    secretRef: LocalObjectReference | None = None


class CSIVolumeSource(View, frozen=True, gc=False):
    driver: str = ""
    readOnly: bool | None = None
    fsType: str | None = None
    volumeAttributes: dict[str, str] = ABSENT_MAP
    nodePublishSecretRef: LocalObjectReference | None = None


class HostPathVolumeSource(View, frozen=True, gc=False):
    path: str = ""
    type: HostPathType | None = None


class EmptyDirVolumeSource(View, frozen=True, gc=False):
    medium: StorageMedium = ""
    sizeLimit: Quantity | None = None


class KeyToPath(View, frozen=True, gc=False):
    key: str = ""
    path: str = ""
    mode: Int32 | None = None


class SecretVolumeSource(View, frozen=True, gc=False):
    secretName: str = ""
    items: tuple[KeyToPath, ...] = ABSENT_LIST
    defaultMode: Int32 | None = None
    optional: bool | None = None


class DownwardAPIVolumeFile(View, frozen=True, gc=False):
    path: str = ""
    fieldRef: ObjectFieldSelector | None = None
    resourceFieldRef: ResourceFieldSelector | None = None
    mode: Int32 | None = None


class DownwardAPIVolumeSource(View, frozen=True, gc=False):
    items: tuple[DownwardAPIVolumeFile, ...] = ABSENT_LIST
    defaultMode: Int32 | None = None


class ConfigMapVolumeSource(LocalObjectReference, frozen=True, gc=False):
    items: tuple[KeyToPath, ...] = ABSENT_LIST
    defaultMode: Int32 | None = None
    optional: bool | None = None


class SecretProjection(LocalObjectReference, frozen=True, gc=False):
    items: tuple[KeyToPath, ...] = ABSENT_LIST
    optional: bool | None = None


class DownwardAPIProjection(View, frozen=True, gc=False):
    items: tuple[DownwardAPIVolumeFile, ...] = ABSENT_LIST


class ConfigMapProjection(LocalObjectReference, frozen=True, gc=False):
    items: tuple[KeyToPath, ...] = ABSENT_LIST
    optional: bool | None = None


class ServiceAccountTokenProjection(View, frozen=True, gc=False):
    audience: str = ""
    expirationSeconds: Int64 | None = None
    path: str = ""


class ClusterTrustBundleProjection(View, frozen=True, gc=False):
    name: str | None = None
    signerName: str | None = None
    labelSelector: LabelSelector | None = None
    optional: bool | None = None
    path: str = ""


class PodCertificateProjection(View, frozen=True, gc=False):
    signerName: str = ""
    keyType: str = ""
    maxExpirationSeconds: Int32 | None = None
    credentialBundlePath: str = ""
    keyPath: str = ""
    certificateChainPath: str = ""
    userAnnotations: dict[str, str] = ABSENT_MAP


class VolumeProjection(View, frozen=True, gc=False):
    secret: SecretProjection | None = None
    downwardAPI: DownwardAPIProjection | None = None
    configMap: ConfigMapProjection | None = None
    serviceAccountToken: ServiceAccountTokenProjection | None = None
    clusterTrustBundle: ClusterTrustBundleProjection | None = None
    podCertificate: PodCertificateProjection | None = None


class ProjectedVolumeSource(View, frozen=True, gc=False):
    sources: tuple[VolumeProjection, ...] = ABSENT_LIST
    defaultMode: Int32 | None = None


class GlusterfsPersistentVolumeSource(GlusterfsVolumeSource, frozen=True, gc=False):
    endpointsNamespace: str | None = None


class RBDPersistentVolumeSource(RBDVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class ISCSIPersistentVolumeSource(ISCSIVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class CinderPersistentVolumeSource(CinderVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class CephFSPersistentVolumeSource(CephFSVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class FlexPersistentVolumeSource(FlexVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class AzureFilePersistentVolumeSource(AzureFileVolumeSource, frozen=True, gc=False):
    secretNamespace: str | None = None


class ScaleIOPersistentVolumeSource(ScaleIOVolumeSource, frozen=True, gc=False):
    secretRef: SecretReference | None = None


class LocalVolumeSource(View, frozen=True, gc=False):
    path: str = ""
    fsType: str | None = None


class StorageOSPersistentVolumeSource(View, frozen=True, gc=False):
    volumeName: str = ""
    volumeNamespace: str = ""
    fsType: str = ""
    readOnly: bool = False
    secretRef: ObjectReference | None = None


class CSIPersistentVolumeSource(View, frozen=True, gc=False):
    driver: str = ""
    volumeHandle: str = ""
    readOnly: bool = False
    fsType: str = ""
    volumeAttributes: dict[str, str] = ABSENT_MAP
    controllerPublishSecretRef: SecretReference | None = None
    nodeStageSecretRef: SecretReference | None = None
    nodePublishSecretRef: SecretReference | None = None
    controllerExpandSecretRef: SecretReference | None = None
    nodeExpandSecretRef: SecretReference | None = None


class PersistentVolumeSource(View, frozen=True, gc=False):
    gcePersistentDisk: GCEPersistentDiskVolumeSource | None = None
    awsElasticBlockStore: AWSElasticBlockStoreVolumeSource | None = None
    hostPath: HostPathVolumeSource | None = None
    glusterfs: GlusterfsPersistentVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    rbd: RBDPersistentVolumeSource | None = None
    iscsi: ISCSIPersistentVolumeSource | None = None
    cinder: CinderPersistentVolumeSource | None = None
    cephfs: CephFSPersistentVolumeSource | None = None
    fc: FCVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    flexVolume: FlexPersistentVolumeSource | None = None
    azureFile: AzureFilePersistentVolumeSource | None = None
    vsphereVolume: VsphereVirtualDiskVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    azureDisk: AzureDiskVolumeSource | None = None
    photonPersistentDisk: PhotonPersistentDiskVolumeSource | None = None
    portworxVolume: PortworxVolumeSource | None = None
    scaleIO: ScaleIOPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    storageos: StorageOSPersistentVolumeSource | None = None
    csi: CSIPersistentVolumeSource | None = None
