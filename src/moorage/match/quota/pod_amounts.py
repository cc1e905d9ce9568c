"""Requests and limits of a whole pod, as quotas count them, with what its containers have while they are resized.

Kubernetes: PodRequests and PodLimits of component-helpers/resource.
"""

from collections.abc import Mapping
from typing import Literal

from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts, raise_amounts, total_amounts
from moorage.model.types.container import Container
from moorage.model.types.pod import ContainerStatus, Pod, PodSpec

RESIZE_PENDING = "PodResizePending"
INFEASIBLE = "Infeasible"
_HUGE_PAGES = "hugepages-"


def is_pod_level_resource(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def has_pod_level_resources(spec: PodSpec) -> bool:
    resources = spec.resources
    return resources is not None and any(map(is_pod_level_resource, (*resources.requests, *resources.limits)))


def is_resize_infeasible(pod: Pod) -> bool:
    pending = next((one for one in pod.status.conditions if one.type == RESIZE_PENDING), None)
    return pending is not None and pending.reason == INFEASIBLE


def pod_amounts(pod: Pod, side: Literal["requests", "limits"], *, with_overhead: bool = True) -> ResourceAmounts:
    """Return what a pod asks for or may use: of a container that is being resized, the larger of what it has and gets.

    Requests get the pod's overhead; so do limits, if they are not zero.
    """
    spec = pod.spec
    statuses = {one.name: one for one in (*pod.status.containerStatuses, *pod.status.initContainerStatuses)}
    infeasible = bool(statuses) and is_resize_infeasible(pod)
    total = total_amounts(
        [_effective(one, statuses.get(one.name), side, infeasible) for one in spec.containers],
        [
            (True, _effective(one, statuses.get(one.name), side, infeasible))
            if one.restartPolicy == "Always"
            else (False, getattr(one.resources, side))
            for one in spec.initContainers
        ],
    )
    if spec.resources is not None:
        given: Mapping[str, Quantity] = getattr(spec.resources, side)
        total.update({name: amount for name, amount in given.items() if is_pod_level_resource(name)})
    if with_overhead:
        limits = side == "limits"
        overhead = {n: a for n, a in spec.overhead.items() if not limits or (n in total and not total[n].is_zero())}
        add_amounts(total, overhead)
    return total


def _effective(
    container: Container, status: ContainerStatus | None, side: Literal["requests", "limits"], infeasible: bool
) -> Mapping[str, Quantity]:
    wanted: Mapping[str, Quantity] = getattr(container.resources, side)
    if status is None or status.resources is None:
        return wanted
    effective = dict(getattr(status.resources, side))
    if side == "requests":
        raise_amounts(effective, status.allocatedResources)
    if not infeasible:
        raise_amounts(effective, wanted)
    return effective
