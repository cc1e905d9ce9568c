"""Eviction: a deletion that PodDisruptionBudgets may refuse.

In: the view of a pod, the budgets of its namespace as raw documents with their views, the time. Out: a `Verdict`:
whether to go on deleting, the budget's new status to be stored before; or ApiError (429 with a cause, or worse).
Kubernetes: EvictionREST (pkg/registry/core/pod/storage/eviction.go), which decrements `disruptionsAllowed` itself so
that two evictions cannot both use the last one.
"""

from collections.abc import Iterable

import msgspec

from moorage.admit.conditions import with_condition
from moorage.admit.raw import Raw
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.request import DeleteOptions, Eviction

WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_CAUSE = "DisruptionBudget"
_ALLOWED = "DisruptionAllowed"
_MAX_DISRUPTED = 2000
_TERMINAL = ("Succeeded", "Failed")
_BEING_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "lastProbeTime": None,
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


class Verdict(msgspec.Struct, frozen=True):
    """The pod may go. `budget`, if any, is to be stored first, with its new status.

    `same_state`: only if the pod has not changed since, because a pod that has become ready is protected.
    """

    budget: Raw | None = None
    same_state: bool = False


def read_eviction(document: Raw, name: str) -> DeleteOptions:
    """An Eviction as it was sent to the pod of that name: the options to delete it with. Raises ApiError."""
    try:
        eviction = convert_view(document, Eviction)
    except ConversionError as error:
        reason = error.problems[0].reason
        raise bad_request(f'Eviction in version "v1" cannot be handled as a Eviction: {reason}') from None
    if eviction.metadata.name != name:
        raise bad_request("name in URL does not match name in Eviction object")
    return eviction.deleteOptions or DeleteOptions()


def decide_eviction(pod: Pod, budgets: Iterable[tuple[Raw, PodDisruptionBudget]], now: str) -> Verdict:
    """Whether the pod may be evicted now. Raises ApiError if not."""
    if pod.metadata.deletionTimestamp is not None or pod.status.phase in _TERMINAL:
        return Verdict()
    if pod.status.phase == "Pending":
        return Verdict(same_state=True)
    concerned = [(raw, budget) for raw, budget in budgets if _covers(budget, pod)]
    if len(concerned) > 1:
        raise failure(500, "", TOO_MANY_BUDGETS)
    if not concerned:
        return Verdict()
    ((raw, budget),) = concerned
    if not _is_ready(pod) and _lets_unready_go(budget):
        return Verdict(same_state=True)
    _check(budget)
    return Verdict(_counted(raw, budget, pod.metadata.name, now))


def marked_for_eviction(pod: Raw, now: str) -> Raw:
    """The pod with the condition that says why it ends."""
    status = pod.get("status") or {}
    conditions = with_condition(status.get("conditions"), _BEING_EVICTED, now)
    return {**pod, "status": {**status, "conditions": conditions}}


def still_processed(name: str) -> ApiError:
    """A budget that is behind, or a pod that changed while it was evicted: try again."""
    return _too_many(f"The disruption budget {name} is still being processed by the server.", 10)


def _covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.metadata.namespace != pod.metadata.namespace:
        return False
    try:
        return compile_label_selector(budget.spec.selector).match(pod.metadata.labels)
    except SelectorError:
        return False


def _is_ready(pod: Pod) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)


def _lets_unready_go(budget: PodDisruptionBudget) -> bool:
    if budget.spec.unhealthyPodEvictionPolicy == "AlwaysAllow":
        return True
    return budget.status.currentHealthy >= budget.status.desiredHealthy > 0


def _check(budget: PodDisruptionBudget) -> None:
    status, name = budget.status, budget.metadata.name
    if status.observedGeneration < budget.metadata.generation:
        raise still_processed(name)
    if status.disruptionsAllowed < 0:
        raise _forbidden(name, "pdb disruptions allowed is negative")
    if len(status.disruptedPods) > _MAX_DISRUPTED:
        raise _forbidden(name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if status.disruptionsAllowed == 0:
        raise _too_many(_why_not(budget), 0)


def _why_not(budget: PodDisruptionBudget) -> str:
    name, status = budget.metadata.name, budget.status
    said = next((condition for condition in status.conditions if condition.type == _ALLOWED), None)
    refused = said is not None and said.status == "False" and bool(said.message)
    if refused and said is not None and said.reason == "SyncFailed":
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it failed sync: "
            f"{said.message}"
        )
    if status.currentHealthy <= status.desiredHealthy:
        return (
            f"The disruption budget {name} needs {status.desiredHealthy} healthy pods "
            f"and has {status.currentHealthy} currently"
        )
    if refused and said is not None:
        return f"The disruption budget {name} does not allow evicting pods currently ({said.reason}): {said.message}"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _counted(raw: Raw, budget: PodDisruptionBudget, pod: str, now: str) -> Raw:
    status = dict(raw.get("status") or {})
    status["disruptionsAllowed"] = budget.status.disruptionsAllowed - 1
    if not status["disruptionsAllowed"]:
        condition: Raw = {"type": _ALLOWED, "status": "False", "reason": "InsufficientPods", "message": ""}
        if budget.status.observedGeneration:
            condition["observedGeneration"] = budget.status.observedGeneration
        status["conditions"] = with_condition(status.get("conditions"), condition, now)
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod: now}
    return {**raw, "status": status}


def _too_many(cause: str, retry_after: int) -> ApiError:
    details: Raw = {"causes": [{"reason": _CAUSE, "message": cause}], "retryAfterSeconds": retry_after}
    error = failure(429, "TooManyRequests", WOULD_VIOLATE, details)
    if retry_after:
        error.headers = (("Retry-After", str(retry_after)),)
    return error


def _forbidden(name: str, why: str) -> ApiError:
    message = f'poddisruptionbudget.policy "{name}" is forbidden: {why}'
    return failure(403, "Forbidden", message, {"name": name, "group": "policy", "kind": "poddisruptionbudget"})
