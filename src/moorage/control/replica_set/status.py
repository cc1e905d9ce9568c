"""What a ReplicaSet says about itself.

In: the ReplicaSet, its pods, the time, perhaps a failure. Out: its status, and when it may change by itself.
Kubernetes: pkg/controller/replicaset/replica_set_utils.go.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw, Update
from moorage.control.framework.pods_of import available_in, ready_condition, time_text

REPLICA_FAILURE = "ReplicaFailure"


class Failure(NamedTuple):
    """Why there are too few pods, or too many."""

    reason: str
    message: str


class Outlook(NamedTuple):
    """The status, and in how many seconds a ready pod becomes available, if one does."""

    status: Raw
    again_after: float | None


def replica_set_status(
    replica_set: Object, pods: Sequence[Object], terminating: int, now: float, failure: Failure | None = None
) -> Outlook:
    """`pods` are the active ones."""
    view = replica_set.view
    template_labels = view.spec.template.metadata.labels.items()
    labeled = ready = available = 0
    again_after: float | None = None
    for found in pods:
        pod = found.view
        if template_labels <= pod.metadata.labels.items():
            labeled += 1
        if ready_condition(pod) is None:
            continue
        ready += 1
        wait = available_in(pod, view.spec.minReadySeconds, now)
        if wait == 0:
            available += 1
        elif wait is not None:
            again_after = wait if again_after is None else min(again_after, wait)
    status: Raw = {"replicas": len(pods)}
    for field, count in (
        ("fullyLabeledReplicas", labeled),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("observedGeneration", view.metadata.generation),
    ):
        if count:
            status[field] = count
    status["terminatingReplicas"] = terminating
    conditions = _conditions(replica_set, failure, now)
    if conditions:
        status["conditions"] = conditions
    return Outlook(status, again_after)


def update_of_status(found: Object, status: Raw, annotations: Raw | None = None) -> Update | None:
    """What to write, if anything is new; annotations that are given come in addition to those that are there."""
    raw = found.raw
    metadata = raw["metadata"]
    present = metadata.get("annotations") or {}
    wanted = {**present, **(annotations or {})}
    if wanted == present and (raw.get("status") or {}) == status:
        return None
    document = {**raw, "status": status}
    if wanted != present:
        document["metadata"] = {**metadata, "annotations": wanted}
    return Update(found.kind, document, "status")


def _conditions(replica_set: Object, failure: Failure | None, now: float) -> list[Raw]:
    """The first failure stays as it was said until there is none any more."""
    conditions: list[Raw] = (replica_set.raw.get("status") or {}).get("conditions") or []
    others = [condition for condition in conditions if condition.get("type") != REPLICA_FAILURE]
    if failure is None:
        return others
    if len(others) < len(conditions):
        return conditions
    said = {
        "type": REPLICA_FAILURE,
        "status": "True",
        "lastTransitionTime": time_text(now),
        "reason": failure.reason,
        "message": failure.message,
    }
    return [*others, said]
