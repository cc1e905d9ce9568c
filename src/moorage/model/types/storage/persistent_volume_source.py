"""Where the bytes of a PersistentVolume are.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.types.meta import ObjectReference, SecretReference
from moorage.model.types.storage.volume_backends import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    FCVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from moorage.model.types.storage.volume_files import HostPathVolumeSource
from moorage.model.types.view import Int32, View


class GlusterfsPersistentVolumeSource(View, frozen=True, gc=False):
    endpoints: str = ""
    path: str = ""
    readOnly: bool = False
    endpointsNamespace: str | None = None


class RBDPersistentVolumeSource(View, frozen=True, gc=False):
    monitors: tuple[str, ...] = ABSENT_LIST
    image: str = ""
    fsType: str = ""
    pool: str = ""
    user: str = ""
    keyring: str = ""
    secretRef: SecretReference | None = None
    readOnly: bool = False


class ISCSIPersistentVolumeSource(View, frozen=True, gc=False):
    targetPortal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    iscsiInterface: str = ""
    fsType: str = ""
    readOnly: bool = False
    portals: tuple[str, ...] = ABSENT_LIST
    chapAuthDiscovery: bool = False
    chapAuthSession: bool = False
    secretRef: SecretReference | None = None
    initiatorName: str | None = None


class CinderPersistentVolumeSource(View, frozen=True, gc=False):
    volumeID: str = ""
    fsType: str = ""
    readOnly: bool = False
    secretRef: SecretReference | None = None


class CephFSPersistentVolumeSource(View, frozen=True, gc=False):
    monitors: tuple[str, ...] = ABSENT_LIST
    path: str = ""
    user: str = ""
    secretFile: str = ""
    secretRef: SecretReference | None = None
    readOnly: bool = False


class FlexPersistentVolumeSource(View, frozen=True, gc=False):
    driver: str = ""
    fsType: str = ""
    secretRef: SecretReference | None = None
    readOnly: bool = False
    options: dict[str, str] = ABSENT_MAP


class AzureFilePersistentVolumeSource(View, frozen=True, gc=False):
    secretName: str = ""
    shareName: str = ""
    readOnly: bool = False
    secretNamespace: str | None = None


class ScaleIOPersistentVolumeSource(View, frozen=True, gc=False):
    gateway: str = ""
    system: str = ""
    secretRef: SecretReference | None = None
    sslEnabled: bool = False
    protectionDomain: str = ""
    storagePool: str = ""
    storageMode: str = ""
    volumeName: str = ""
    fsType: str = ""
    readOnly: bool = False


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
