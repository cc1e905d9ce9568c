"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs.

In: a raw object. Out: the same, changed in place. Kubernetes: pkg/apis/apps/v1/defaults.go,
pkg/apis/batch/v1/defaults.go.
"""

from moorage.admit.prepare.defaults.pod import default_pod_spec
from moorage.admit.prepare.defaults.storage import default_claim
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model.types.view import INT32_MAX

_HISTORY = 10
_BACKOFF = 6


def default_deployment(deployment: Raw) -> None:
    spec = part(deployment, "spec")
    fill_absent(spec, {"replicas": 1, "revisionHistoryLimit": _HISTORY, "progressDeadlineSeconds": 600})
    strategy = part(spec, "strategy")
    fill_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        fill_absent(part(strategy, "rollingUpdate"), {"maxUnavailable": "25%", "maxSurge": "25%"})
    _default_template(spec)


def default_replica_set(replica_set: Raw) -> None:
    spec = part(replica_set, "spec")
    fill_absent(spec, {"replicas": 1})
    _default_template(spec)


def default_daemon_set(daemon_set: Raw) -> None:
    spec = part(daemon_set, "spec")
    fill_absent(spec, {"revisionHistoryLimit": _HISTORY})
    strategy = part(spec, "updateStrategy")
    fill_empty(strategy, {"type": "RollingUpdate"})
    if strategy["type"] == "RollingUpdate":
        fill_absent(part(strategy, "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0})
    _default_template(spec)


def default_stateful_set(stateful_set: Raw) -> None:
    spec = part(stateful_set, "spec")
    fill_empty(spec, {"podManagementPolicy": "OrderedReady"})
    strategy = part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        part(strategy, "rollingUpdate")
    if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
        fill_absent(strategy["rollingUpdate"], {"partition": 0})
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    fill_empty(retention, {"whenDeleted": "Retain", "whenScaled": "Retain"})
    fill_absent(spec, {"replicas": 1, "revisionHistoryLimit": _HISTORY})
    for claim in items(spec, "volumeClaimTemplates"):
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"  # whatever it says
        default_claim(claim)
    _default_template(spec)


def default_job(job: Raw) -> None:
    spec = part(job, "spec")
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    fill_absent(spec, {"parallelism": 1, "completionMode": "NonIndexed", "suspend": False, "manualSelector": False})
    fill_absent(spec, {"backoffLimit": _BACKOFF if spec.get("backoffLimitPerIndex") is None else INT32_MAX})
    replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
    fill_absent(spec, {"podReplacementPolicy": replacement})
    labels = (part(spec, "template").get("metadata") or {}).get("labels")
    metadata = part(job, "metadata")
    if labels is not None and not metadata.get("labels"):
        # The same map, not a copy: what a new job's template is labelled with, the job will be, too.
        metadata["labels"] = labels
    default_job_spec(spec)


def default_job_spec(spec: Raw) -> None:
    """Fill in what the spec of a job gets also inside a CronJob."""
    for rule in items(spec.get("podFailurePolicy") or {}, "rules"):
        for pattern in items(rule, "onPodConditions"):
            fill_empty(pattern, {"status": "True"})
    _default_template(spec)


def default_cron_job(cron_job: Raw) -> None:
    spec = part(cron_job, "spec")
    fill_empty(spec, {"concurrencyPolicy": "Allow"})
    fill_absent(spec, {"suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1})
    default_job_spec(part(part(spec, "jobTemplate"), "spec"))


def _default_template(spec: Raw) -> None:
    default_pod_spec(part(part(spec, "template"), "spec"))
