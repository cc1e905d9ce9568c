"""The pods that a Job makes.

In: the Job, an index or none, the pod that failed at this index before. Out: a pod as it is sent to the API server.
Kubernetes: the end of manageJob.
"""

from typing import Any

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import pod_from_template
from moorage.control.job.failure_policy import rule_on
from moorage.control.job.pods import (
    INDEX,
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    TRACKING,
    ignored_failures,
    index_failures,
)

_MAX_PREFIX_LENGTH = 58
_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
}


def new_pod(job: Object, index: int | None, last_failed: Object | None) -> Raw:
    pod = pod_from_template(job, job.raw["spec"].get("template") or {})
    metadata: Raw = pod["metadata"]
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = finalizers if TRACKING in finalizers else [*finalizers, TRACKING]
    if index is None:
        return pod
    middle = f"-{index}-"
    metadata["generateName"] = f"{job.name[: _MAX_PREFIX_LENGTH - len(middle)]}{middle}"
    metadata["labels"] = {**(metadata.get("labels") or {}), INDEX: str(index)}
    annotations = metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
    if job.view.spec.backoffLimitPerIndex is not None:
        annotations |= _failures(job, last_failed)
    spec = pod["spec"] = {**pod["spec"], "hostname": f"{job.name}-{index}"}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_told_its_index(container) for container in spec[field]]
    return pod


def _failures(job: Object, last_failed: Object | None) -> dict[str, str]:
    """How often the index has failed so far, and how often that did not count."""
    if last_failed is None:
        return {INDEX_FAILURES: "0"}
    view = last_failed.view
    counts = rule_on(job.view.spec.podFailurePolicy, view).counts
    failures, ignored = index_failures(view) + counts, ignored_failures(view) + (not counts)
    return {INDEX_FAILURES: str(failures), **({INDEX_IGNORED_FAILURES: str(ignored)} if ignored else {})}


def _told_its_index(container: dict[str, Any]) -> dict[str, Any]:
    variables = container.get("env") or []
    if any(variable.get("name") == _VARIABLE["name"] for variable in variables):
        return container
    return {**container, "env": [*variables, _VARIABLE]}
