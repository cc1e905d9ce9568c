"""A Job and its pods: active, ready, terminating, succeeded, failed, by index.

Kubernetes: syncJobCtx, calculateSucceededIndexes, calculateFailedIndexes, getPodsWithDelayedDeletionPerIndex.
"""

from collections.abc import Sequence
from functools import cached_property

from moorage.client.protocol import Object
from moorage.control.framework.pods_of import is_active, is_terminating, ready_condition
from moorage.control.job.indexes import Indexes, parse_indexes
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
