"""Validate the statuses that kubelets and controllers report, with the ResourceClaims in a pod's status.

Kubernetes: ValidatePodStatusUpdate, ValidateDeploymentStatusUpdate and its like, validatePodResourceClaimStatuses,
validatePodExtendedResourceClaimStatus, validateNodeAllocatableResourceClaimStatus, and the fields that pkg/api/pod
drops by gate. Differs: allocated devices, users and a Job's lists of indexes are not validated.
"""

from collections.abc import Sequence
from typing import Any

from moorage.admit.kinds.fields import validate_immutable, validate_not_negative
from moorage.admit.metadata import (
    subdomain_errors,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_name,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.pod.pod import validate_pod_annotation_updates
from moorage.admit.pod.resources import is_native_resource
from moorage.admit.raw import Raw
from moorage.model.field_error import (
    AsJSON,
    ErrorKind,
    FieldError,
    FieldErrors,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from moorage.model.gates import (
    CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING,
    DRA_EXTENDED_RESOURCE,
    DRA_NODE_ALLOCATABLE_RESOURCES,
    IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING,
    GateSet,
)
from moorage.model.names import label_key_errors
from moorage.model.quantity import Quantity
from moorage.model.types.container import Container
from moorage.model.types.core import Namespace
from moorage.model.types.pod import (
    ContainerStatus,
    NodeAllocatableResourceClaimStatus,
    Pod,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodSpec,
)
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
    if not new.spec.accessModes:
        yield required("Spec.accessModes", "")
    for name, quantity in new.status.capacity.items():
        yield from _validate_amount(quantity, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatuses"
    for name, status in new.status.allocatedResourceStatuses.items():
        yield from _validate_claim_resource(name, path)
        if status not in _RESIZE_STATUSES:
            yield not_supported(path, name, _RESIZE_STATUSES)
    path = "status.allocatedResources"
    for name, quantity in new.status.allocatedResources.items():
        wrong_name = [*_validate_claim_resource(name, path)]
        yield from wrong_name or _validate_amount(quantity, f"{path}[{name}]")


_RESIZE_STATUSES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
    "NodeResizePending",
)


def _validate_amount(quantity: Quantity, path: str) -> FieldErrors:
    if quantity.value() < 0:
        yield invalid(path, quantity.value(), "must be a valid resource quantity")


def _validate_claim_resource(name: str, path: str) -> FieldErrors:
    """Check the name of a resource of a claim: `storage`, or one that is not Kubernetes' own."""
    complaints = label_key_errors(name)
    yield from (invalid(path, name, complaint) for complaint in complaints)
    if not complaints and is_native_resource(name) and name != "storage":
        yield not_supported(path, name, ("storage",))


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
    yield from _validate_nomination(new, old, options.gates)
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


def _validate_nomination(new: Pod, old: Pod, gates: GateSet) -> list[FieldError]:
    node = new.status.nominatedNodeName
    if not node or node == old.status.nominatedNodeName:
        return []
    path = "status.nominatedNodeName"
    errors = validate_dns_subdomain(node, path)
    if old.spec.nodeName and gates.enabled(CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING):
        errors.append(forbidden(path, ALREADY_BOUND))
    return errors


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


UNKNOWN_CLAIM = "must match the name of an entry in `spec.resourceClaims`"
UNKNOWN_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests or "
    "spec.containers.resources.requests"
)
UNKNOWN_CONTAINER = "must match the name of an entry in spec.initContainers.name or spec.containers.name"

_GATED = (
    ("extendedResourceClaimStatus", DRA_EXTENDED_RESOURCE),
    ("nodeAllocatableResourceClaimStatuses", DRA_NODE_ALLOCATABLE_RESOURCES),
    ("resources", IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING),
    ("allocatedResources", IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING),
)


def drop_disabled_claim_statuses(status: Raw, old: Raw, gates: GateSet) -> None:
    """Remove what a gate that is off does not know, unless the old status has it."""
    for name, gate in _GATED:
        if name in status and not gates.enabled(gate) and not old.get(name):
            del status[name]


def validate_pod_claim_statuses(pod: Pod) -> FieldErrors:
    status = pod.status
    claims = {claim.name for claim in pod.spec.resourceClaims}
    seen: set[str] = set()
    for index, found in enumerate(status.resourceClaimStatuses):
        at = f"status.resourceClaimStatuses[{index}]"
        if found.name not in claims:
            yield invalid(f"{at}.name", found.name, UNKNOWN_CLAIM)
        if found.name in seen:
            yield duplicate(f"{at}.name", found.name)
        seen.add(found.name)
        if found.resourceClaimName is not None:
            for message in subdomain_errors(found.resourceClaimName):
                yield invalid(f"{at}.resourceClaimName", AsJSON(found.resourceClaimName), message)
    if status.extendedResourceClaimStatus is not None:
        yield from _validate_extended(status.extendedResourceClaimStatus, pod, "status.extendedResourceClaimStatus")
    for index, taken in enumerate(status.nodeAllocatableResourceClaimStatuses):
        yield from _validate_taken(taken, pod, f"status.nodeAllocatableResourceClaimStatuses[{index}]")


def _validate_extended(status: PodExtendedResourceClaimStatus, pod: Pod, path: str) -> FieldErrors:
    """Check the claim that was made for a pod's extended resources."""
    containers = {container.name: container for container in (*pod.spec.initContainers, *pod.spec.containers)}
    if not status.requestMappings:
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    seen = set()
    for index, mapping in enumerate(status.requestMappings):
        at = f"{path}.requestMappings[{index}]"
        container = containers.get(mapping.containerName)
        if container is None:
            yield invalid(f"{at}.containerName", mapping.containerName, UNKNOWN_CONTAINER)
        elif mapping.resourceName not in container.resources.requests:
            yield invalid(f"{at}.resourceName", mapping.resourceName, UNKNOWN_RESOURCE)
        yield from validate_dns_label(mapping.requestName, f"{path}.requestName")  # upstream leaves out the index
        if mapping in seen:
            for name in ("containerName", "resourceName", "requestName"):
                yield duplicate(f"{at}.{name}", getattr(mapping, name))
        seen.add(mapping)
    if not status.resourceClaimName:
        yield required(f"{path}.resourceClaimName")
    for message in subdomain_errors(status.resourceClaimName) if status.resourceClaimName else ():
        yield invalid(f"{path}.resourceClaimName", status.resourceClaimName, message)


def _validate_taken(taken: NodeAllocatableResourceClaimStatus, pod: Pod, path: str) -> FieldErrors:
    """Check what a claim takes of its node's allocatable resources."""
    name = taken.resourceClaimName
    if not name:
        yield required(f"{path}.resourceClaimName", "must not be empty")
    claims = {claim.resourceClaimName for claim in pod.spec.resourceClaims}
    if name not in claims.union(claim.resourceClaimName for claim in pod.status.resourceClaimStatuses):
        yield invalid(f"{path}.resourceClaimName", name, "no mapping found in pod reference")
    if not taken.containers:
        yield required(f"{path}.containers", "must not be empty")
    if not taken.resources:
        yield required(f"{path}.resources", "must not be empty")
    for resource, amount in taken.resources.items():
        at = f"{path}.resources[{resource}]"
        if not is_native_resource(resource):
            yield invalid(at, AsJSON(resource), "must be a node allocatable resource name")
        if amount.sign() < 0:
            yield invalid(at, str(amount), "must be non-negative")
