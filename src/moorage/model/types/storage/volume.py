"""A pod's volumes: one name, one source.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.named_types import PullPolicy
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.storage.claim_spec import PersistentVolumeClaimSpec
from moorage.model.types.storage.volume_backends import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from moorage.model.types.storage.volume_files import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    ProjectedVolumeSource,
    SecretVolumeSource,
)
from moorage.model.types.view import View


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
    pullPolicy: PullPolicy = ""


class VolumeSource(View, frozen=True, gc=False):
    hostPath: HostPathVolumeSource | None = None
    emptyDir: EmptyDirVolumeSource | None = None
    gcePersistentDisk: GCEPersistentDiskVolumeSource | None = None
    awsElasticBlockStore: AWSElasticBlockStoreVolumeSource | None = None
    gitRepo: GitRepoVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    nfs: NFSVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    glusterfs: GlusterfsVolumeSource | None = None
    persistentVolumeClaim: PersistentVolumeClaimVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    flexVolume: FlexVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    cephfs: CephFSVolumeSource | None = None
    flocker: FlockerVolumeSource | None = None
    downwardAPI: DownwardAPIVolumeSource | None = None
    fc: FCVolumeSource | None = None
    azureFile: AzureFileVolumeSource | None = None
    configMap: ConfigMapVolumeSource | None = None
    vsphereVolume: VsphereVirtualDiskVolumeSource | None = None
    quobyte: QuobyteVolumeSource | None = None
    azureDisk: AzureDiskVolumeSource | None = None
    photonPersistentDisk: PhotonPersistentDiskVolumeSource | None = None
    projected: ProjectedVolumeSource | None = None
    portworxVolume: PortworxVolumeSource | None = None
    scaleIO: ScaleIOVolumeSource | None = None
    storageos: StorageOSVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    image: ImageVolumeSource | None = None


class Volume(VolumeSource, frozen=True, gc=False):
    name: str = ""
