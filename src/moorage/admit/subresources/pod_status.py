"""What may be reported of a pod: containers that have ended stay so, and a pod that is bound is nominated nowhere.

In: the new and the old pod. Out: the raw status completed from the old one; field errors in upstream's order.
Kubernetes: podStatusStrategy, ValidatePodStatusUpdate. Differs: what is reported of allocated devices, users and
resource claims is not looked into.
"""

from collections.abc import Sequence

from moorage.admit.dns_names import subdomain_errors
from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.metadata import validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod import validate_pod_annotation_updates
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.raw import Raw
from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.types.container import Container
from moorage.model.types.pod import Pod, PodSpec
from moorage.model.types.pod_status import ContainerStatus, PodCondition

ENDED = "may not be transitioned to non-terminated state"
ALREADY_BOUND = "may not be set on pods that are already bound to a node"
NOT_NEGATIVE = "must be a non-negative integer"
_OF_THE_SYSTEM = frozenset({"PodScheduled", "Ready", "Initialized"})


def complete_pod_status(new: Raw, old: Raw) -> Raw:
    """The status with what a reporter may leave out: the class of the pod, and what generation it speaks of."""
    status = dict(new)
    if not status.get("qosClass") and old.get("qosClass"):
        status["qosClass"] = old["qosClass"]
    if not status.get("observedGeneration") and old.get("observedGeneration"):
        status["observedGeneration"] = old["observedGeneration"]
    known: dict[str, list[int]] = {}
    for condition in old.get("conditions") or ():
        known.setdefault(condition.get("type") or "", []).append(condition.get("observedGeneration") or 0)
    if status.get("conditions") and any(map(any, known.values())):
        status["conditions"] = [_with_generation(condition, known) for condition in status["conditions"]]
    if status.get("podIP") and not status.get("podIPs"):
        status["podIPs"] = [{"ip": status["podIP"]}]
    return status


def _with_generation(condition: Raw, known: dict[str, list[int]]) -> Raw:
    earlier = known.get(condition.get("type") or "")
    generation = earlier.pop(0) if earlier else 0
    if generation and not condition.get("observedGeneration"):
        return {**condition, "observedGeneration": generation}
    return condition


def validate_pod_status_update(new: Pod, old: Pod, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.metadata.annotations or old.metadata.annotations:
        errors += validate_pod_annotation_updates(new, old, "metadata.annotations", options)
    errors += _validate_conditions(new.status.conditions, "status.conditions")
    errors += _validate_nomination(new, old)
    if new.status.observedGeneration < 0:
        errors.append(invalid("status.observedGeneration", new.status.observedGeneration, NOT_NEGATIVE))
    errors += validate_immutable(new.status.qosClass, old.status.qosClass, "status.qosClass")
    for name, containers in (
        ("containerStatuses", old.spec.containers),
        ("initContainerStatuses", old.spec.initContainers),
    ):
        before, after = getattr(old.status, name), getattr(new.status, name)
        if before:
            errors += _validate_transitions(after, before, containers, old.spec, f"status.{name}")
    known = {address.ip for address in old.status.podIPs}
    for index, address in enumerate(new.status.podIPs):
        if address.ip not in known:
            errors += validate_ip_address(address.ip, f"status.podIPs[{index}]")
    return errors


def _validate_conditions(conditions: Sequence[PodCondition], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, condition in enumerate(conditions):
        if condition.observedGeneration < 0:
            at = f"{path}[{index}].observedGeneration"
            errors.append(invalid(at, condition.observedGeneration, NOT_NEGATIVE))
        if condition.type not in _OF_THE_SYSTEM:
            errors += validate_label_name(condition.type, f"{path}[{index}].Type")
    return errors


def _validate_nomination(new: Pod, old: Pod) -> list[FieldError]:
    node = new.status.nominatedNodeName
    if not node or node == old.status.nominatedNodeName:
        return []
    path = "status.nominatedNodeName"
    errors = [invalid(path, node, message) for message in subdomain_errors(node)]
    return [*errors, forbidden(path, ALREADY_BOUND)] if old.spec.nodeName else errors


def _validate_transitions(
    new: Sequence[ContainerStatus],
    old: Sequence[ContainerStatus],
    containers: Sequence[Container],
    spec: PodSpec,
    path: str,
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, before in enumerate(old):
        ended = before.state.terminated
        after = next((status for status in new if status.name == before.name), None)
        if ended is None or after is None or after.state.terminated is not None:
            continue
        container = next((one for one in containers if one.name == before.name), None)
        if container is None or not _may_restart(container, spec, ended.exitCode):
            errors.append(forbidden(f"{path}[{index}].state", ENDED))
    return errors


def _may_restart(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """The first rule that speaks of the exit code, then the container's own policy, then the pod's."""
    policy = spec.restartPolicy
    if container.restartPolicy is not None:
        for rule in container.restartPolicyRules:
            codes = rule.exitCodes
            if codes is not None and (exit_code in codes.values) == (codes.operator == "In"):
                if rule.action in ("Restart", "RestartAllContainers"):
                    return True
                break
        if container.restartPolicy in ("Always", "OnFailure", "Never"):
            policy = container.restartPolicy
    return exit_code != 0 if policy == "OnFailure" else policy != "Never"
