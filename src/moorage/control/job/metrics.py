"""Metrics of the Job controller. Kubernetes: pkg/controller/job/metrics."""

from collections import Counter
from typing import NamedTuple

from moorage.control.job.situation import parse_indexes
from moorage.model.types.workload import JobSpec, JobStatus
from moorage.telemetry import metrics as metric


class SyncOutcome(NamedTuple):
    """What one reconciliation did, to be counted once it is carried out."""

    spec: JobSpec
    before: JobStatus
    after: JobStatus
    action: str
    created: int
    reason_to_create: str
    finished: tuple[str, str] | None  # the result, and the reason for it
    rulings: Counter[str]


class JobMetrics:
    """The metrics."""

    def __init__(self, metrics: metric.Metrics) -> None:
        def counter(name: str, of: str, *labels: str) -> metric.Counter:
            return metrics.counter(f"job_controller_{name}_total", f"The number of {of}", labels)

        self._syncs = counter("job_syncs", "job syncs", "completion_mode", "result", "action")
        self._finished = counter("jobs_finished", "finished jobs", "completion_mode", "result", "reason")
        of = "finished Pods that are fully tracked"
        self._pods = counter("job_pods_finished", of, "completion_mode", "result")
        of = "failed Pods handled by failure policy with respect to the failure policy action applied based on the "
        self._handled = counter("pod_failures_handled_by_failure_policy", of + "matched rule.", "action")
        self._indexes = counter("job_finished_indexes", "finished indexes.", "status", "backoffLimit")
        of = "Pods created by the Job controller labelled with a reason for the Pod creation."
        self._created = counter("job_pods_creation", of, "reason", "status")
        of = "Jobs managed by an external controller"
        self._external = counter("jobs_by_external_controller", of, "controller_name")

    def met_external(self, manager: str) -> None:
        self._external.labels(manager).inc()

    def creation_refused(self, reason: str) -> None:
        self._created.labels(reason, "failed").inc()

    def synced(self, mode: str, result: str, action: str) -> None:
        self._syncs.labels(mode, result, action).inc()

    def count(self, outcome: SyncOutcome) -> None:
        spec, before, after = outcome.spec, outcome.before, outcome.after
        mode = spec.completionMode or "NonIndexed"
        self.synced(mode, "success", outcome.action)
        succeeded = after.succeeded - before.succeeded
        if mode == "Indexed":
            per_index = "global" if spec.backoffLimitPerIndex is None else "perIndex"
            bound = spec.completions or 0
            succeeded = _grown(before.completedIndexes, after.completedIndexes, bound)
            failed = _grown(before.failedIndexes, after.failedIndexes, bound)
            for result, amount in (("succeeded", succeeded), ("failed", failed)):
                if amount > 0:
                    self._indexes.labels(result, per_index).inc(amount)
        for result, amount in (("succeeded", succeeded), ("failed", after.failed - before.failed)):
            if amount > 0:
                self._pods.labels(mode, result).inc(amount)
        if outcome.created:
            self._created.labels(outcome.reason_to_create, "succeeded").inc(outcome.created)
        if outcome.finished is not None:
            self._finished.labels(mode, *outcome.finished).inc()
        for action, amount in outcome.rulings.items():
            if action:
                self._handled.labels(action).inc(amount)


def _grown(before: str | None, after: str | None, below: int) -> int:
    return parse_indexes(after or "", below).total - parse_indexes(before or "", below).total
