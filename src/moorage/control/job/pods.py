"""Pods of Jobs: finalizer, index, failures, pod failure policy, new pods.

A pod has a finalizer until the Job's status has counted it. Kubernetes: pkg/controller/job's tracking, indexed-job and
backoff utilities, matchPodFailurePolicy.
"""

from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Patch, Raw, patch_metadata
from moorage.control.framework.workloads import digits, int32, pod_from_template
from moorage.model.go.times import seconds_of
from moorage.model.types.pod import ContainerStatus, Pod
from moorage.model.types.workload import JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement
from moorage.model.well_known.labels import JOB_COMPLETION_INDEX

IGNORE, FAIL_JOB, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


class Ruling(NamedTuple):
    """The action of the matching rule, if any; `message` if the Job is to fail because of it."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """Return whether the failure counts towards the limits."""
        return self.action != IGNORE


_NO_RULE = Ruling()


def rule_on(policy: PodFailurePolicy | None, pod: Pod) -> Ruling:
    if policy is None:
        return _NO_RULE
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    for number, rule in enumerate(policy.rules):
        ending = f"matching {rule.action} rule at index {number}"
        if rule.onExitCodes is not None:
            container = _container_with_code(pod, rule.onExitCodes)
            if container is not None and container.state.terminated is not None:
                code = container.state.terminated.exitCode
                said = f"Container {container.name} for pod {where} failed with exit code {code} {ending}"
                return _ruling(rule.action, said)
            continue
        wanted = {(pattern.type, pattern.status) for pattern in rule.onPodConditions}
        for condition in pod.status.conditions:
            if (condition.type, condition.status) in wanted:
                return _ruling(rule.action, f"Pod {where} has condition {condition.type} {ending}")
    return _NO_RULE


def _ruling(action: str, message: str) -> Ruling:
    return Ruling(action, message if action == FAIL_JOB else "")


def _container_with_code(pod: Pod, wanted: PodFailurePolicyOnExitCodesRequirement) -> ContainerStatus | None:
    for status in (*pod.status.containerStatuses, *pod.status.initContainerStatuses):
        ended = status.state.terminated
        if ended is None or ended.exitCode == 0 or wanted.containerName not in (None, status.name):
            continue
        is_listed = ended.exitCode in wanted.values
        if (wanted.operator == "In" and is_listed) or (wanted.operator == "NotIn" and not is_listed):
            return status
    return None


TRACKING = "batch.kubernetes.io/job-tracking"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def release(pod: Object) -> Patch:
    """Remove the finalizer."""
    return patch_metadata(pod, {"$deleteFromPrimitiveList/finalizers": [TRACKING]})


def completion_index(pod: Pod) -> int | None:
    return digits(pod.metadata.annotations.get(JOB_COMPLETION_INDEX, ""))


def valid_index(pod: Pod, spec: JobSpec) -> int | None:
    index = completion_index(pod)
    return index if index is not None and index < (spec.completions or 0) else None


def index_failures(pod: Pod, annotation: str = INDEX_FAILURES) -> int:
    """Return how often the index had failed when this pod was created."""
    return int32(pod.metadata.annotations.get(annotation, "")) or 0


def all_failures(pod: Pod) -> int:
    return index_failures(pod) + index_failures(pod, INDEX_IGNORED_FAILURES)


def replaces_only_failed(spec: JobSpec) -> bool:
    """Return whether terminating pods are not replaced before they are gone."""
    return spec.podReplacementPolicy == "Failed" or spec.podFailurePolicy is not None


def is_failed(pod: Pod, spec: JobSpec) -> bool:
    """Return whether a pod failed. A terminating pod counts if it may never report its end."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(spec):
        return False
    return pod.metadata.deletionTimestamp is not None and pod.status.phase != "Succeeded"


def finished_at(pod: Pod) -> float:
    """Return when the last container ended, else when it became unready, was deleted or created."""
    ends = _container_ends(pod)
    if ends is not None:
        return ends
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "False":
            since = seconds_of(condition.lastTransitionTime)
            if since is not None:
                return since
    deleted = seconds_of(pod.metadata.deletionTimestamp)
    if deleted is not None:
        return deleted - (pod.metadata.deletionGracePeriodSeconds or 0)
    return seconds_of(pod.metadata.creationTimestamp) or 0.0


def _container_ends(pod: Pod) -> float | None:
    sidecars = {container.name for container in pod.spec.initContainers if container.restartPolicy == "Always"}
    statuses = [*pod.status.containerStatuses]
    statuses += [status for status in pod.status.initContainerStatuses if status.name in sidecars]
    ends: list[float] = []
    for status in statuses:
        ended = status.state.terminated
        at = seconds_of(ended.finishedAt) if ended is not None else None
        if at is None:
            return None
        ends.append(at)
    return max(ends, default=None)


_MAX_PREFIX_LENGTH = 58
_VARIABLE = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{JOB_COMPLETION_INDEX}']"}},
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
    metadata["labels"] = {**(metadata.get("labels") or {}), JOB_COMPLETION_INDEX: str(index)}
    annotations = metadata["annotations"] = {**(metadata.get("annotations") or {}), JOB_COMPLETION_INDEX: str(index)}
    if job.view.spec.backoffLimitPerIndex is not None:
        annotations |= _failures(job, last_failed)
    spec = pod["spec"] = {**pod["spec"], "hostname": f"{job.name}-{index}"}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_told_its_index(container) for container in spec[field]]
    return pod


def _failures(job: Object, last_failed: Object | None) -> dict[str, str]:
    """Return annotations with the failures of the index, counted and ignored ones."""
    if last_failed is None:
        return {INDEX_FAILURES: "0"}
    view = last_failed.view
    counts = rule_on(job.view.spec.podFailurePolicy, view).counts
    failures, ignored = index_failures(view) + counts, index_failures(view, INDEX_IGNORED_FAILURES) + (not counts)
    return {INDEX_FAILURES: str(failures), **({INDEX_IGNORED_FAILURES: str(ignored)} if ignored else {})}


def _told_its_index(container: dict[str, Any]) -> dict[str, Any]:
    variables = container.get("env") or []
    if any(variable.get("name") == _VARIABLE["name"] for variable in variables):
        return container
    return {**container, "env": [*variables, _VARIABLE]}
