"""What a StatefulSet says about itself.

In: the StatefulSet, its pods, the revisions it comes from and goes to, the time. Out: its status, and when that may
change by itself. Kubernetes: updateStatus, completeRollingUpdate.
"""

from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import available_in
from moorage.control.stateful_set.members import is_leaving, is_running_and_ready, replicas_of, revision_name
from moorage.model.types.workload import StatefulSet


def stateful_set_status(
    stateful_set: Object, pods: Sequence[Object], current: str, update: str, now: float
) -> tuple[Raw, float | None]:
    """`current` and `update` are names of revisions. Once all pods are of the newer one, it is the current one."""
    view: StatefulSet = stateful_set.view
    ready = available = of_current = of_update = 0
    again_after: float | None = None
    for pod in pods:
        if is_running_and_ready(pod):
            ready += 1
            wait = available_in(pod.view, view.spec.minReadySeconds, now)
            if wait == 0:
                available += 1
            elif wait is not None:
                again_after = wait if again_after is None else min(again_after, wait)
        if not is_leaving(pod):
            of_current += revision_name(pod) == current
            of_update += revision_name(pod) == update
    replicas = replicas_of(view)
    if view.spec.updateStrategy.type == "RollingUpdate" and of_update == ready == len(pods) == replicas:
        current, of_current = update, of_update
    before: Raw = stateful_set.raw.get("status") or {}
    status: Raw = {"replicas": len(pods), "availableReplicas": available}
    for field, value in (
        ("observedGeneration", view.metadata.generation),
        ("readyReplicas", ready),
        ("currentReplicas", of_current),
        ("updatedReplicas", of_update),
        ("currentRevision", current),
        ("updateRevision", update),
    ):
        if value:
            status[field] = value
    status["collisionCount"] = view.status.collisionCount or 0
    if before.get("conditions"):
        status["conditions"] = before["conditions"]
    return status, again_after
