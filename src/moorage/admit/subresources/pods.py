"""Bind a pod to a node, and evict one if PodDisruptionBudgets allow it.

What is handed in is not changed. Kubernetes: BindingREST and EvictionREST (pkg/registry/core/pod/storage), which
decrements `disruptionsAllowed` itself so that two evictions cannot both use the last one. Differs: a Binding without a
target is invalid (422) where upstream fails (500).
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from moorage.admit.messages.rejections import invalid_status, read_request
from moorage.admit.raw import Raw
from moorage.match.label_selector import compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import FieldErrors, not_supported, required
from moorage.model.kinds import BINDING, EVICTION
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import FINISHED_PHASES, Pod, PodCondition
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.request import Binding, DeleteOptions, Eviction


def with_condition(conditions: Sequence[Raw] | None, wanted: Raw, now: str) -> list[Raw]:
    """Return the conditions with the wanted one in the place of the old one of its type, or at the end."""
    updated = list(conditions or ())
    for index, condition in enumerate(updated):
        if condition.get("type") == wanted["type"]:
            same = condition.get("status") == wanted["status"] and condition.get("lastTransitionTime")
            updated[index] = {**wanted, "lastTransitionTime": condition["lastTransitionTime"] if same else now}
            return updated
    updated.append({**wanted, "lastTransitionTime": now})
    return updated


_SCHEDULED = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}


def read_binding(document: Raw, name: str) -> Binding:
    """Return a Binding as it was sent to the pod of that name. Raises ApiError."""
    binding: Binding = read_request(BINDING, document)
    if binding.metadata.name != name:
        raise bad_request("name in URL does not match name in Binding object")
    if errors := list(validate_binding(binding)):
        raise ApiError(invalid_status(BINDING, name, errors))
    return binding


def validate_binding(binding: Binding) -> FieldErrors:
    if binding.target.kind not in ("", "Node"):
        yield not_supported("target.kind", binding.target.kind, ("Node", "<empty>"))
    if not binding.target.name:
        yield required("target.name")


def binding_with_labels(binding: Binding, labels: Mapping[str, str]) -> Binding:
    """Return the binding with these labels for the pod, too."""
    metadata = binding.metadata
    if not labels:
        return binding
    metadata = msgspec.structs.replace(metadata, labels={**metadata.labels, **labels})
    return msgspec.structs.replace(binding, metadata=metadata)


def bind_pod(
    pod: Raw, binding: Binding, now: str, resource_version: str = "", *, clears_nomination: bool = True
) -> Raw:
    """Return the pod on the node. `resource_version` is the stored pod's, for a binding that insists on one."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status") or {}
    name = metadata["name"]
    wanted = binding.metadata
    if wanted.uid and wanted.uid != metadata.get("uid"):
        raise _not_the_one(metadata, "UID", wanted.uid, str(metadata.get("uid") or ""))
    if wanted.resourceVersion and wanted.resourceVersion != resource_version:
        raise _not_the_one(metadata, "ResourceVersion", wanted.resourceVersion, resource_version)
    if metadata.get("deletionTimestamp"):
        raise _conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _conflict(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise _conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
    if wanted.labels or wanted.annotations:
        metadata = dict(metadata)
        for field, added in (("annotations", wanted.annotations), ("labels", wanted.labels)):
            if added:
                metadata[field] = (metadata.get(field) or {}) | added
    status = {**status, "conditions": with_condition(status.get("conditions"), _SCHEDULED, now)}
    if clears_nomination:
        status.pop("nominatedNodeName", None)
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": binding.target.name}, "status": status}


def bound_view(view: Pod, bound: Raw) -> Pod:
    """Return the view of a bound pod, from the one it had: only the parts that binding changes are read again."""
    replace = msgspec.structs.replace
    conditions = tuple(convert_view(condition, PodCondition) for condition in bound["status"]["conditions"])
    nominated = bound["status"].get("nominatedNodeName") or ""
    status = replace(view.status, conditions=conditions, nominatedNodeName=nominated)
    metadata, raw_metadata = view.metadata, bound["metadata"]
    labels, annotations = raw_metadata.get("labels") or {}, raw_metadata.get("annotations") or {}
    if labels != metadata.labels or annotations != metadata.annotations:
        metadata = replace(metadata, labels=labels, annotations=annotations)
    spec = replace(view.spec, nodeName=bound["spec"]["nodeName"])
    return replace(view, metadata=metadata, spec=spec, status=status)


def _conflict(name: str, why: str, resource: str = "pods/binding") -> ApiError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return failure(409, "Conflict", message, {"name": name, "kind": resource})


def _not_the_one(metadata: Raw, what: str, wanted: str, actual: str) -> ApiError:
    name = metadata["name"]
    key = f"/registry/pods/{metadata.get('namespace')}/{name}"
    message = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {message}"
    return _conflict(name, text, "pods")


WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
TOO_MANY_BUDGETS = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_CAUSE = "DisruptionBudget"
_ALLOWED = "DisruptionAllowed"
_MAX_DISRUPTED = 2000
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
    """Return an Eviction as it was sent to the pod of that name: the options to delete it with. Raises ApiError."""
    eviction: Eviction = read_request(EVICTION, document)
    if eviction.metadata.name != name:
        raise bad_request("name in URL does not match name in Eviction object")
    return eviction.deleteOptions or DeleteOptions()


def decide_eviction(pod: Pod, budgets: Iterable[tuple[Raw, PodDisruptionBudget]], now: str) -> Verdict:
    """Decide whether the pod may be evicted now. Raises ApiError if not."""
    if pod.metadata.deletionTimestamp is not None or pod.status.phase in FINISHED_PHASES:
        return Verdict()
    if pod.status.phase == "Pending":
        return Verdict(same_state=True)
    concerned = [(raw, budget) for raw, budget in budgets if covers(budget, pod)]
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
    status = pod.get("status") or {}
    conditions = with_condition(status.get("conditions"), _BEING_EVICTED, now)
    return {**pod, "status": {**status, "conditions": conditions}}


def still_processed(name: str) -> ApiError:
    """Return a 429: the budget is behind, or the pod changed while it was evicted."""
    return _too_many(f"The disruption budget {name} is still being processed by the server.", 10)


def covers(budget: PodDisruptionBudget, pod: Pod) -> bool:
    """Return whether a budget is for a pod."""
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
