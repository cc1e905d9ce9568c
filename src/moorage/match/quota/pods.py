"""Match pods and volume claims with the scopes of a quota, and add up a pod's requests and limits as quotas count them.

Containers that are being resized count with what they have. Kubernetes: podMatchesScopeFunc and pvcMatchesScopeFunc
(pkg/quota/v1/evaluator/core), PodRequests and PodLimits of component-helpers/resource.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from moorage.model.quantity import Quantity, ResourceAmounts, add_amounts, raise_amounts, total_amounts
from moorage.model.types.container import Container, ResourceRequirements
from moorage.model.types.pod import Affinity, ContainerStatus, Pod, PodAffinityTerm, PodSpec
from moorage.model.types.policy import ScopedResourceSelectorRequirement
from moorage.model.types.storage import PersistentVolumeClaim

BEST_EFFORT = "BestEffort"


def has_deadline(pod: Pod) -> bool:
    """Return whether a pod may run for a bounded time only, which is what the scope Terminating means."""
    seconds = pod.spec.activeDeadlineSeconds
    return seconds is not None and seconds >= 0


def pod_in_scope(requirement: ScopedResourceSelectorRequirement, pod: Pod) -> bool:
    scope = requirement.scopeName
    if scope in ("Terminating", "NotTerminating"):
        return has_deadline(pod) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return (pod.status.qosClass == BEST_EFFORT) is (scope == "BestEffort")
    if scope == "PriorityClass":
        name = pod.spec.priorityClassName
        return _selects(requirement, (name,) if name else ())
    return scope == "CrossNamespacePodAffinity" and _looks_elsewhere(pod.spec.affinity)


def claim_in_scope(requirement: ScopedResourceSelectorRequirement, claim: PersistentVolumeClaim) -> bool:
    return requirement.scopeName == "VolumeAttributesClass" and _selects(requirement, claim_classes(claim))


def claim_classes(claim: PersistentVolumeClaim) -> frozenset[str]:
    """Return the VolumeAttributesClasses that a claim names: those it has, wants and is being given."""
    modified = claim.status.modifyVolumeStatus
    names = (
        claim.spec.volumeAttributesClassName,
        claim.status.currentVolumeAttributesClassName,
        modified.targetVolumeAttributesClassName if modified is not None else "",
    )
    return frozenset(name for name in names if name)


def _selects(requirement: ScopedResourceSelectorRequirement, names: Iterable[str]) -> bool:
    """Return whether one of the names fits, or, without any, the absence of a name does."""
    present, values = tuple(names), requirement.values
    match requirement.operator:
        case "Exists":
            return bool(present)
        case "DoesNotExist":
            return not present
        case "In":
            return any(name in values for name in present)
        case "NotIn":
            return not present or any(name not in values for name in present)
    return False


def _looks_elsewhere(affinity: Affinity | None) -> bool:
    if affinity is None:
        return False
    for side in (affinity.podAffinity, affinity.podAntiAffinity):
        if side is not None:
            preferred = (weighted.podAffinityTerm for weighted in side.preferredDuringSchedulingIgnoredDuringExecution)
            if any(map(_is_elsewhere, (*side.requiredDuringSchedulingIgnoredDuringExecution, *preferred))):
                return True
    return False


def _is_elsewhere(term: PodAffinityTerm) -> bool:
    return bool(term.namespaces) or term.namespaceSelector is not None


RESIZE_PENDING = "PodResizePending"
INFEASIBLE = "Infeasible"
_HUGE_PAGES = "hugepages-"


_NONE = Quantity.from_int(0)
_replace = msgspec.structs.replace


def is_pod_level_resource(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def has_pod_level_resources(spec: PodSpec) -> bool:
    resources = spec.resources
    return resources is not None and any(map(is_pod_level_resource, (*resources.requests, *resources.limits)))


def is_resize_infeasible(pod: Pod) -> bool:
    pending = next((condition for condition in pod.status.conditions if condition.type == RESIZE_PENDING), None)
    return pending is not None and pending.reason == INFEASIBLE


def pod_amounts(pod: Pod, side: Literal["requests", "limits"], *, with_overhead: bool = True) -> ResourceAmounts:
    """Return what a pod asks for or may use: of a container that is being resized, the larger of what it has and gets.

    Requests get the pod's overhead; so do limits, if they are not zero.
    """
    spec = pod.spec
    statuses = {status.name: status for status in (*pod.status.containerStatuses, *pod.status.initContainerStatuses)}
    infeasible = bool(statuses) and is_resize_infeasible(pod)
    total = total_amounts(
        [_effective(container, statuses.get(container.name), side, infeasible) for container in spec.containers],
        [
            (True, _effective(container, statuses.get(container.name), side, infeasible))
            if container.is_sidecar
            else (False, getattr(container.resources, side))
            for container in spec.initContainers
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


def effective_spec(pod: Pod) -> PodSpec:
    """Return the spec with the requests that a pod counts with; the same one unless it is being resized.

    A pod whose spec has never changed is not looked at.
    """
    spec, status = pod.spec, pod.status
    if pod.metadata.generation <= 1 or not (status.containerStatuses or status.resources):
        return spec
    statuses = {known.name: known for known in (*status.containerStatuses, *status.initContainerStatuses)}
    infeasible = is_resize_infeasible(pod)

    def effective(container: Container) -> Container:
        return _with_requests(container, statuses.get(container.name), infeasible)

    containers = tuple(map(effective, spec.containers))
    init_containers = tuple(effective(each) if each.is_sidecar else each for each in spec.initContainers)
    resources = _effective_at_pod_level(pod, infeasible)
    if (containers, init_containers, resources) == (spec.containers, spec.initContainers, spec.resources):
        return spec
    return _replace(spec, containers=containers, initContainers=init_containers, resources=resources)


def _with_requests(container: Container, status: ContainerStatus | None, infeasible: bool) -> Container:
    requests = _effective(container, status, "requests", infeasible)
    if requests == container.resources.requests:
        return container
    return _replace(container, resources=_replace(container.resources, requests=dict(requests)))


def _effective_at_pod_level(pod: Pod, infeasible: bool) -> ResourceRequirements | None:
    wanted, actual = pod.spec.resources, pod.status.resources
    if wanted is None or actual is None:
        return wanted
    effective = dict(actual.requests)
    raise_amounts(effective, pod.status.allocatedResources)
    if not infeasible:
        raise_amounts(effective, wanted.requests)
    return _replace(wanted, requests={name: effective.get(name, _NONE) for name in wanted.requests})


def _effective(
    container: Container, status: ContainerStatus | None, side: Literal["requests", "limits"], infeasible: bool
) -> Mapping[str, Quantity]:
    spec_amounts: Mapping[str, Quantity] = getattr(container.resources, side)
    if status is None or status.resources is None:
        return spec_amounts
    effective = dict(getattr(status.resources, side))
    if side == "requests":
        raise_amounts(effective, status.allocatedResources)
    if not infeasible:
        raise_amounts(effective, spec_amounts)
    return effective
