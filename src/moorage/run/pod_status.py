"""Write the status documents of simulated pods, and resize running pods.

Each status is complete, so skipped ones do not matter. Kubernetes: generateAPIPodStatus, status/generate.go,
pkg/kubelet/allocation. Differs: all containers of a pod do the same; their IDs are made from the pod's UID; a resize
that fits is done at once, so PodResizeInProgress is never seen; containers' resources are reported only of pods that
have been resized, those of whole pods only where the spec has resources at pod level.
"""

from typing import Any, NamedTuple

from moorage.columns.resources import CPU, MEMORY, pod_requests
from moorage.match.quota.pods import pod_amounts
from moorage.model.go.quoting import go_quote
from moorage.model.go.times import duration_text, time_text
from moorage.model.types.container import Container, EphemeralContainer
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod, PodCondition
from moorage.run.admission import Load, Refusal, no_room
from moorage.run.last_result_cache import remember_last
from moorage.run.shutdown import TERMINATED

Raw = dict[str, Any]

_SECOND = 1_000_000_000
REJECTED = "Pod was rejected: "
_NOT_READY, _GATES_CLOSED = "ContainersNotReady", "ReadinessGatesNotReady"
DEADLINE_EXCEEDED = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class Doing(NamedTuple):
    """What the containers do: state, since when the pod is here, restarts."""

    phase: str
    state: Raw
    began: float
    is_ready: bool = False
    restarts: int = 0
    last: Raw | None = None
    reason: tuple[str, str] = ("", "")


def rejected_status(pod: Pod, refusal: Refusal, now: float) -> Raw:
    """Return the status of a pod refused by kubelet admission."""
    status: Raw = {
        "phase": "Failed",
        "reason": refusal.reason,
        "message": REJECTED + refusal.message,
        "startTime": time_text(now),
    }
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    return status


def pod_status(pod: Pod, doing: Doing, host_ip: str, pod_ip: str, now: float) -> Raw:
    """Return the status of an admitted pod."""
    state = doing.state
    status: Raw = {"phase": doing.phase, "startTime": time_text(doing.began)}
    if pod.metadata.generation:
        status["observedGeneration"] = pod.metadata.generation
    status |= {"hostIP": host_ip, "hostIPs": [{"ip": host_ip}]}
    address = host_ip if pod.spec.hostNetwork else pod_ip
    if doing.phase != "Pending" and address:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
    reason, message = doing.reason
    if reason:
        status |= {"reason": reason, "message": message}
    if pod.spec.initContainers:
        status["initContainerStatuses"] = [
            _init_container(pod, container, doing) for container in pod.spec.initContainers
        ]
    status["containerStatuses"] = [
        _container(pod, container, _named(state, pod, container), doing.is_ready, doing.restarts, doing.last)
        for container in pod.spec.containers
    ]
    if pod.spec.ephemeralContainers:
        status["ephemeralContainerStatuses"] = [
            _ephemeral_container(pod, container, doing, now) for container in pod.spec.ephemeralContainers
        ]
    if pod.spec.resources is not None:
        report_pod_level(status, pod)
    conditions = _conditions(pod, doing.phase, doing.is_ready, time_text(now))
    status["conditions"] = [condition.copy() for condition in conditions]
    return status


def creating() -> Raw:
    return {"waiting": {"reason": "ContainerCreating"}}


def running(since: float) -> Raw:
    return {"running": {"startedAt": time_text(since)}}


def backing_off(seconds: int) -> Raw:
    """Return the waiting state; `_named` adds the container's name."""
    return {"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off {duration_text(seconds * _SECOND)}"}}


def exited(since: float, now: float, code: int) -> Raw:
    """Return the contents of a `terminated` state."""
    reason = "Error" if code else "Completed"
    return {"exitCode": code, "reason": reason, "startedAt": time_text(since), "finishedAt": time_text(now)}


def described(pod: Pod) -> str:
    """Return the pod's name as in the kubelet's messages."""
    metadata = pod.metadata
    return f"{metadata.name}_{metadata.namespace}({metadata.uid})"


def gates_open(pod: Pod) -> bool:
    """Return whether all readiness gates are True."""
    return not pod.spec.readinessGates or not _closed_gates(pod, _known(pod))


def _known(pod: Pod) -> dict[str, PodCondition]:
    return {condition.type: condition for condition in pod.status.conditions}


def _named(state: Raw, pod: Pod, container: Container) -> Raw:
    waiting = state.get("waiting")
    if waiting is None or "message" not in waiting:
        return state
    text = f"{waiting['message']} restarting failed container={container.name} pod={described(pod)}"
    return {"waiting": {**waiting, "message": text}}


def _init_container(pod: Pod, container: Container, doing: Doing) -> Raw:
    """Return an init container's status: sidecars run as long as the pod, others end at once."""
    began = doing.began
    if doing.phase == "Pending":
        return _container(pod, container, {"waiting": {"reason": "PodInitializing"}}, False, 0, None)
    if not container.is_sidecar:
        return _container(pod, container, {"terminated": exited(began, began, 0)}, True, 0, None)
    if "terminated" in doing.state and doing.phase != "Running":
        finished = {**doing.state["terminated"], "exitCode": 0, "reason": "Completed"}
        return _container(pod, container, {"terminated": finished}, False, 0, None)
    return _container(pod, container, running(began), True, 0, None)


def _ephemeral_container(pod: Pod, container: EphemeralContainer, doing: Doing, now: float) -> Raw:
    """Return the status of a container for debugging: it runs as long as the pod, and is never ready."""
    known = next((status for status in pod.status.ephemeralContainerStatuses if status.name == container.name), None)
    started = known.state.running.startedAt if known is not None and known.state.running is not None else None
    state: Raw = {"running": {"startedAt": started or time_text(now)}}
    if doing.phase in FINISHED_PHASES:
        state = {"terminated": {**exited(doing.began, now, 0), "startedAt": started or time_text(now)}}
    ran = doing.phase != "Pending"
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image if ran else "",
        "state": state if ran else creating(),
        "lastState": {},
        "ready": False,
        "restartCount": 0,
        **({"containerID": f"simulated://{pod.metadata.uid}-{container.name}-0", "resources": {}} if ran else {}),
    }


def _container(pod: Pod, container: Container, state: Raw, is_ready: bool, restarts: int, last: Raw | None) -> Raw:
    status: Raw = {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "state": state,
        "lastState": {"terminated": last} if last else {},
        "ready": is_ready,
        "started": "running" in state,
        "restartCount": restarts,
    }
    if last or "waiting" not in state:
        status["imageID"] = container.image
        status["containerID"] = f"simulated://{pod.metadata.uid}-{container.name}-{restarts}"
        status |= _reported(container)
    return status


@remember_last(
    "status.conditions", "spec.containers", "spec.initContainers", "spec.readinessGates", "metadata.generation"
)
def _conditions(pod: Pod, phase: str, is_ready: bool, now: str) -> list[Raw]:
    """Return the conditions a kubelet maintains. Unchanged ones keep their transition times."""
    known = _known(pod)
    started = phase != "Pending"
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "")
    containers = ("", "") if is_ready else (over or _NOT_READY, "" if over else _unready(pod, started))
    ready = containers
    if is_ready and (closed := _closed_gates(pod, known)):
        ready = (_GATES_CLOSED, closed)
    initialized = ("PodCompleted" if phase == "Succeeded" else "", "")
    has_waiting = not started and bool(pod.spec.initContainers)
    if has_waiting:
        names = " ".join(container.name for container in pod.spec.initContainers)
        initialized = ("ContainersNotInitialized", f"containers with incomplete status: [{names}]")
    expected = (
        ("PodReadyToStartContainers", started and not over, ("", "")),
        ("Initialized", not has_waiting, initialized),
        ("Ready", not ready[0], ready),
        ("ContainersReady", is_ready, containers),
        ("PodScheduled", True, ("", "")),
    )
    generation = pod.metadata.generation
    conditions = []
    for kind, holds, (reason, message) in expected:
        status = "True" if holds else "False"
        old = known.get(kind)
        changed = now if old is None or old.status != status else old.lastTransitionTime
        condition: Raw = {"type": kind, "status": status, "lastTransitionTime": changed}
        if generation:
            condition["observedGeneration"] = generation
        # Null removes an outdated reason or message: a patch keeps absent fields.
        if reason or (old is not None and old.reason):
            condition["reason"] = reason or None
        if message or (old is not None and old.message):
            condition["message"] = message or None
        conditions.append(condition)
    return conditions


def _unready(pod: Pod, started: bool) -> str:
    sidecars = [] if started else [container for container in pod.spec.initContainers if container.is_sidecar]
    names = [container.name for container in (*sidecars, *pod.spec.containers)]
    return f"containers with unready status: [{' '.join(names)}]"


def _closed_gates(pod: Pod, known: dict[str, PodCondition]) -> str:
    messages = []
    for gate in pod.spec.readinessGates:
        condition, name = known.get(gate.conditionType), go_quote(gate.conditionType)
        if condition is None:
            messages.append(f"corresponding condition of pod readiness gate {name} does not exist.")
        elif condition.status != "True":
            messages.append(f'the status of pod readiness gate {name} is not "True", but {condition.status}')
    return ", ".join(messages)


def report_disruption(status: Raw, pod: Pod, now: float) -> None:
    """Write into the last status of a pod that its kubelet terminated it, for the node shuts down."""
    condition: Raw = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": time_text(now)}
    condition |= {"reason": "TerminationByKubelet", "message": TERMINATED[1]}
    if pod.metadata.generation:
        condition["observedGeneration"] = pod.metadata.generation
    status["conditions"].append(condition)


PENDING = "PodResizePending"


class PodResize(NamedTuple):
    """The pod whose requests and limits its containers have, and why they do not have those of the newest version."""

    allocated: Pod
    problem: Refusal | None = None


def is_resized(old: Pod, new: Pod) -> bool:
    return old.spec is not new.spec and _resources(old) != _resources(new)


def _resources(pod: Pod) -> list[Any]:
    return [pod.spec.resources, *(one.resources for one in (*pod.spec.containers, *pod.spec.initContainers))]


def resize(old: Pod, new: Pod, node: Node, load: Load) -> PodResize:
    """Give the containers of a pod, which is counted in `load`, what its new version asks for, if there is room."""
    load.remove(old)
    problem = _infeasible(new, load.capacity(node)) or _deferred(new, node, load)
    load.add(new if problem is None else old)
    return PodResize(new if problem is None else old, problem)


def _infeasible(pod: Pod, capacity: dict[str, int]) -> Refusal | None:
    requests = pod_requests(pod.spec)
    for name in (CPU, MEMORY):
        requested, has = requests.get(name, 0), capacity.get(name, 0)
        if requested > has:
            message = f"Node didn't have enough capacity: {name}, requested: {requested}, capacity: {has}"
            return Refusal("Infeasible", message)
    return None


def _deferred(pod: Pod, node: Node, load: Load) -> Refusal | None:
    refusal = no_room(pod, node, load)
    return None if refusal is None else Refusal("Deferred", refusal.message)


def report_resize(status: Raw, pod: Pod, resized: PodResize, now: float) -> None:
    """Write into a status what the containers have, and whether a resize is pending."""
    allocated = {
        container.name: container
        for container in (*resized.allocated.spec.containers, *resized.allocated.spec.initContainers)
    }
    for container in (*status["containerStatuses"], *status.get("initContainerStatuses", ())):
        given = allocated.get(container["name"])
        if given is not None:
            container.update(_reported(given))
    if resized.allocated.spec.resources is not None:
        report_pod_level(status, resized.allocated)
    old = next((condition for condition in pod.status.conditions if condition.type == PENDING), None)
    if resized.problem is not None:
        reason, message = resized.problem
        changed = time_text(now) if old is None else old.lastTransitionTime
        condition: Raw = {"type": PENDING, "status": "True", "lastTransitionTime": changed}
        condition |= {"reason": reason, "message": message, "observedGeneration": pod.metadata.generation}
        status["conditions"].append(condition)
    elif old is not None:
        status["conditions"].append({"type": PENDING, "$patch": "delete"})


def report_pod_level(status: Raw, allocated: Pod) -> None:
    """Write into a status what a pod with resources at pod level has altogether."""
    spec = allocated.spec
    requests = pod_amounts(Pod(spec=spec), "requests")
    limits = spec.resources.limits if spec.resources is not None else {}
    own = spec.resources.requests if spec.resources is not None else {}
    shown = {**{name: requests[name] for name in (CPU, MEMORY) if name in requests}, **own}
    sides = {"requests": shown, "limits": limits}
    status["resources"] = {
        side: {name: str(amount) for name, amount in each.items()} for side, each in sides.items() if each
    }
    status["allocatedResources"] = {name: str(amount) for name, amount in requests.items()}


def _reported(container: Container) -> Raw:
    """Return what a container that has been started has: resizing it begins with these."""
    sides = {"requests": container.resources.requests, "limits": container.resources.limits}
    shown = {side: {name: str(amount) for name, amount in each.items()} for side, each in sides.items() if each}
    return (
        {"allocatedResources": shown["requests"], "resources": shown} if "requests" in shown else {"resources": shown}
    )
