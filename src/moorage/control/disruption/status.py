"""What a budget's status says: how many pods are healthy, and how many may be disrupted.

In: a budget, its pods, what it expects, the time. Out: the status; which pods were to be deleted and were not; and when
to look again. An eviction that has been granted counts until the pod is being deleted, or for two minutes.
Kubernetes: countHealthyPods, buildDisruptedPodMap, updatePdbStatus and failSafe of pkg/controller/disruption.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.disruption.expected_pods import Expected
from moorage.control.framework.pods_of import ready_condition, seconds_of, time_text

Raw = dict[str, Any]

#: Seconds within which a pod whose eviction was granted is seen to be deleted.
DELETION_TIMEOUT = 120.0
_ALLOWED = "DisruptionAllowed"


class Disrupted(NamedTuple):
    """Pods that are about to be deleted, by name, with the time at which that was granted."""

    pods: dict[str, str]
    not_deleted: Sequence[Object]
    again_after: float | None


def disrupted_pods(budget: Object, pods: Sequence[Object], now: float) -> Disrupted:
    granted = budget.view.status.disruptedPods
    kept: dict[str, str] = {}
    late: list[Object] = []
    soonest: float | None = None
    for pod in pods if granted else ():
        when = granted.get(pod.name)
        if when is None or pod.view.metadata.deletionTimestamp is not None:
            continue
        left = (seconds_of(when) or 0.0) + DELETION_TIMEOUT - now
        if left < 0:
            late.append(pod)
        else:
            kept[pod.name] = when
            soonest = left if soonest is None else min(soonest, left)
    # A moment later: at the very second an entry still counts.
    return Disrupted(kept, late, None if soonest is None else soonest + 0.001)


def healthy_pods(pods: Sequence[Object], disrupted: Disrupted, now: float) -> int:
    return sum(
        1
        for pod in pods
        if pod.view.metadata.deletionTimestamp is None
        and not (seconds_of(disrupted.pods.get(pod.name)) or 0.0) + DELETION_TIMEOUT > now
        and ready_condition(pod.view) is not None
    )


def budget_status(budget: Object, expected: Expected, healthy: int, disrupted: Disrupted, now: float) -> Raw:
    allowed = max(0, healthy - expected.healthy) if expected.pods > 0 else 0
    generation = budget.view.metadata.generation
    before = budget.raw.get("status") or {}
    status: Raw = {
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": expected.healthy,
        "expectedPods": expected.pods,
    }
    if generation:
        status["observedGeneration"] = generation
    if disrupted.pods:
        status["disruptedPods"] = disrupted.pods
    reason = "SufficientPods" if allowed else "InsufficientPods"
    status["conditions"] = _with_condition(before, bool(allowed), reason, "", generation, now)
    return status


def failed_status(budget: Object, why: str, now: float) -> Raw:
    """What is known no more is not allowed any more."""
    before = budget.raw.get("status") or {}
    observed = budget.view.status.observedGeneration
    conditions = _with_condition(before, False, "SyncFailed", why, observed, now)
    numbers = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    return {**numbers, **before, "disruptionsAllowed": 0, "conditions": conditions}


def _with_condition(before: Raw, allowed: bool, reason: str, message: str, observed: int, now: float) -> list[Raw]:
    conditions = list(before.get("conditions") or ())
    index = next((index for index, one in enumerate(conditions) if one.get("type") == _ALLOWED), None)
    state = "True" if allowed else "False"
    old = conditions[index] if index is not None else {}
    since = old.get("lastTransitionTime") if old.get("status") == state else time_text(now)
    condition: Raw = {"type": _ALLOWED, "status": state, "reason": reason, "message": message}
    condition["lastTransitionTime"] = since or time_text(now)
    if observed:
        condition["observedGeneration"] = observed
    if index is None:
        conditions.append(condition)
    else:
        conditions[index] = condition
    return conditions
