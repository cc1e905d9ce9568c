"""What controllers may report of their objects: counts that are possible, phases that fit.

In: the new and the old object as views. Out: field errors. Kubernetes: ValidateDeploymentStatusUpdate and its like.
Differs: of a Job's status the conditions and counts are checked, not the lists of indexes.
"""

from typing import Any

from moorage.admit.kinds.fields import validate_not_negative
from moorage.admit.metadata import validate_object_meta_update
from moorage.admit.pod.containers.resources import validate_quantity
from moorage.model.field_error import AsJSON, ErrorKind, FieldError, invalid, required
from moorage.model.types.core import Namespace
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.types.workload import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet

MORE_THAN_ALL = "cannot be greater than status.replicas"


def validate_deployment_status(new: Deployment, old: Deployment) -> list[FieldError]:
    names = (
        *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
        *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
    )
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += _validate_counts(new.status, names)
    errors += _validate_at_most_all(new.status, ("updatedReplicas", "readyReplicas", "availableReplicas"))
    errors += _validate_available(new.status, "cannot be greater than readyReplicas")
    return errors + _validate_collisions(new.status, old.status)


def validate_replica_set_status(new: ReplicaSet, old: ReplicaSet) -> list[FieldError]:
    names = (
        *("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"),
        *("observedGeneration", "terminatingReplicas"),
    )
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += _validate_counts(new.status, names)
    errors += _validate_at_most_all(new.status, ("fullyLabeledReplicas", "readyReplicas", "availableReplicas"))
    return errors + _validate_available(new.status, "cannot be greater than readyReplicas")


def validate_stateful_set_status(new: StatefulSet, old: StatefulSet) -> list[FieldError]:
    counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    errors = _validate_counts(new.status, ("replicas", *counts, "observedGeneration", "collisionCount"))
    errors += _validate_at_most_all(new.status, counts)
    errors += _validate_available(new.status, "cannot be greater than status.readyReplicas")
    errors += validate_object_meta_update(new.metadata, old.metadata, "metadata")
    return errors + _validate_collisions(new.status, old.status)


def validate_daemon_set_status(new: DaemonSet, old: DaemonSet) -> list[FieldError]:
    names = (
        *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
        *("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
    )
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    return errors + _validate_counts(new.status, names) + _validate_collisions(new.status, old.status)


def validate_job_status(new: Job, old: Job) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    status = new.status
    errors += _validate_counts(status, ("active", "succeeded", "failed", "ready", "terminating"))
    if status == old.status:
        return errors
    true = {condition.type for condition in status.conditions if condition.status == "True"}
    finished = bool(true & {"Complete", "Failed"})
    for pair in (("Complete", "Failed"), ("Complete", "FailureTarget"), ("SuccessCriteriaMet", "Failed")):
        if true.issuperset(pair):
            errors.append(_about_conditions(f"cannot set {pair[0]}=True and {pair[1]}=true conditions"))
    if status.completionTime is not None and "Complete" not in true:
        detail = "cannot set completionTime when there is no Complete=True condition"
        errors.append(invalid("status.completionTime", AsJSON(status.completionTime), detail))
    if status.completionTime is None and "Complete" in true:
        errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    for needed, by in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
        if by in true and needed not in true:
            errors.append(_about_conditions(f"cannot set {by}=True condition without the {needed}=true condition"))
    if finished and status.active > 0:
        errors.append(invalid("status.active", status.active, "active>0 is invalid for finished job"))
    if finished and status.startTime is None:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    if status.ready is not None and status.ready > status.active:
        errors.append(invalid("status.ready", status.ready, "cannot set more ready pods than active"))
    return errors


def _about_conditions(detail: str) -> FieldError:
    return FieldError(ErrorKind.INVALID, "status.conditions", None, detail)


def validate_budget_status(new: Any, old: Any) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    return errors + _validate_counts(
        new.status, ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    )


def validate_namespace_status(new: Namespace, old: Namespace) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    going = new.metadata.deletionTimestamp is not None
    wanted, when = ("Terminating", "is not empty") if going else ("Active", "is empty")
    if new.status.phase != wanted:
        detail = f"may only be '{wanted}' if `deletionTimestamp` {when}"
        errors.append(invalid("status.Phase", AsJSON(new.status.phase), detail))
    return errors


def validate_claim_status(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name, quantity in new.status.capacity.items():
        errors += validate_quantity(quantity, f"status.capacity[{name}]", is_whole=False)
    return errors


def validate_only_metadata(new: Any, old: Any) -> list[FieldError]:
    """For kinds whose status nobody checks."""
    return validate_object_meta_update(new.metadata, old.metadata, "metadata")


def _validate_counts(status: Any, names: tuple[str, ...]) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in names:
        errors += validate_not_negative(getattr(status, name), f"status.{name}")
    return errors


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
