"""Read CapacityBuffers: room that is to be kept free, and for how many pods.

Kubernetes: autoscaling.x-k8s.io CapacityBuffer of Cluster Autoscaler, which Karpenter reads too; its
capacitybuffer/translators (getBufferNumberOfPods), and Karpenter's computeReplicas. Differs: Cluster Autoscaler 1.36
takes the least of all fields; 1.37, Karpenter and the API's documentation take the larger of `replicas` and
`percentage`, at most what `limits` allow.
"""

from collections.abc import Iterable, Mapping

from moorage.columns.resources import amount
from moorage.model.field_error import FieldError, forbidden, required
from moorage.pools.checks import check_amounts, check_not_negative
from moorage.pools.documents import CapacityBuffer, CapacityBufferSpec
from moorage.pools.node_template import ACTIVE_CAPACITY, Buffer, WrittenAt

ONE_OF = "exactly one of podTemplateRef and scalableRef must be set"
NEEDS_COUNT = "replicas or limits must be set with podTemplateRef"
NO_COUNT = "replicas, percentage and limits are not defined"
NO_RESOURCE = "resources in configured limits not found in the pod template"
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
        strategy=spec.provisioningStrategy or ACTIVE_CAPACITY,
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


class NoSize(ValueError):
    """A buffer of which it cannot be said how many pods it has: the reason, in the words of Cluster Autoscaler."""


def pods_of_buffer(buffer: Buffer, requests: Mapping[str, int], replicas: int | None) -> int:
    """Return for how many pods a buffer keeps room; each has these requests, its workload so many replicas.

    Raises NoSize.
    """
    sizes = [] if buffer.replicas is None else [max(buffer.replicas, 0)]
    if buffer.percentage is not None and replicas is not None:
        sizes.append(-(-max(replicas, 0) * max(buffer.percentage, 0) // 100))
    if not buffer.limits:
        if not sizes:
            raise NoSize(NO_COUNT)
        return max(sizes)
    within = [
        max(amount(name, limit), 0) // requests[name]
        for name, limit in buffer.limits.items()
        if requests.get(name, 0) > 0
    ]
    if not within:
        raise NoSize(NO_RESOURCE)
    return min(max(sizes), *within) if sizes else min(within)
