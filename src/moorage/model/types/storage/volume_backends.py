"""Volumes that a storage product provides, as a pod names them.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import AzureDataDiskCachingMode, AzureDataDiskKind
from moorage.model.types.meta import LocalObjectReference
from moorage.model.types.view import Int32, View


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
