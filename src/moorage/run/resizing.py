"""Resize running pods: what their containers have been given, and why they have not been given what they ask for.

Kubernetes: pkg/kubelet/allocation. Differs: a resize that fits is done at once, so PodResizeInProgress is never seen;
containers' resources are reported only of pods that have been resized.
"""

from typing import Any, NamedTuple

from moorage.columns.resources import CPU, MEMORY, pod_requests
from moorage.model.go.times import time_text
from moorage.model.types.container import Container
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.admission import Load, Refusal, no_room

Raw = dict[str, Any]
PENDING = "PodResizePending"


class PodResize(NamedTuple):
    """The pod whose requests and limits its containers have, and why they do not have those of the newest version."""

    allocated: Pod
    problem: Refusal | None = None


def is_resized(old: Pod, new: Pod) -> bool:
    return old.spec is not new.spec and _resources(old) != _resources(new)


def _resources(pod: Pod) -> list[Any]:
    return [one.resources for one in (*pod.spec.containers, *pod.spec.initContainers)]


def resize(old: Pod, new: Pod, node: Node, load: Load) -> PodResize:
    """Give the containers of a pod, which is counted in `load`, what its new version asks for, if there is room."""
    load.remove(old)
    problem = _infeasible(new, load.capacity(node)) or _deferred(new, node, load)
    load.add(new if problem is None else old)
    return PodResize(new if problem is None else old, problem)


def _infeasible(pod: Pod, capacity: dict[str, int]) -> Refusal | None:
    requests = pod_requests(pod.spec)
    for name in (CPU, MEMORY):
        wanted, has = requests.get(name, 0), capacity.get(name, 0)
        if wanted > has:
            message = f"Node didn't have enough capacity: {name}, requested: {wanted}, capacity: {has}"
            return Refusal("Infeasible", message)
    return None


def _deferred(pod: Pod, node: Node, load: Load) -> Refusal | None:
    refusal = no_room(pod, node, load)
    return None if refusal is None else Refusal("Deferred", refusal.message)


def report_resize(status: Raw, pod: Pod, resized: PodResize, now: float) -> None:
    """Write into a status what the containers have, and whether a resize is pending."""
    allocated = {one.name: one for one in (*resized.allocated.spec.containers, *resized.allocated.spec.initContainers)}
    for container in (*status["containerStatuses"], *status.get("initContainerStatuses", ())):
        given = allocated.get(container["name"])
        if given is not None:
            container.update(_reported(given))
    old = next((one for one in pod.status.conditions if one.type == PENDING), None)
    if resized.problem is not None:
        reason, message = resized.problem
        changed = time_text(now) if old is None else old.lastTransitionTime
        condition: Raw = {"type": PENDING, "status": "True", "lastTransitionTime": changed}
        condition |= {"reason": reason, "message": message, "observedGeneration": pod.metadata.generation}
        status["conditions"].append(condition)
    elif old is not None:
        status["conditions"].append({"type": PENDING, "$patch": "delete"})


def _reported(container: Container) -> Raw:
    sides = {"requests": container.resources.requests, "limits": container.resources.limits}
    shown = {side: {name: str(amount) for name, amount in each.items()} for side, each in sides.items() if each}
    return {"allocatedResources": shown.get("requests", {}), "resources": shown}
