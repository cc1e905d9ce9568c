"""Validate what kubelets and controllers report in a status.

Kubernetes: ValidatePodStatusUpdate, ValidateDeploymentStatusUpdate and its like. Differs: what is reported of allocated
devices, users and a Job's lists of indexes is not looked into.
"""

from collections.abc import Sequence
from typing import Any

from moorage.admit.kinds.fields import validate_immutable, validate_not_negative
from moorage.admit.metadata import validate_dns_subdomain, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.pod.label_selectors import validate_label_name
from moorage.admit.pod.pod import validate_pod_annotation_updates
from moorage.admit.pod.resources import validate_quantity
from moorage.admit.raw import Raw
from moorage.admit.subresources.pod_claim_statuses import validate_pod_claim_statuses
from moorage.model.field_error import AsJSON, ErrorKind, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.types.container import Container
from moorage.model.types.core import Namespace
from moorage.model.types.pod import ContainerStatus, Pod, PodCondition, PodSpec
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.types.workload import DaemonSet, Deployment, Job, ReplicaSet, ReplicationController, StatefulSet

MORE_THAN_ALL = "cannot be greater than status.replicas"


def validate_deployment_status(new: Deployment, old: Deployment) -> FieldErrors:
    names = (
        *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
        *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
    )
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_counts(new.status, names)
    yield from _validate_at_most_all(new.status, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    yield from _validate_available(new.status, "cannot be greater than readyReplicas")
    yield from _validate_collisions(new.status, old.status)


def validate_replica_set_status(new: ReplicaSet, old: ReplicaSet) -> FieldErrors:
    names = (
        *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        *("observedGeneration", "terminatingReplicas"),
    )
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_counts(new.status, names)
    yield from _validate_at_most_all(new.status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))
    yield from _validate_available(new.status, "cannot be greater than readyReplicas")


def validate_replication_controller_status(new: ReplicationController, old: ReplicationController) -> FieldErrors:
    counts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_counts(new.status, ("replicas", *counts, "observedGeneration"))
    yield from _validate_at_most_all(new.status, counts)
    yield from _validate_available(new.status, "cannot be greater than readyReplicas")


def validate_stateful_set_status(new: StatefulSet, old: StatefulSet) -> FieldErrors:
    counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from _validate_counts(new.status, ("replicas", *counts, "observedGeneration", "collisionCount"))
    yield from _validate_at_most_all(new.status, counts)
    yield from _validate_available(new.status, "cannot be greater than status.readyReplicas")
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_collisions(new.status, old.status)


def validate_daemon_set_status(new: DaemonSet, old: DaemonSet) -> FieldErrors:
    names = (
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
    )
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_counts(new.status, names)
    yield from _validate_collisions(new.status, old.status)


def validate_job_status(new: Job, old: Job) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    status = new.status
    yield from _validate_counts(status, ("active", "succeeded", "failed", "ready", "terminating"))
    if status == old.status:
        return
    true = {condition.type for condition in status.conditions if condition.status == "True"}
    finished = bool(true & {"Complete", "Failed"})
    for pair in (("Complete", "Failed"), ("Complete", "FailureTarget"), ("SuccessCriteriaMet", "Failed")):
        if true.issuperset(pair):
            yield _about_conditions(f"cannot set {pair[0]}=True and {pair[1]}=true conditions")
    if status.completionTime is not None and "Complete" not in true:
        detail = "cannot set completionTime when there is no Complete=True condition"
        yield invalid("status.completionTime", AsJSON(status.completionTime), detail)
    if status.completionTime is None and "Complete" in true:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    for needed, by in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
        if by in true and needed not in true:
            yield _about_conditions(f"cannot set {by}=True condition without the {needed}=true condition")
    if finished and status.active > 0:
        yield invalid("status.active", status.active, "active>0 is invalid for finished job")
    if finished and status.startTime is None:
        yield required("status.startTime", "startTime is required for finished job")
    if status.ready is not None and status.ready > status.active:
        yield invalid("status.ready", status.ready, "cannot set more ready pods than active")


def _about_conditions(detail: str) -> FieldError:
    return FieldError(ErrorKind.INVALID, "status.conditions", None, detail)


def validate_budget_status(new: Any, old: Any) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_counts(new.status, ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"))


def validate_namespace_status(new: Namespace, old: Namespace) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    going = new.metadata.deletionTimestamp is not None
    wanted, when = ("Terminating", "is not empty") if going else ("Active", "is empty")
    if new.status.phase != wanted:
        yield invalid("status.Phase", AsJSON(new.status.phase), f"may only be '{wanted}' if `deletionTimestamp` {when}")


def validate_claim_status(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name, quantity in new.status.capacity.items():
        yield from validate_quantity(quantity, f"status.capacity[{name}]", is_whole=False)


def _validate_counts(status: Any, names: tuple[str, ...]) -> FieldErrors:
    for name in names:
        yield from validate_not_negative(getattr(status, name), f"status.{name}")


def _validate_at_most_all(status: Any, names: tuple[str, ...]) -> list[FieldError]:
    return [
        invalid(f"status.{name}", getattr(status, name), MORE_THAN_ALL)
        for name in names
        if getattr(status, name) > status.replicas
    ]


def _validate_available(status: Any, detail: str) -> list[FieldError]:
    if status.availableReplicas <= status.readyReplicas:
        return []
    return [invalid("status.availableReplicas", status.availableReplicas, detail)]


def _validate_collisions(new: Any, old: Any) -> list[FieldError]:
    if old.collisionCount is None or (new.collisionCount or 0) >= old.collisionCount:
        return []
    return [invalid("status.collisionCount", new.collisionCount or 0, "cannot be decremented")]


ENDED = "may not be transitioned to non-terminated state"
ALREADY_BOUND = "may not be set on pods that are already bound to a node"
NOT_NEGATIVE = "must be a non-negative integer"
_OF_THE_SYSTEM = frozenset({"PodScheduled", "Ready", "Initialized"})


def complete_pod_status(new: Raw, old: Raw) -> Raw:
    """Return the status with what a reporter may leave out: the class of the pod, and what generation it speaks of."""
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


def validate_pod_status_update(new: Pod, old: Pod, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.metadata.annotations or old.metadata.annotations:
        yield from validate_pod_annotation_updates(new, old, "metadata.annotations", options)
    yield from _validate_conditions(new.status.conditions, "status.conditions")
    yield from _validate_nomination(new, old)
    if new.status.observedGeneration < 0:
        yield invalid("status.observedGeneration", new.status.observedGeneration, NOT_NEGATIVE)
    yield from validate_immutable(new.status.qosClass, old.status.qosClass, "status.qosClass")
    for name, containers in (
        ("containerStatuses", old.spec.containers),
        ("initContainerStatuses", old.spec.initContainers),
    ):
        before, after = getattr(old.status, name), getattr(new.status, name)
        if before:
            yield from _validate_transitions(after, before, containers, old.spec, f"status.{name}")
    status = new.status
    if (
        status.resourceClaimStatuses
        or status.nodeAllocatableResourceClaimStatuses
        or status.extendedResourceClaimStatus is not None
    ):
        yield from validate_pod_claim_statuses(new)
    known = {address.ip for address in old.status.podIPs}
    for index, address in enumerate(new.status.podIPs):
        if address.ip not in known:
            yield from validate_ip_address(address.ip, f"status.podIPs[{index}]")


def _validate_conditions(conditions: Sequence[PodCondition], path: str) -> FieldErrors:
    for index, condition in enumerate(conditions):
        if condition.observedGeneration < 0:
            at = f"{path}[{index}].observedGeneration"
            yield invalid(at, condition.observedGeneration, NOT_NEGATIVE)
        if condition.type not in _OF_THE_SYSTEM:
            yield from validate_label_name(condition.type, f"{path}[{index}].Type")


def _validate_nomination(new: Pod, old: Pod) -> list[FieldError]:
    node = new.status.nominatedNodeName
    if not node or node == old.status.nominatedNodeName:
        return []
    path = "status.nominatedNodeName"
    errors = validate_dns_subdomain(node, path)
    return [*errors, forbidden(path, ALREADY_BOUND)] if old.spec.nodeName else errors


def _validate_transitions(
    new: Sequence[ContainerStatus],
    old: Sequence[ContainerStatus],
    containers: Sequence[Container],
    spec: PodSpec,
    path: str,
) -> FieldErrors:
    for index, before in enumerate(old):
        ended = before.state.terminated
        after = next((status for status in new if status.name == before.name), None)
        if ended is None or after is None or after.state.terminated is not None:
            continue
        container = next((one for one in containers if one.name == before.name), None)
        if container is None or not _may_restart(container, spec, ended.exitCode):
            yield forbidden(f"{path}[{index}].state", ENDED)


def _may_restart(container: Container, spec: PodSpec, exit_code: int) -> bool:
    """True by the first rule that names the exit code, else the container's policy, else the pod's."""
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
