"""Choose the pods of a Job to delete, or the number and indexes of pods to create.

Failed pods are replaced after a backoff that grows with the failures since the last success. Kubernetes: manageJob,
activePodsForRemoval, firstPendingIndexes, backoffStore. Differs: the backoff counts the pods that are still there, so a
restart does not forget them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.deletion_order import pods_to_delete
from moorage.control.framework.pods_of import is_terminating
from moorage.control.job.pods import (
    all_failures,
    completion_index,
    finished_at,
    is_failed,
    is_tracked,
    replaces_only_failed,
)
from moorage.control.job.situation import Situation
from moorage.model.types.pod import Pod
from moorage.model.types.workload import JobSpec

FIRST_SECONDS, MAX_SECONDS = 10.0, 600.0
#: Failures after which the delay no longer grows.
_ENOUGH = 8


def wait_after(failures: int, last: float, now: float) -> float:
    """Return the remaining backoff after so many failures in a row."""
    if failures <= 0:
        return 0.0
    delay = min(MAX_SECONDS, FIRST_SECONDS * 2.0 ** min(failures - 1, _ENOUGH))
    return max(0.0, delay - (now - last))


def wait_of_index(last_failed: Pod | None, now: float) -> float:
    if last_failed is None:
        return 0.0
    return wait_after(all_failures(last_failed) + 1, finished_at(last_failed), now)


class Failures:
    """The latest failures of one Job."""

    def __init__(self) -> None:
        self._ended: dict[str, float] = {}

    def learn(self, pods: Iterable[Pod], spec: JobSpec) -> None:
        """Record all pods of the Job. Pods that the controller itself deleted did not fail."""
        last_success = float("-inf")
        for pod in pods:
            metadata = pod.metadata
            if pod.status.phase == "Succeeded":
                last_success = max(last_success, finished_at(pod))
            elif is_failed(pod, spec) and (is_tracked(pod) or metadata.deletionTimestamp is None):
                self._ended[metadata.uid] = finished_at(pod)
        recent = sorted((at, uid) for uid, at in self._ended.items() if at > last_success)
        self._ended = {uid: at for at, uid in recent[-_ENOUGH:]}

    def wait(self, now: float) -> float:
        return wait_after(len(self._ended), max(self._ended.values(), default=0.0), now)


#: Most pods to create or delete in one plan.
BURST = 500


class Sizing(NamedTuple):
    """Pods to delete, or indexes of pods to create (None for a pod without one), or how long to wait."""

    surplus: Sequence[Object] = ()
    indexes: Sequence[int | None] = ()
    wait: float | None = None


def size(seen: Situation, failures: Failures, now: float) -> Sizing:
    if seen.is_suspended:
        return Sizing(surplus=seen.active[:BURST])
    wanted = _wanted(seen)
    surplus = _surplus(seen, max(0, len(seen.active) - wanted), now)
    if surplus:
        return Sizing(surplus=surplus[:BURST])
    waited_for = seen.terminating if replaces_only_failed(seen.spec) else 0
    missing = min(wanted - waited_for - len(seen.active), BURST)
    if missing <= 0:
        return Sizing()
    if not seen.has_limit_per_index:
        wait = failures.wait(now)
        if wait > 0:
            return Sizing(wait=wait)
    if not seen.is_indexed:
        return Sizing(indexes=(None,) * missing)
    pending = _pending(seen, missing)
    waits = [wait_of_index(last.view if last else None, now) for last in map(seen.last_failed.get, pending)]
    ready = [index for index, wait in zip(pending, waits, strict=True) if wait == 0]
    if not ready and waits:
        return Sizing(wait=min(waits))
    return Sizing(indexes=ready, wait=min((wait for wait in waits if wait), default=None))


def _wanted(seen: Situation) -> int:
    """Return the number of active pods wanted: parallelism, at most the completions that are missing."""
    parallelism = 1 if seen.spec.parallelism is None else seen.spec.parallelism
    if seen.completions is None:
        # Work queue: once one pod has succeeded, the queue is empty and the others may finish.
        return len(seen.active) if seen.succeeded else int(parallelism)
    return max(0, min(int(parallelism), int(seen.completions) - seen.succeeded))


def _pending(seen: Situation, count: int) -> list[int]:
    """Return the lowest indexes that are not active and not finished."""
    taken = {completion_index(pod.view) for pod in seen.active}
    if replaces_only_failed(seen.spec):
        taken |= {completion_index(pod.view) for pod in seen.pods if is_terminating(pod.view)}
    busy = seen.succeeded_indexes.plus(index for index in taken if index is not None)
    if seen.failed_indexes is not None:
        busy = busy.united(seen.failed_indexes)
    return busy.first_missing(count, seen.completions or 0)


def _surplus(seen: Situation, count: int, now: float) -> list[Object]:
    """Return at least `count` pods to delete; of indexed Jobs also invalid and duplicate indexes."""
    if not seen.is_indexed:
        return pods_to_delete(seen.active, (), count, 0, now) if count else []
    by_index: dict[int, list[Object]] = {}
    surplus: list[Object] = []
    for pod in seen.active:
        index = completion_index(pod.view)
        if index is None or index >= (seen.completions or 0):
            surplus.append(pod)
        else:
            by_index.setdefault(index, []).append(pod)
    left: list[Object] = []
    for pods in by_index.values():
        twins = pods_to_delete(pods, (), len(pods) - 1, 0, now) if len(pods) > 1 else []
        surplus += twins
        left += [pod for pod in pods if pod not in twins]
    if len(surplus) < count:
        surplus += pods_to_delete(left, (), count - len(surplus), 0, now)
    return surplus
