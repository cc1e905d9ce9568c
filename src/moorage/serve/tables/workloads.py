"""Define the tables of pods, of the kinds that create them, of devices and of quotas.

The STATUS of a pod is the phase unless a container, an init container or a deletion decides it.
Kubernetes: printPod, printDeployment and their neighbours in pkg/printers/internalversion.
"""

from typing import Any

from moorage.model.types.pod import FINISHED_PHASES
from moorage.serve.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    NAME_AND_AGE,
    NONE,
    UNSET,
    Ages,
    Cell,
    Cells,
    Column,
    Raw,
    Row,
    Table,
    Tables,
    age_of,
    condition_status,
    definitions,
    field,
    human_duration,
    labels_cell,
    moment,
    name_of,
    part,
    selector_cell,
    table,
    wide,
)

TABLES: Tables = {}

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


def _cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    ready, total, reason, restarts = _count_containers(raw, spec, status)
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
    return reason if status.get("phase") in FINISHED_PHASES else "Terminating"


def _count_containers(raw: Raw, spec: Raw, status: Raw) -> tuple[int, int, str, _Restarts]:
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
    """Return the number of ready ordinary containers, and the reason of the first one that has any."""
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


TABLES["v1", "Pod"] = Table(
    definitions(_COLUMNS), _cells, lambda raw: _FINISHED.get((raw.get("status") or {}).get("phase", ""))
)


def _pod_spec(spec: Raw) -> Raw:
    return part(part(spec, "template"), "spec")


def _job_of(row: Row) -> Raw:
    return part(part(row.spec, "jobTemplate"), "spec") if "jobTemplate" in row.spec else row.spec


def _containers(row: Row, name: str) -> str:
    return ",".join(container.get(name, "") for container in _pod_spec(_job_of(row)).get("containers") or ())


def _ready(row: Row) -> str:
    return f"{row.status.get('readyReplicas') or 0}/{row.spec.get('replicas', 1)}"


CONTAINERS = wide(
    "Containers", "The names of the containers in the pod template.", lambda row: _containers(row, "name")
)
IMAGES = wide("Images", "The images of the containers in the pod template.", lambda row: _containers(row, "image"))
SELECTOR = wide(
    "Selector", "The labels of the pods that belong to it.", lambda row: selector_cell(_job_of(row).get("selector"))
)
READY = Column("Ready", "How many pods are ready, of how many that are wanted.", _ready)

TABLES["apps/v1", "Deployment"] = table(
    NAME,
    READY,
    Column("Up-to-date", "How many pods are of the newest template.", field("status.updatedReplicas", 0)),
    Column("Available", "How many pods have been ready for long enough.", field("status.availableReplicas", 0)),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR._replace(
        cell=lambda row: selector_cell(row.spec.get("selector"), nothing="", unreadable="<invalid>"),
    ),
)
TABLES["apps/v1", "ReplicaSet"] = table(
    NAME,
    Column("Desired", "How many pods are wanted.", lambda row: row.spec.get("replicas", 1), INTEGER),
    Column("Current", "How many pods there are.", field("status.replicas", 0), INTEGER),
    Column("Ready", "How many pods are ready.", field("status.readyReplicas", 0), INTEGER),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
TABLES["v1", "ReplicationController"] = table(
    NAME,
    Column("Desired", "How many pods are wanted.", lambda row: row.spec.get("replicas", 1), INTEGER),
    Column("Current", "How many pods there are.", field("status.replicas", 0), INTEGER),
    Column("Ready", "How many pods are ready.", field("status.readyReplicas", 0), INTEGER),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR._replace(cell=lambda row: labels_cell(row.spec.get("selector"))),
)
TABLES["apps/v1", "StatefulSet"] = table(NAME, READY, AGE, CONTAINERS, IMAGES)


def _nodes(name: str, description: str, count: str) -> Column:
    return Column(name, description, field(f"status.{count}", 0), INTEGER)


TABLES["apps/v1", "DaemonSet"] = table(
    NAME,
    _nodes("Desired", "How many nodes should run a pod of it.", "desiredNumberScheduled"),
    _nodes("Current", "How many of those nodes do.", "currentNumberScheduled"),
    _nodes("Ready", "On how many of those nodes the pod is ready.", "numberReady"),
    _nodes("Up-to-date", "On how many of those nodes the pod is of the newest template.", "updatedNumberScheduled"),
    _nodes("Available", "On how many of those nodes the pod has been ready for long enough.", "numberAvailable"),
    Column(
        "Node Selector",
        "The labels that the template asks nodes for.",
        lambda row: labels_cell(_pod_spec(row.spec).get("nodeSelector")),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)


def _job_status(row: Row) -> str:
    for condition in ("Complete", "Failed"):
        if condition_status(row.raw, condition) == "True":
            return condition
    if row.raw["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition_status(row.raw, condition) == "True":
            return condition
    return "Running"


def _completions(row: Row) -> str:
    succeeded = row.status.get("succeeded") or 0
    completions, parallelism = row.spec.get("completions"), row.spec.get("parallelism")
    if completions is not None:
        return f"{succeeded}/{completions}"
    return f"{succeeded}/1 of {parallelism}" if (parallelism or 0) > 1 else f"{succeeded}/1"


def _job_duration(row: Row) -> str:
    started = moment(row.status.get("startTime"))
    if started is None:
        return ""
    ended = moment(row.status.get("completionTime"))
    return human_duration((row.ages.now if ended is None else ended) - started)


TABLES["batch/v1", "Job"] = table(
    NAME,
    Column("Status", "Whether the job runs, or how it ended.", _job_status),
    Column("Completions", "How many pods have succeeded, of how many that must.", _completions),
    Column("Duration", "How long the job took, or has taken so far.", _job_duration),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)


_zone = field("spec.timeZone", NONE, empty_counts=True)


_suspended = field("spec.suspend", UNSET, empty_counts=True, show=lambda suspended: str(bool(suspended)))


def _last_schedule(row: Row) -> str:
    last = row.status.get("lastScheduleTime")
    return NONE if last is None else row.ages.since(last)


TABLES["batch/v1", "CronJob"] = table(
    NAME,
    Column("Schedule", "When jobs are made, in cron's notation.", lambda row: row.spec.get("schedule", "")),
    Column("Timezone", "The time zone in which the schedule is meant.", _zone),
    Column("Suspend", "Whether no jobs are made for now.", _suspended, BOOLEAN),
    Column("Active", "How many of its jobs are running.", lambda row: len(row.status.get("active") or ()), INTEGER),
    Column("Last Schedule", "How long ago the last job was made.", _last_schedule),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
)
TABLES["autoscaling/v1", "Scale"] = table(
    NAME._replace(format=""),
    Column("Desired", "How many pods are wanted.", field("spec.replicas", 0), INTEGER),
    Column("Available", "How many pods there are.", field("status.replicas", 0), INTEGER),
    AGE,
)


def _controller(row: Row) -> str:
    owners = row.raw["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    if owner is None:
        return NONE
    group = str(owner.get("apiVersion") or "").rpartition("/")[0]
    kind = str(owner.get("kind") or "").lower()
    return f"{kind}.{group}/{owner.get('name')}" if group else f"{kind}/{owner.get('name')}"


TABLES["apps/v1", "ControllerRevision"] = table(
    NAME,
    Column("Controller", "Whose revision it is.", _controller),
    Column("Revision", "Its number: the newest has the largest.", field("revision", 0)),
    AGE,
)


def _state(row: Row) -> str:
    deleted = bool(row.raw["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if row.status.get("allocation") is not None:
        states += ["allocated", "reserved"] if row.status.get("reservedFor") else ["allocated"]
    elif not deleted:
        states.append("pending")
    return ",".join(states)


def _time_added(row: Row) -> str:
    added = (row.spec.get("taint") or {}).get("timeAdded")
    return row.ages.since(added) if added is not None else ""


TABLES |= {
    ("resource.k8s.io/v1", "DeviceClass"): NAME_AND_AGE,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): NAME_AND_AGE,
    ("resource.k8s.io/v1", "ResourceClaim"): table(
        NAME, Column("State", "Whether it is pending, allocated, reserved or deleted.", _state), AGE
    ),
    ("resource.k8s.io/v1", "ResourceSlice"): table(
        NAME,
        Column("Node", "The node that has the devices, if it is a single one.", field("spec.nodeName")),
        Column("Driver", "The driver that publishes the devices.", field("spec.driver")),
        Column("Pool", "The pool that the devices belong to.", field("spec.pool.name")),
        AGE,
    ),
    ("resource.k8s.io/v1beta2", "DeviceTaintRule"): table(
        NAME,
        Column("Key", "The key of the taint.", field("spec.taint.key")),
        Column("Value", "The value of the taint.", field("spec.taint.value")),
        Column("Effect", "What the taint does to pods that do not tolerate it.", field("spec.taint.effect")),
        Column("TimeAdded", "How long ago the taint was added.", _time_added),
        AGE,
    ),
}


def _amounts(*, limits: bool) -> Cell:
    def cell(row: Row) -> str:
        hard, used = part(row.status, "hard"), part(row.status, "used")
        names = sorted(name for name in hard if name.startswith("limits.") is limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


TABLES |= {
    ("v1", "LimitRange"): table(
        NAME, Column("Created At", "When the range was created.", field("metadata.creationTimestamp"), "date")
    ),
    ("v1", "ResourceQuota"): table(
        NAME,
        Column("Request", "What is used and allowed of requests and of objects.", _amounts(limits=False)),
        Column("Limit", "What is used and allowed of limits.", _amounts(limits=True)),
        AGE,
    ),
    ("node.k8s.io/v1", "RuntimeClass"): table(
        NAME, Column("Handler", "The runtime that runs the containers.", field("handler")), AGE
    ),
}
