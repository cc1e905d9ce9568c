"""Status of a Deployment: counts, Available, Progressing. Kubernetes: calculateStatus and progress.go."""

from moorage.control.deployment.rollout import Family
from moorage.control.framework.actions import Raw
from moorage.control.framework.workloads import condition as new_condition
from moorage.control.framework.workloads import nonempty
from moorage.model.go.times import seconds_of
from moorage.model.types.workload import Deployment

PROGRESSING, AVAILABLE, REPLICA_FAILURE = "Progressing", "Available", "ReplicaFailure"

NEW_REPLICA_SET_CREATED = "NewReplicaSetCreated"
FOUND_NEW_REPLICA_SET = "FoundNewReplicaSet"
REPLICA_SET_UPDATED = "ReplicaSetUpdated"
REPLICA_SET_CREATE_ERROR = "ReplicaSetCreateError"
NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"


def condition(kind: str, status: str, reason: str, message: str, now: float) -> Raw:
    return new_condition(kind, status, reason, message, now, "lastUpdateTime")


def find(conditions: list[Raw], kind: str) -> Raw | None:
    return next((found for found in conditions if found.get("type") == kind), None)


def without(conditions: list[Raw], kind: str) -> list[Raw]:
    return [found for found in conditions if found.get("type") != kind]


def with_condition(conditions: list[Raw], new: Raw) -> list[Raw]:
    """Set a condition. The same status and reason change nothing; the same status keeps its transition time."""
    present = find(conditions, new["type"])
    if present is not None and present.get("status") == new["status"]:
        if present.get("reason") == new["reason"]:
            return conditions
        if present.get("lastTransitionTime"):
            new = {**new, "lastTransitionTime": present["lastTransitionTime"]}
    return [*without(conditions, new["type"]), new]


_NEVER = 2**31 - 1


def has_deadline(deployment: Deployment) -> bool:
    return deployment.spec.progressDeadlineSeconds not in (None, _NEVER)


def counted_status(family: Family, conditions: list[Raw], now: float) -> Raw:
    """Return counts and the Available condition. Zero counts are omitted."""
    view: Deployment = family.deployment.view
    statuses = [found.view.status for found in family.all]
    available = sum(status.availableReplicas for status in statuses)
    status = nonempty(
        observedGeneration=view.metadata.generation,
        replicas=sum(status.replicas for status in statuses),
        updatedReplicas=family.new.view.status.replicas if family.new is not None else 0,
        readyReplicas=sum(status.readyReplicas for status in statuses),
        availableReplicas=available,
        unavailableReplicas=max(0, family.total(family.all) - available),
    )
    terminating = _terminating(family)
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    if available >= family.bounds.min_available:
        said = ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    else:
        said = ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    status["conditions"] = with_condition(conditions, condition(AVAILABLE, *said, now))
    if view.status.collisionCount is not None:
        status["collisionCount"] = view.status.collisionCount
    return status


def rollout_status(family: Family, conditions: list[Raw], now: float) -> Raw:
    status = counted_status(family, conditions, now)
    said: list[Raw] = status["conditions"]
    if has_deadline(family.deployment.view):
        current = find(conditions, PROGRESSING)
        is_over = (
            status.get("replicas", 0) == status.get("updatedReplicas", 0)
            and current is not None
            and current.get("reason") == NEW_REPLICA_SET_AVAILABLE
        )
        if not is_over:
            said = _progress(family, status, said, current, now)
    else:
        said = without(said, PROGRESSING)
    failure = _failure(family)
    status["conditions"] = with_condition(said, failure) if failure is not None else without(said, REPLICA_FAILURE)
    return status


def is_complete(family: Family, status: Raw) -> bool:
    """Return whether all replicas are updated and available and no others exist."""
    counts = (status.get(field, 0) for field in ("updatedReplicas", "replicas", "availableReplicas"))
    generation = family.deployment.view.metadata.generation
    return all(count == family.replicas for count in counts) and status.get("observedGeneration", 0) >= generation


def deadline_in(family: Family, status: Raw, now: float) -> float | None:
    """Return in how many seconds to check the progress deadline."""
    view: Deployment = family.deployment.view
    current = find(status["conditions"], PROGRESSING)
    if view.spec.progressDeadlineSeconds is None or not has_deadline(view) or current is None:
        return None
    if current.get("reason") == TIMED_OUT or is_complete(family, status):
        return None
    since = seconds_of(current.get("lastUpdateTime")) or now
    return max(0.0, since + view.spec.progressDeadlineSeconds - now) + 1


def _progress(family: Family, status: Raw, said: list[Raw], current: Raw | None, now: float) -> list[Raw]:
    whose = f'Deployment "{family.deployment.name}"'
    if family.new is not None:
        whose = f'ReplicaSet "{family.new.name}"'
    if is_complete(family, status):
        text = f"{whose} has successfully progressed."
        return with_condition(said, condition(PROGRESSING, "True", NEW_REPLICA_SET_AVAILABLE, text, now))
    if _got_on(family, status):
        new = condition(PROGRESSING, "True", REPLICA_SET_UPDATED, f"{whose} is progressing.", now)
        if current is not None and current.get("status") == "True" and current.get("lastTransitionTime"):
            new["lastTransitionTime"] = current["lastTransitionTime"]
        return [*without(said, PROGRESSING), new]
    if _is_late(family, said, now):
        text = f"{whose} has timed out progressing."
        return with_condition(said, condition(PROGRESSING, "False", TIMED_OUT, text, now))
    return said


def _got_on(family: Family, status: Raw) -> bool:
    """Return whether the rollout progressed since the last status."""
    before = family.deployment.view.status
    updated, ready = status.get("updatedReplicas", 0), status.get("readyReplicas", 0)
    return bool(
        updated > before.updatedReplicas
        or status.get("replicas", 0) - updated < before.replicas - before.updatedReplicas
        or ready > before.readyReplicas
        or status.get("availableReplicas", 0) > before.availableReplicas
    )


def _is_late(family: Family, said: list[Raw], now: float) -> bool:
    current = find(said, PROGRESSING)
    if current is None or current.get("reason") == NEW_REPLICA_SET_AVAILABLE:
        return False
    if current.get("reason") == TIMED_OUT:
        return True
    since = seconds_of(current.get("lastUpdateTime"))
    return since is not None and since + family.deployment.view.spec.progressDeadlineSeconds < now


def _failure(family: Family) -> Raw | None:
    """Return the ReplicaFailure condition of the new ReplicaSet, else of any other."""
    for found in [family.new, *family.all]:
        for said in found.view.status.conditions if found is not None else ():
            if said.type == REPLICA_FAILURE:
                return nonempty(
                    type=REPLICA_FAILURE,
                    status=said.status,
                    lastUpdateTime=said.lastTransitionTime,
                    lastTransitionTime=said.lastTransitionTime,
                    reason=said.reason,
                    message=said.message,
                )
    return None


def _terminating(family: Family) -> int | None:
    """Return the number of terminating pods; None if a ReplicaSet does not report it."""
    total = 0
    for found in family.all:
        status = found.view.status
        if status.terminatingReplicas is not None:
            total += status.terminatingReplicas
        elif status.observedGeneration:
            return None
    return total
