"""What is sent to subresources and never stored: Binding, Eviction, Scale, DeleteOptions.

In: raw documents, by way of `conversion.convert_view`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1, policy/v1, autoscaling/v1, k8s.io/apimachinery/pkg/apis/meta/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import UID, DeletionPropagation
from moorage.model.types.meta import ObjectMeta, ObjectReference, TypeMeta
from moorage.model.types.view import AutoscalingView, Int32, Int64, MetaView


class Binding(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    target: ObjectReference = ObjectReference()


class Preconditions(MetaView, frozen=True, gc=False):
    uid: UID | None = None
    resourceVersion: str | None = None


class DeleteOptions(TypeMeta, frozen=True, gc=False):
    package = MetaView.package

    gracePeriodSeconds: Int64 | None = None
    preconditions: Preconditions | None = None
    orphanDependents: bool | None = None
    propagationPolicy: DeletionPropagation | None = None
    dryRun: tuple[str, ...] = ABSENT_LIST
    ignoreStoreReadErrorWithClusterBreakingPotential: bool | None = None


class Eviction(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    deleteOptions: DeleteOptions | None = None


class ScaleSpec(AutoscalingView, frozen=True, gc=False):
    replicas: Int32 = 0


class ScaleStatus(AutoscalingView, frozen=True, gc=False):
    replicas: Int32 = 0
    selector: str = ""


class Scale(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()
