"""Read CapacityBuffers: room that is to be kept free.

Kubernetes: autoscaling.x-k8s.io CapacityBuffer of Cluster Autoscaler, which Karpenter reads too.
"""

from collections.abc import Iterable

from moorage.model.field_error import FieldError, forbidden, required
from moorage.pools.checks import check_amounts, check_not_negative
from moorage.pools.documents import CapacityBuffer, CapacityBufferSpec
from moorage.pools.node_template import Buffer, WrittenAt

ONE_OF = "exactly one of podTemplateRef and scalableRef must be set"
NEEDS_COUNT = "replicas or limits must be set with podTemplateRef"
NEEDS_WORKLOAD = "a percentage is one of the replicas of scalableRef"


def read_buffer(view: CapacityBuffer, place: WrittenAt) -> tuple[Buffer | None, list[FieldError]]:
    """Return the buffer, or what is wrong with it."""
    errors, spec = list(_check(view.spec)), view.spec
    if errors:
        return None, errors
    workload = spec.scalableRef
    return Buffer(
        namespace=view.metadata.namespace or "default",
        name=view.metadata.name,
        place=place,
        pod_template=spec.podTemplateRef.name if spec.podTemplateRef else "",
        workload_kind=workload.kind if workload else "",
        workload_group=workload.apiGroup if workload else "",
        workload=workload.name if workload else "",
        replicas=spec.replicas,
        percentage=spec.percentage,
        limits=spec.limits,
    ), []


def _check(spec: CapacityBufferSpec) -> Iterable[FieldError]:
    template, workload = spec.podTemplateRef, spec.scalableRef
    if (template is None) == (workload is None):
        yield forbidden("spec", ONE_OF)
    if template is not None and not template.name:
        yield required("spec.podTemplateRef.name")
    if workload is not None:
        for name in ("kind", "name"):
            if not getattr(workload, name):
                yield required(f"spec.scalableRef.{name}")
    if template is not None and spec.replicas is None and not spec.limits:
        yield required("spec.replicas", NEEDS_COUNT)
    if spec.percentage is not None and workload is None:
        yield forbidden("spec.percentage", NEEDS_WORKLOAD)
    yield from check_not_negative(spec.replicas, "spec.replicas")
    yield from check_not_negative(spec.percentage, "spec.percentage")
    yield from check_amounts(spec.limits, "spec.limits")
