"""Volumes whose content the cluster or the node provides as files: config maps, secrets, projections, directories.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.quantity import Quantity
from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import HostPathType, StorageMedium
from moorage.model.types.container import ObjectFieldSelector, ResourceFieldSelector
from moorage.model.types.meta import LabelSelector, LocalObjectReference
from moorage.model.types.view import Int32, Int64, View


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
