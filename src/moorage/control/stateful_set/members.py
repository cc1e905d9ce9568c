"""Ordinals, names and states of a StatefulSet's pods; which to replace; the status.

Kubernetes: stateful_set_utils.go, updateStatus, completeRollingUpdate, updateStatefulSetAfterInvariantEstablished.
"""

import re
from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import available_in, ready_condition
from moorage.control.framework.workloads import scaled
from moorage.model.types.pod import Pod
from moorage.model.types.workload import StatefulSet


def pods_to_replace(view: StatefulSet, replicas: Sequence[Object | None], revision: str, now: float) -> list[Object]:
    """Return the outdated pods to delete, highest ordinal first, down to the partition."""
    update = view.spec.updateStrategy.rollingUpdate
    lowest = (update.partition or 0) if update is not None else 0
    if update is not None and update.maxUnavailable is not None:
        return _several(view, replicas, revision, lowest, now)
    for pod in reversed(replicas[lowest:]):
        if pod is not None and revision_name(pod) != revision and not is_leaving(pod):
            return [pod]
        if pod is None or is_unavailable(pod, view.spec.minReadySeconds, now):
            return []
    return []


def _several(
    view: StatefulSet, replicas: Sequence[Object | None], revision: str, lowest: int, now: float
) -> list[Object]:
    """Return as many outdated pods as maxUnavailable allows."""
    update = view.spec.updateStrategy.rollingUpdate
    max_unavailable = max(1, scaled(update.maxUnavailable, len(replicas), up=False)) if update is not None else 1
    missing = sum(pod is None or is_unavailable(pod, view.spec.minReadySeconds, now) for pod in replicas)
    old = [
        pod
        for pod in reversed(replicas[lowest:])
        if pod is not None and revision_name(pod) != revision and not is_leaving(pod)
    ]
    return old[: max(0, max_unavailable - missing)]


def stateful_set_status(
    stateful_set: Object, pods: Sequence[Object], current: str, update: str, now: float
) -> tuple[Raw, float | None]:
    """Return the status and when it may change by itself. `current` and `update` are revision names."""
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


REVISION_LABEL = "controller-revision-hash"
POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"
_NUMBERED = re.compile(r"(.*)-([0-9]+)\Z", re.DOTALL)
_LARGEST = 2**31 - 1


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Split `web-3` into `web` and 3; -1 without a number."""
    found = _NUMBERED.match(name)
    if found is None:
        return "", -1
    digits = found[2]
    ordinal = int(digits) if len(digits) <= 10 else _LARGEST + 1
    return found[1], ordinal if ordinal <= _LARGEST else -1


def ordinal_of(pod: Object) -> int:
    return parent_and_ordinal(pod.name)[1]


def wanted_ordinals(view: StatefulSet) -> range:
    start = view.spec.ordinals.start if view.spec.ordinals is not None else 0
    return range(start, start + replicas_of(view))


def replicas_of(view: StatefulSet) -> int:
    return 1 if view.spec.replicas is None else view.spec.replicas


def pod_name(stateful_set: Object, ordinal: int) -> str:
    return f"{stateful_set.name}-{ordinal}"


def revision_name(pod: Object) -> str:
    found: str = pod.view.metadata.labels.get(REVISION_LABEL, "")
    return found


def has_identity(pod: Object) -> bool:
    labels = pod.view.metadata.labels
    return bool(labels.get(POD_NAME_LABEL) == pod.name)


def is_leaving(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is not None


def is_running_and_ready(pod: Object) -> bool:
    view: Pod = pod.view
    return view.status.phase == "Running" and ready_condition(view) is not None


def is_unavailable(pod: Object, min_ready_seconds: int, now: float) -> bool:
    return available_in(pod.view, min_ready_seconds, now) != 0 or is_leaving(pod)
