"""A Job and its pods by state and index, and which to delete or to create.

Failed pods are replaced after a backoff that grows with the failures since the last success. Kubernetes: syncJobCtx,
calculateSucceededIndexes, calculateFailedIndexes, getPodsWithDelayedDeletionPerIndex, manageJob, activePodsForRemoval,
firstPendingIndexes, backoffStore. Differs: the backoff counts the pods that are still there, so a restart does not
forget them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.deletion_order import pods_to_delete
from moorage.control.framework.steps import Steps, finish
from moorage.control.framework.workloads import digits, is_active, is_terminating, ready_condition
from moorage.control.job.pods import (
    FAIL_INDEX,
    all_failures,
    completion_index,
    finished_at,
    index_failures,
    is_failed,
    is_tracked,
    replaces_only_failed,
    rule_on,
    valid_index,
)
from moorage.model.text.readers import reads_text
from moorage.model.types.pod import Pod
from moorage.model.types.workload import JobSpec, JobStatus


class Indexes(NamedTuple):
    """Disjoint intervals in order, each by its first and last index."""

    intervals: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def has(self, index: int) -> bool:
        position = bisect_left(self.intervals, index, key=lambda interval: interval[1])
        return position < len(self.intervals) and self.intervals[position][0] <= index

    def plus(self, indexes: Iterable[int]) -> "Indexes":
        return self.united(Indexes(tuple((index, index) for index in sorted(set(indexes)))))

    def united(self, other: "Indexes") -> "Indexes":
        if not other.intervals:
            return self
        merged: list[tuple[int, int]] = []
        for first, last in sorted(chain(self.intervals, other.intervals)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return Indexes(tuple(merged))

    def overlap(self, other: "Indexes") -> int:
        """Count the indexes that are in both."""
        return self.total + other.total - self.united(other).total

    def first_missing(self, count: int, below: int) -> list[int]:
        """Return the lowest `count` indexes that are not in the set."""
        found: list[int] = []
        candidate = 0
        for first, last in self.intervals:
            found += range(candidate, min(first, below, candidate + count - len(found)))
            candidate = max(candidate, last + 1)
            if len(found) >= count or candidate >= below:
                return found
        found += range(candidate, min(below, candidate + count - len(found)))
        return found

    def __str__(self) -> str:
        return ",".join(_interval_text(first, last) for first, last in self.intervals)


def _interval_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


@reads_text("1", "2", "-", ",", "x", arguments=(1 << 31,))
def parse_indexes(text: str, below: int) -> Indexes:
    """Parse indexes below a bound; malformed parts are skipped."""
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        low, high = digits(first), digits(last if dash else first)
        if low is None or high is None:
            continue
        high = min(high, below - 1)
        if low <= high:
            intervals.append((low, high))
    return Indexes().united(Indexes(tuple(intervals)))


OWN_NAME = "kubernetes.io/job-controller"


class Situation:
    """Everything that one reconciliation needs to know, read only."""

    def __init__(self, job: Object, pods: Sequence[Object]) -> None:
        self.job = job
        self.spec: JobSpec = job.view.spec
        self.status: JobStatus = job.view.status
        self.is_indexed = self.spec.completionMode == "Indexed"
        self.is_suspended = bool(self.spec.suspend)
        self.is_leaving = job.view.metadata.deletionTimestamp is not None
        self.completions = self.spec.completions
        self.pods = sorted(pods, key=_by_index) if self.is_indexed else list(pods)
        self.active = [pod for pod in self.pods if is_active(pod.view)]
        self.ready = sum(ready_condition(pod.view) is not None for pod in self.active)
        self.terminating = sum(is_terminating(pod.view) for pod in self.pods)
        uncounted = self.status.uncountedTerminatedPods
        self.uncounted_succeeded = frozenset(uncounted.succeeded if uncounted is not None else ())
        self.uncounted_failed = frozenset(uncounted.failed if uncounted is not None else ())

    def look(self) -> Steps[None]:
        """Look at all pods for each thing that will be asked, one after the other."""
        for name in ("succeeded", "failed", "failed_indexes", "last_failed"):
            yield
            getattr(self, name)
        yield

    @cached_property
    def succeeded(self) -> int:
        """Count completions, including those that the status does not have yet."""
        if self.is_indexed:
            return self.succeeded_indexes.total
        known = self.uncounted_succeeded
        new = sum(
            pod.view.status.phase == "Succeeded" and is_tracked(pod.view) and pod.uid not in known for pod in self.pods
        )
        return int(self.status.succeeded + len(known) + new)

    @cached_property
    def failed(self) -> int:
        """Count failures that matter, including those that the status does not have yet."""
        known, policy = self.uncounted_failed, self.spec.podFailurePolicy
        new = sum(
            self._counts(pod.view)
            and pod.uid not in known
            and is_failed(pod.view, self.spec)
            and rule_on(policy, pod.view).counts
            for pod in self.pods
        )
        return self.status.failed + len(known) + new

    def _counts(self, pod: Pod) -> bool:
        return is_tracked(pod) and (not self.is_indexed or valid_index(pod, self.spec) is not None)

    # -- indexes ------------------------------------------------------------------------------------------------------

    @property
    def has_limit_per_index(self) -> bool:
        return self.is_indexed and self.spec.backoffLimitPerIndex is not None

    @cached_property
    def counted_indexes(self) -> Indexes:
        return parse_indexes(self.status.completedIndexes, self.completions or 0)

    @cached_property
    def succeeded_indexes(self) -> Indexes:
        new = (
            index
            for pod in self.pods
            if pod.view.status.phase == "Succeeded" and is_tracked(pod.view)
            if (index := valid_index(pod.view, self.spec)) is not None
        )
        return self.counted_indexes.plus(new)

    @cached_property
    def failed_indexes(self) -> Indexes | None:
        """Indexes that are not retried; None without backoffLimitPerIndex."""
        if not self.has_limit_per_index:
            return None
        known = parse_indexes(self.status.failedIndexes or "", self.completions or 0)
        new = (
            index
            for pod in self.pods
            if is_tracked(pod.view) and self._ends_index(pod.view)
            if (index := valid_index(pod.view, self.spec)) is not None
        )
        return known.plus(new)

    def _ends_index(self, pod: Pod) -> bool:
        if not is_failed(pod, self.spec):
            return False
        ruling = rule_on(self.spec.podFailurePolicy, pod)
        if ruling.action == FAIL_INDEX:
            return True
        return ruling.counts and index_failures(pod) >= (self.spec.backoffLimitPerIndex or 0)

    @cached_property
    def last_failed(self) -> dict[int, Object]:
        """The pod that failed last, for each index to retry. It is kept until its successor exists."""
        found: dict[int, Object] = {}
        if self.failed_indexes is None:
            return found
        active = {completion_index(pod.view) for pod in self.active}
        for pod in self.pods:
            index = valid_index(pod.view, self.spec)
            if index is None or index in active or not is_tracked(pod.view) or not is_failed(pod.view, self.spec):
                continue
            if self.succeeded_indexes.has(index) or self.failed_indexes.has(index):
                continue
            last = found.get(index)
            if last is None or (
                all_failures(last.view) <= all_failures(pod.view) and finished_at(pod.view) >= finished_at(last.view)
            ):
                found[index] = pod
        return found


def _by_index(pod: Object) -> int:
    index = completion_index(pod.view)
    return -1 if index is None else index


FIRST_SECONDS, MAX_SECONDS = 10.0, 600.0
#: Failures after which the delay no longer grows.
_ENOUGH = 8


def wait_after(failures: int, last: float, now: float) -> float:
    """Return the remaining backoff after this many failures in a row."""
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
        return finish(pods_to_delete(seen.active, (), count, 0, now)) if count else []
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
        twins = finish(pods_to_delete(pods, (), len(pods) - 1, 0, now)) if len(pods) > 1 else []
        surplus += twins
        left += [pod for pod in pods if pod not in twins]
    if len(surplus) < count:
        surplus += finish(pods_to_delete(left, (), count - len(surplus), 0, now))
    return surplus
