"""Binding: a pod is put on a node, once.

In: a raw pod as it is stored, a Binding, the time. Out: the pod on its node; or ApiError: the pod is elsewhere already,
is going, is gated, or is not the one that was meant. What was handed in is not changed, and the result shares with it
all that stays the same. Kubernetes: BindingREST (pkg/registry/core/pod/storage/storage.go). Differs: a Binding without
a target is invalid (422) where upstream fails (500).
"""

import msgspec

from moorage.admit.conditions import with_condition
from moorage.admit.messages.rejection_status import invalid_status
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import FieldError, not_supported, required
from moorage.model.kinds import BINDING
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.pod_status import PodCondition
from moorage.model.types.request import Binding

_SCHEDULED = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}


def read_binding(document: Raw, name: str) -> Binding:
    """A Binding as it was sent to the pod of that name. Raises ApiError."""
    try:
        binding = convert_view(document, Binding)
    except ConversionError as error:
        reason = error.problems[0].reason
        raise bad_request(f'Binding in version "v1" cannot be handled as a Binding: {reason}') from None
    if binding.metadata.name != name:
        raise bad_request("name in URL does not match name in Binding object")
    if errors := validate_binding(binding):
        raise ApiError(invalid_status(BINDING, name, errors))
    return binding


def validate_binding(binding: Binding) -> list[FieldError]:
    errors: list[FieldError] = []
    if binding.target.kind not in ("", "Node"):
        errors.append(not_supported("target.kind", binding.target.kind, ("Node", "<empty>")))
    if not binding.target.name:
        errors.append(required("target.name"))
    return errors


def bind_pod(pod: Raw, binding: Binding, now: str, resource_version: str = "") -> Raw:
    """The pod on the node. `resource_version` is the stored pod's, for a binding that insists on one."""
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
    status.pop("nominatedNodeName", None)
    return {**pod, "metadata": metadata, "spec": {**spec, "nodeName": binding.target.name}, "status": status}


def bound_view(view: Pod, bound: Raw) -> Pod:
    """The view of a bound pod, from the one it had: only the parts that binding changes are read again."""
    replace = msgspec.structs.replace
    conditions = tuple(convert_view(condition, PodCondition) for condition in bound["status"]["conditions"])
    status = replace(view.status, conditions=conditions, nominatedNodeName="")
    metadata, raw_metadata = view.metadata, bound["metadata"]
    labels, annotations = raw_metadata.get("labels") or {}, raw_metadata.get("annotations") or {}
    if labels != metadata.labels or annotations != metadata.annotations:
        metadata = replace(metadata, labels=labels, annotations=annotations)
    spec = replace(view.spec, nodeName=bound["spec"]["nodeName"])
    return replace(view, metadata=metadata, spec=spec, status=status)


def _conflict(name: str, why: str, resource: str = "pods/binding") -> ApiError:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return failure(409, "Conflict", message, {"name": name, "kind": resource})


def _not_the_one(metadata: Raw, what: str, wanted: str, found: str) -> ApiError:
    name = metadata["name"]
    key = f"/registry/pods/{metadata.get('namespace')}/{name}"
    said = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
    text = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {said}"
    return _conflict(name, text, "pods")
