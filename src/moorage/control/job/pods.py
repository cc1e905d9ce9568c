"""What a Job asks about its pods: whether they still count, have failed, and when; which index they work on.

In: views of pods. Out: facts about them. A pod carries a finalizer until the Job's status has taken note of how it
ended, so that no end is missed and none is counted twice. Kubernetes: pkg/controller/job's tracking, indexed-job and
backoff utilities.
"""

from moorage.client.protocol import Object
from moorage.control.framework.actions import Patch
from moorage.control.framework.pods_of import POD, seconds_of
from moorage.model.types.job import JobSpec
from moorage.model.types.pod import Pod

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
_MOST = 2**31 - 1


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def release(pod: Object) -> Patch:
    """Take the finalizer away: the pod has been counted, or need not be."""
    patch = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    return Patch(POD, pod.namespace, pod.name, patch)


def completion_index(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 else None


def valid_index(pod: Pod, spec: JobSpec) -> int | None:
    """An index that the Job has."""
    index = completion_index(pod)
    return index if index is not None and index < (spec.completions or 0) else None


def index_failures(pod: Pod) -> int:
    """How often the index had failed when this pod began."""
    return _count(pod.metadata.annotations.get(INDEX_FAILURES, ""))


def ignored_failures(pod: Pod) -> int:
    return _count(pod.metadata.annotations.get(INDEX_IGNORED_FAILURES, ""))


def all_failures(pod: Pod) -> int:
    return index_failures(pod) + ignored_failures(pod)


def _count(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= _MOST else 0


def replaces_only_failed(spec: JobSpec) -> bool:
    """Whether a pod that terminates is waited for, instead of being replaced at once."""
    return spec.podReplacementPolicy == "Failed" or spec.podFailurePolicy is not None


def is_failed(pod: Pod, spec: JobSpec) -> bool:
    """A deleted pod has failed too, if it might never get as far as saying so."""
    if pod.status.phase == "Failed":
        return True
    if replaces_only_failed(spec):
        return False
    return pod.metadata.deletionTimestamp is not None and pod.status.phase != "Succeeded"


def finished_at(pod: Pod) -> float:
    """When its last container ended; or when it stopped being ready, or was deleted, or at worst when it was made."""
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
