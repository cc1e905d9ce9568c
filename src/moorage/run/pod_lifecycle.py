"""A pod's status, from the moment its kubelet has it until it is over.

In: a pod, its script, where it runs, the time. Out: the status to write, as a raw part of the document. Kubernetes:
pkg/kubelet's generateAPIPodStatus. Differs: nothing runs; container IDs are made of the pod's UID. Next:
`kubelet_state`.
"""

import time
from typing import Any

from moorage.model.pod import Container, Pod
from moorage.run.admission import Refusal
from moorage.run.pod_script import Script

Raw = dict[str, Any]

_REJECTED = "Pod was rejected: "


def time_text(seconds: float) -> str:
    """RFC 3339 in whole seconds, as status times are."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def rejected_status(refusal: Refusal, now: float) -> Raw:
    """A pod that its kubelet does not take."""
    return {
        "phase": "Failed",
        "reason": refusal.reason,
        "message": _REJECTED + refusal.message,
        "startTime": time_text(now),
    }


def running_status(
    pod: Pod, host_ip: str, pod_ip: str, since: float, *, is_ready: bool, restarts: int = 0, last: Raw | None = None
) -> Raw:
    """All containers run; they are ready if nobody asks them or they have said so."""
    started = time_text(since)
    statuses = [
        _container(pod, container, {"running": {"startedAt": started}}, is_ready, restarts, last)
        for container in pod.spec.containers
    ]
    status = _placed(pod, host_ip, pod_ip, started)
    return status | {
        "phase": "Running",
        "conditions": _conditions(pod, started, is_ready, ""),
        "containerStatuses": statuses,
    }


def waiting_status(pod: Pod, host_ip: str, pod_ip: str, since: float, last: Raw, restarts: int, seconds: int) -> Raw:
    """Containers have exited and are started again after a while."""
    text = time_text(since)
    message = f"back-off {_short(seconds)} restarting failed container={{}} pod={pod.metadata.name}"
    statuses = [
        _container(
            pod,
            container,
            {"waiting": {"reason": "CrashLoopBackOff", "message": message.format(container.name)}},
            False,
            restarts,
            last,
        )
        for container in pod.spec.containers
    ]
    conditions = _conditions(pod, text, False, "ContainersNotReady")
    return {"phase": "Running", "conditions": conditions, "containerStatuses": statuses}


def finished_status(pod: Pod, since: float, now: float, script: Script, restarts: int) -> Raw:
    """All containers have exited for good."""
    state = {"terminated": exited(since, now, script.exit_code)}
    failed = script.exit_code != 0
    statuses = [_container(pod, container, state, False, restarts, None) for container in pod.spec.containers]
    return {
        "phase": "Failed" if failed else "Succeeded",
        "conditions": _conditions(pod, time_text(now), False, "PodFailed" if failed else "PodCompleted"),
        "containerStatuses": statuses,
    }


def overdue_status(pod: Pod, now: float) -> Raw:
    """A pod that ran longer than its activeDeadlineSeconds."""
    return {
        "phase": "Failed",
        "reason": "DeadlineExceeded",
        "message": "Pod was active on the node longer than the specified deadline",
        "conditions": _conditions(pod, time_text(now), False, "PodFailed"),
    }


def exited(since: float, now: float, code: int) -> Raw:
    """The state of a container that has exited."""
    reason = "Error" if code else "Completed"
    return {"exitCode": code, "reason": reason, "startedAt": time_text(since), "finishedAt": time_text(now)}


def _placed(pod: Pod, host_ip: str, pod_ip: str, started: str) -> Raw:
    if pod.spec.hostNetwork:
        pod_ip = host_ip
    status: Raw = {
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": started,
    }
    if pod.spec.initContainers:
        done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}}
        status["initContainerStatuses"] = [
            _container(pod, container, _init_state(container, done, started), True, 0, None)
            for container in pod.spec.initContainers
        ]
    return status


def _init_state(container: Container, done: Raw, started: str) -> Raw:
    """Sidecars go on; the others have done their part."""
    return {"running": {"startedAt": started}} if container.restartPolicy == "Always" else done


def _container(pod: Pod, container: Container, state: Raw, is_ready: bool, restarts: int, last: Raw | None) -> Raw:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "containerID": f"simulated://{pod.metadata.uid}-{container.name}-{restarts}",
        "state": state,
        "lastState": {"terminated": last} if last else {},
        "ready": is_ready,
        "started": "running" in state,
        "restartCount": restarts,
    }


def _conditions(pod: Pod, since: str, is_ready: bool, reason: str) -> list[Raw]:
    """The conditions that a kubelet keeps; PodScheduled is the scheduler's. Those that stay keep their times."""
    known = {condition.type: condition for condition in pod.status.conditions}
    gates_open = all(
        gate.conditionType in known and known[gate.conditionType].status == "True" for gate in pod.spec.readinessGates
    )
    why = reason or "ContainersNotReady"
    wanted = (
        ("PodReadyToStartContainers", True, ""),
        ("Initialized", True, "PodCompleted" if reason == "PodCompleted" else ""),
        ("Ready", is_ready and gates_open, (why if not is_ready else "ReadinessGatesNotReady")),
        ("ContainersReady", is_ready, why),
    )
    conditions = []
    for kind, holds, because in wanted:
        status = "True" if holds else "False"
        old = known.get(kind)
        changed = since if old is None or old.status != status else old.lastTransitionTime
        condition: Raw = {"type": kind, "status": status, "lastProbeTime": None, "lastTransitionTime": changed}
        if because and (not holds or kind == "Initialized"):
            condition["reason"] = because
        conditions.append(condition)
    return conditions


def _short(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
