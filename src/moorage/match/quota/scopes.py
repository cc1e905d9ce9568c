"""Which objects a quota counts, by its scopes.

Kubernetes: podMatchesScopeFunc and pvcMatchesScopeFunc (pkg/quota/v1/evaluator/core).
"""

from collections.abc import Iterable

from moorage.model.types.pod import Affinity, Pod, PodAffinityTerm
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
    found, values = tuple(names), requirement.values
    match requirement.operator:
        case "Exists":
            return bool(found)
        case "DoesNotExist":
            return not found
        case "In":
            return any(name in values for name in found)
        case "NotIn":
            return not found or any(name not in values for name in found)
    return False


def _looks_elsewhere(affinity: Affinity | None) -> bool:
    if affinity is None:
        return False
    for side in (affinity.podAffinity, affinity.podAntiAffinity):
        if side is not None:
            preferred = (one.podAffinityTerm for one in side.preferredDuringSchedulingIgnoredDuringExecution)
            if any(map(_is_elsewhere, (*side.requiredDuringSchedulingIgnoredDuringExecution, *preferred))):
                return True
    return False


def _is_elsewhere(term: PodAffinityTerm) -> bool:
    return bool(term.namespaces) or term.namespaceSelector is not None
