"""The table of pods. STATUS is the phase unless a container, an init container or a deletion decides it.

Kubernetes: printPod in pkg/printers/internalversion.
"""

from typing import Any

from moorage.serve.tables.columns import (
    AGE,
    NAME,
    NONE,
    Ages,
    Cells,
    Column,
    Raw,
    Table,
    Tables,
    age_of,
    condition_status,
    definitions,
    human_duration,
    moment,
    name_of,
    wide,
)

TABLES: Tables = {}

_TERMINAL = frozenset({"Succeeded", "Failed"})
_NODE_LOST = "NodeLost"
_GATED = "SchedulingGated"

_COLUMNS = (
    NAME,
    Column("Ready", "How many of the containers are ready, of how many."),
    Column("Status", "What the containers taken together are doing."),
    Column("Restarts", "How often containers were restarted, and how long ago the last time was."),
    AGE,
    wide("IP", "The pod's first address."),
    wide("Node", "The node that the pod is bound to."),
    wide("Nominated Node", "The node on which pods were preempted for this one."),
    wide("Readiness Gates", "How many of the additional conditions for readiness hold."),
)

_SUCCEEDED = [
    {"type": "Completed", "status": "True", "reason": "Succeeded", "message": "The pod has completed successfully."}
]
_FAILED = [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}]
_FINISHED = {"Succeeded": _SUCCEEDED, "Failed": _FAILED}


class _Restarts:
    """A count, and when the last container ended that was started again."""

    __slots__ = ("count", "last")

    def __init__(self) -> None:
        self.count, self.last = 0, 0.0

    def add(self, container: Raw) -> None:
        self.count += container.get("restartCount") or 0
        if ended := (container.get("lastState") or {}).get("terminated"):
            self.last = max(self.last, moment(ended.get("finishedAt")) or 0.0)

    def text(self, now: float) -> str:
        if self.count and self.last:
            return f"{self.count} ({human_duration(now - self.last)} ago)"
        return str(self.count)


def pod_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    ready, total, reason, restarts = _containers(raw, spec, status)
    if raw["metadata"].get("deletionTimestamp"):
        reason = _leaving(status, reason)
    ips = status.get("podIPs")
    return [
        name_of(raw),
        f"{ready}/{total}",
        reason,
        restarts.text(ages.now),
        age_of(raw, ages),
        (ips[0].get("ip") if ips else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(raw, spec),
    ]


def _leaving(status: Raw, reason: str) -> str:
    if status.get("reason") == _NODE_LOST:
        return "Unknown"
    return reason if status.get("phase") in _TERMINAL else "Terminating"


def _containers(raw: Raw, spec: Raw, status: Raw) -> tuple[int, int, str, _Restarts]:
    """Ready containers, all that count, what the status column says, restarts."""
    total, ready = len(spec.get("containers") or ()), 0
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == _GATED:
            reason = _GATED
    sidecars = [c.get("name") for c in spec.get("initContainers") or () if c.get("restartPolicy") == "Always"]
    total += len(sidecars)
    initializing, all_restarts, restarts = "", _Restarts(), _Restarts()
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        sidecar = container.get("name") in sidecars
        all_restarts.add(container)
        if sidecar:
            restarts.add(container)
        terminated = (container.get("state") or {}).get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        initializing = reason = _initializing(container, terminated, index, len(spec.get("initContainers") or ()))
        break
    if initializing and condition_status(raw, "Initialized") != "True":
        return ready, total, reason, all_restarts
    running, reason = _running(raw, status, reason, restarts)
    return ready + running, total, reason, restarts


def _initializing(container: Raw, terminated: Raw | None, index: int, count: int) -> str:
    if terminated is not None:
        return "Init:" + _ended(terminated)
    waiting = (container.get("state") or {}).get("waiting") or {}
    if (reason := waiting.get("reason")) and reason != "PodInitializing":
        return f"Init:{reason}"
    return f"Init:{index}/{count}"


def _running(raw: Raw, status: Raw, reason: str, restarts: _Restarts) -> tuple[int, str]:
    """The number of ready ordinary containers, and the reason of the first one that has any."""
    ready, failure = 0, ""
    for container in reversed(status.get("containerStatuses") or ()):
        restarts.add(container)
        state = container.get("state") or {}
        waiting, terminated = state.get("waiting"), state.get("terminated")
        if waiting is not None and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _ended(terminated)
            failure = reason if terminated.get("exitCode") else failure
        elif container.get("ready") and state.get("running") is not None:
            ready += 1
    if reason == "Completed":
        if ready and condition_status(raw, "Ready") == "True":
            reason = "Running"
        elif failure or ready:
            reason = failure or "NotReady"
    return ready, reason


def _ended(terminated: Raw) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _readiness_gates(raw: Raw, spec: Raw) -> str:
    gates: list[Any] = spec.get("readinessGates") or []
    if not gates:
        return NONE
    held = sum(condition_status(raw, gate.get("conditionType", "")) == "True" for gate in gates)
    return f"{held}/{len(gates)}"


def pod_conditions(raw: Raw) -> list[Raw] | None:
    return _FINISHED.get((raw.get("status") or {}).get("phase", ""))


TABLES["v1", "Pod"] = Table(definitions(_COLUMNS), pod_cells, pod_conditions)
