"""Which pods of a StatefulSet make room for newer ones next: from the highest number down to the partition.

In: the StatefulSet, its pods by number, the newest revision's name, the time. Out: pods to delete, usually one.
Kubernetes: the last part of updateStatefulSet, updateStatefulSetAfterInvariantEstablished.
"""

from collections.abc import Sequence

from moorage.client.protocol import Object
from moorage.control.deployment.bounds import scaled
from moorage.control.stateful_set.members import is_leaving, is_unavailable, revision_name
from moorage.model.types.workload import StatefulSet


def pods_to_replace(view: StatefulSet, replicas: Sequence[Object | None], revision: str, now: float) -> list[Object]:
    """`replicas` has None where a pod is missing, which counts as unavailable."""
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
    """As many as may be missing."""
    update = view.spec.updateStrategy.rollingUpdate
    most = max(1, scaled(update.maxUnavailable, len(replicas), up=False)) if update is not None else 1
    missing = sum(pod is None or is_unavailable(pod, view.spec.minReadySeconds, now) for pod in replicas)
    old = [
        pod
        for pod in reversed(replicas[lowest:])
        if pod is not None and revision_name(pod) != revision and not is_leaving(pod)
    ]
    return old[: max(0, most - missing)]
