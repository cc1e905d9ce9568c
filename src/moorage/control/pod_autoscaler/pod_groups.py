"""Sort the pods of a workload by what an autoscaler makes of them, and add up what they request.

Kubernetes: groupPods, calculateRequests and getReadyPodsCount of the replica calculator.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.columns.resources import CPU, has_pod_level_requests, request_quantities
from moorage.control.framework.workloads import ready_condition
from moorage.control.pod_autoscaler.samples import MetricsError, PodSample, Samples
from moorage.model.go.integers import add64
from moorage.model.go.times import seconds_of
from moorage.model.types.pod import Pod


class Readiness(NamedTuple):
    """How long after its start a pod's CPU may say little: flags of the controller, in seconds."""

    initialization_period: float = 300.0
    initial_delay: float = 30.0


class Groups(NamedTuple):
    """How many pods count, and the names of those that do not: not ready, without a sample, on their way out."""

    counted: int
    unready: set[str]
    missing: set[str]
    ignored: set[str]


def group_pods(pods: Iterable[Pod], samples: Samples, resource: str, readiness: Readiness, now: float) -> Groups:
    counted = 0
    unready: set[str] = set()
    missing: set[str] = set()
    ignored: set[str] = set()
    for pod in pods:
        name = pod.metadata.name
        if pod.metadata.deletionTimestamp is not None or pod.status.phase == "Failed":
            ignored.add(name)
        elif pod.status.phase == "Pending":
            unready.add(name)
        elif name not in samples:
            missing.add(name)
        elif resource == CPU and _is_unready(pod, samples[name], readiness, now):
            unready.add(name)
        else:
            counted += 1
    return Groups(counted, unready, missing, ignored)


def _is_unready(pod: Pod, sample: PodSample, readiness: Readiness, now: float) -> bool:
    """Return whether a pod's CPU does not count: it starts, or was never ready."""
    condition = next((one for one in pod.status.conditions if one.type == "Ready"), None)
    started = seconds_of(pod.status.startTime)
    if condition is None or started is None:
        return True
    changed = seconds_of(condition.lastTransitionTime) or 0.0
    if started + readiness.initialization_period > now:
        return condition.status == "False" or sample.timestamp < changed + sample.window
    return condition.status == "False" and started + readiness.initial_delay > changed


def count_ready(pods: Iterable[Pod]) -> int:
    return sum(pod.status.phase == "Running" and ready_condition(pod) is not None for pod in pods)


def requests_of(pods: Iterable[Pod], container: str, resource: str) -> dict[str, int]:
    """Return what each pod, or one container of it, requests, in thousandths; MetricsError if one requests nothing."""
    requests: dict[str, int] = {}
    known: dict[tuple[int, ...], int] = {}  # of containers that pods of one template share
    for pod in pods:
        spec = pod.spec
        like = id(spec.containers), id(spec.initContainers), id(spec.resources), id(spec.overhead)
        if like not in known:
            known[like] = _request_of(pod, container, resource)
        requests[pod.metadata.name] = known[like]
    return requests


def _request_of(pod: Pod, container: str, resource: str) -> int:
    name, spec = pod.metadata.name, pod.spec
    if not container and has_pod_level_requests(spec):
        requested = request_quantities(spec).get(resource)
        if requested is None:
            raise MetricsError(f"missing pod-level request for {resource} in Pod {name}")
        return requested.milli_value()
    total = 0
    for one in (*spec.containers, *(one for one in spec.initContainers if one.is_sidecar)):
        if container in ("", one.name):
            amount = one.resources.requests.get(resource)
            if amount is None:
                raise MetricsError(f"missing request for {resource} in container {one.name} of Pod {name}")
            total = add64(total, amount.milli_value())
        if container == one.name:
            return total
    if container:
        raise MetricsError(f"container {container} not found in Pod {name}")
    return total
