"""What a claim on storage asks for; shared by claims of their own and by a pod's ephemeral volumes.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import PersistentVolumeAccessMode, PersistentVolumeMode, ResourceList
from moorage.model.types.meta import LabelSelector, TypedLocalObjectReference, TypedObjectReference
from moorage.model.types.view import View


class VolumeResourceRequirements(View, frozen=True, gc=False):
    limits: ResourceList = ABSENT_MAP
    requests: ResourceList = ABSENT_MAP


class PersistentVolumeClaimSpec(View, frozen=True, gc=False):
    accessModes: tuple[PersistentVolumeAccessMode, ...] = ABSENT_LIST
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volumeName: str = ""
    storageClassName: str | None = None
    volumeMode: PersistentVolumeMode | None = None
    dataSource: TypedLocalObjectReference | None = None
    dataSourceRef: TypedObjectReference | None = None
    volumeAttributesClassName: str | None = None
