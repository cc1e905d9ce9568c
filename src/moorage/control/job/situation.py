"""A Job and its pods: active, ready, terminating, succeeded, failed, by index.

Kubernetes: syncJobCtx, calculateSucceededIndexes, calculateFailedIndexes, getPodsWithDelayedDeletionPerIndex.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.pods_of import is_active, is_terminating, ready_condition
from moorage.control.framework.workloads import digits
from moorage.control.job.pods import (
    FAIL_INDEX,
    all_failures,
    completion_index,
    finished_at,
    index_failures,
    is_failed,
    is_tracked,
    rule_on,
    valid_index,
)
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
        """Indexes that the status lists as succeeded."""
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
