"""What storage drivers say about themselves and about nodes: CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/storage/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.quantity import Quantity
from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import Time
from moorage.model.types.meta import LabelSelector, ObjectMeta, TypeMeta
from moorage.model.types.storage.persistent_volume import PersistentVolumeSpec
from moorage.model.types.view import Int32, Int64, StorageView


class VolumeNodeResources(StorageView, frozen=True, gc=False):
    count: Int32 | None = None


class CSINodeDriver(StorageView, frozen=True, gc=False):
    name: str = ""
    nodeID: str = ""
    topologyKeys: tuple[str, ...] = ABSENT_LIST
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(StorageView, frozen=True, gc=False):
    drivers: tuple[CSINodeDriver, ...] = ABSENT_LIST


class CSINode(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
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


class CSIDriver(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
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
    time: Time | None = None
    message: str = ""
    errorCode: Int32 | None = None


class VolumeAttachmentStatus(StorageView, frozen=True, gc=False):
    attached: bool = False
    attachmentMetadata: dict[str, str] = ABSENT_MAP
    attachError: VolumeError | None = None
    detachError: VolumeError | None = None


class VolumeAttachment(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
