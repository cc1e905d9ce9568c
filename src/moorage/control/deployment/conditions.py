"""Conditions of a Deployment: what is said, since when, and when it was last confirmed.

In: conditions as they are, one to be set. Out: conditions. Kubernetes: SetDeploymentCondition and its neighbours.
"""

from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import time_text

PROGRESSING, AVAILABLE, REPLICA_FAILURE = "Progressing", "Available", "ReplicaFailure"

NEW_REPLICA_SET_CREATED = "NewReplicaSetCreated"
FOUND_NEW_REPLICA_SET = "FoundNewReplicaSet"
REPLICA_SET_UPDATED = "ReplicaSetUpdated"
REPLICA_SET_CREATE_ERROR = "ReplicaSetCreateError"
NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED, RESUMED = "DeploymentPaused", "DeploymentResumed"


def condition(kind: str, status: str, reason: str, message: str, now: float) -> Raw:
    text = time_text(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": text,
        "lastTransitionTime": text,
        "reason": reason,
        "message": message,
    }


def find(conditions: list[Raw], kind: str) -> Raw | None:
    return next((found for found in conditions if found.get("type") == kind), None)


def without(conditions: list[Raw], kind: str) -> list[Raw]:
    return [found for found in conditions if found.get("type") != kind]


def with_condition(conditions: list[Raw], new: Raw) -> list[Raw]:
    """Said again for the same reason, nothing changes; with the same status, the time of transition stays."""
    present = find(conditions, new["type"])
    if present is not None and present.get("status") == new["status"]:
        if present.get("reason") == new["reason"]:
            return conditions
        if present.get("lastTransitionTime"):
            new = {**new, "lastTransitionTime": present["lastTransitionTime"]}
    return [*without(conditions, new["type"]), new]
