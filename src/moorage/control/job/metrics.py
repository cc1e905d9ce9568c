"""Metrics of the Job controller. Kubernetes: pkg/controller/job/metrics."""

from collections import Counter
from typing import NamedTuple

from moorage.control.job.situation import parse_indexes
from moorage.model.types.workload import JobSpec, JobStatus
from moorage.telemetry.metrics import Metrics


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

    def __init__(self, metrics: Metrics) -> None:
        prefix = "job_controller_"
        self._syncs = metrics.counter(
            prefix + "job_syncs_total", "The number of job syncs", ("completion_mode", "result", "action")
        )
        self._finished = metrics.counter(
            prefix + "jobs_finished_total", "The number of finished jobs", ("completion_mode", "result", "reason")
        )
        self._pods = metrics.counter(
            prefix + "job_pods_finished_total",
            "The number of finished Pods that are fully tracked",
            ("completion_mode", "result"),
        )
        self._handled = metrics.counter(
            prefix + "pod_failures_handled_by_failure_policy_total",
            "The number of failed Pods handled by failure policy with respect to the failure policy action applied "
            "based on the matched rule.",
            ("action",),
        )
        self._indexes = metrics.counter(
            prefix + "job_finished_indexes_total", "The number of finished indexes.", ("status", "backoffLimit")
        )
        self._created = metrics.counter(
            prefix + "job_pods_creation_total",
            "The number of Pods created by the Job controller labelled with a reason for the Pod creation.",
            ("reason", "status"),
        )
        self._external = metrics.counter(
            prefix + "jobs_by_external_controller_total",
            "The number of Jobs managed by an external controller",
            ("controller_name",),
        )

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
