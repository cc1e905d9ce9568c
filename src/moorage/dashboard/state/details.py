"""Tell everything about one node or one pod: what its page shows, of a live cluster and of a simulated one alike."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from moorage.client.protocol import Object
from moorage.columns.resources import amounts, pod_requests
from moorage.dashboard.state.rows import NodeRow, RowDeadline, pod_row
from moorage.match.devices.claims import claim_keys
from moorage.match.quota.pods import pod_amounts
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.devices import ResourceClaim, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.devices import device_lines
from moorage.plan.report.plain import as_data
from moorage.watch.happenings import workload_of

#: Pods of a node, and devices, that are listed; the rest is counted.
MAX_LISTED = 1000
_SCHEDULED = "PodScheduled"
#: Conditions of pods that are True only if something is amiss.
_BAD_IF_TRUE = frozenset({"DisruptionTarget", "PodResizePending", "PodResizeInProgress"})
#: Why Ready is False of a pod that is done, and what a container waits for that is about to start.
_COMPLETED = "PodCompleted"
_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})

Document = dict[str, Any]
#: Returns when a pod has to leave its node because of taints, by its key.
DeadlineOf = Callable[[str], RowDeadline | None]


class Objects(Protocol):
    """Where objects are found by their key."""

    def all(self, kind: Kind) -> Iterable[Object]: ...

    def get(self, kind: Kind, key: str) -> Object | None: ...


def node_details(
    objects: Objects, name: str, row: NodeRow, events: list[Document], deadline_of: DeadlineOf
) -> Document | None:
    """Return what the page of a node shows; None if there is no such node."""
    item = objects.get(KINDS.NODE, name)
    if item is None:
        return None
    node: Node = item.view
    pods = [pod for pod in objects.all(KINDS.POD) if pod.view.spec.nodeName == name]
    devices = list(_devices(objects, name))
    return {
        **row,
        "annotations": dict(node.metadata.annotations),
        "conditions": [as_data(condition) for condition in node.status.conditions],
        "addresses": [as_data(address) for address in node.status.addresses],
        "pods": [[*_pod_line(pod.view), deadline_of(pod.key)] for pod in pods[:MAX_LISTED]],
        "podCount": len(pods),
        "devices": devices[:MAX_LISTED],
        "deviceCount": len(devices),
        "events": events,
    }


def _pod_line(pod: Pod) -> tuple[str, str, str, Mapping[str, int]]:
    row = pod_row(pod, workload_of(pod))
    return row.key, row.workload, row.phase, pod_requests(pod.spec)


def _devices(objects: Objects, node: str) -> Iterable[Document]:
    """Return the devices that a node has to itself, with the claims and pods that use them, and their taints."""
    users: dict[tuple[str, str, str], list[str]] = {}
    for item in objects.all(KINDS.RESOURCE_CLAIM):
        claim: ResourceClaim = item.view
        if claim.status.allocation is None:
            continue
        for result in claim.status.allocation.devices.results:
            by = [f"{claim.metadata.namespace}/{consumer.name}" for consumer in claim.status.reservedFor]
            users.setdefault((result.driver, result.pool, result.device), []).extend(by or [item.key])
    for item in objects.all(KINDS.RESOURCE_SLICE):
        published: ResourceSlice = item.view
        spec = published.spec
        if spec.nodeName != node:
            continue
        for device in spec.devices:
            yield {
                "driver": spec.driver,
                "pool": spec.pool.name,
                "name": device.name,
                "inUseBy": users.get((spec.driver, spec.pool.name, device.name), []),
                "taints": [as_data(taint) for taint in device.taints],
                "attributes": as_data(device.attributes),
            }


def pod_details(objects: Objects, key: str, events: list[Document], deadline_of: DeadlineOf) -> Document | None:
    """Return what the panel of a pod shows; None if there is no such pod.

    Times are those of the object; `since` is when it got its node.
    """
    item = objects.get(KINDS.POD, key)
    if item is None:
        return None
    pod: Pod = item.view
    row = pod_row(pod, workload_of(pod))
    scheduled = next((one for one in pod.status.conditions if one.type == _SCHEDULED and one.status == "True"), None)
    return {
        "pod": row.key,
        "workload": row.workload,
        "node": row.node,
        "phase": row.phase,
        "deadline": deadline_of(key),
        "priority": pod.spec.priority or 0,
        "priorityClass": pod.spec.priorityClassName,
        "scheduler": pod.spec.schedulerName,
        "labels": dict(pod.metadata.labels),
        "requests": pod_requests(pod.spec),
        "limits": amounts(pod_amounts(pod, "limits")),
        "devices": list(_devices_of(objects, pod)),
        "wrong": list(_what_is_wrong(pod)),
        "created": pod.metadata.creationTimestamp or "",
        "since": (scheduled.lastTransitionTime if scheduled is not None else None) or "",
        "events": events,
    }


def _devices_of(objects: Objects, pod: Pod) -> Iterable[Document]:
    """Return the claims of a pod, each with the devices that it was allocated."""
    names = [name for _, name in claim_keys(pod)]
    if pod.status.extendedResourceClaimStatus is not None:
        names.append(pod.status.extendedResourceClaimStatus.resourceClaimName)
    for name in dict.fromkeys(names):
        item = objects.get(KINDS.RESOURCE_CLAIM, f"{pod.metadata.namespace}/{name}")
        allocation = item.view.status.allocation if item is not None else None
        lines = device_lines(name, allocation) if allocation is not None else ()
        yield {"claim": name, "devices": [line.name for line in lines]}


def _what_is_wrong(pod: Pod) -> Iterable[Document]:
    """Return the pod's own reason, containers that do not run, and conditions that are not as they should be."""
    status = pod.status
    if status.reason or status.message:
        yield {"what": status.phase, "reason": status.reason, "message": status.message}
    for container in (*status.initContainerStatuses, *status.containerStatuses):
        waiting, ended = container.state.waiting, container.state.terminated
        if waiting is not None and waiting.reason not in _STARTING:
            yield {"what": f"container {container.name}", "reason": waiting.reason, "message": waiting.message}
        elif ended is not None and ended.exitCode != 0:
            about = ended.message or f"exit code {ended.exitCode}"
            yield {"what": f"container {container.name}", "reason": ended.reason, "message": about}
    for condition in status.conditions:
        wanted = "False" if condition.type in _BAD_IF_TRUE else "True"
        if condition.status != wanted and condition.reason != _COMPLETED:
            reason, message = condition.reason, condition.message
            yield {"what": f"{condition.type} is {condition.status}", "reason": reason, "message": message}
