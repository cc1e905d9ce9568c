"""Say of every pod of a simulated cluster what becomes of it: where it is, why it has no node, or why it left.

Every pod that was in the input or that a controller made has exactly one line, and so has every pod that a StatefulSet
has yet to make or that the API server refuses. A line does not refer to the simulation.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.columns.shape import Shape
from moorage.control.framework.workloads import ready_condition
from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.departures import Cause, cause_of
from moorage.plan.devices import DeviceLine, devices_of
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.simulation import controllers
from moorage.plan.simulation.evictions import Timer
from moorage.plan.simulation.pod_history import Ending
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON

NOT_CREATED = "NotCreated"
NO_SCHEDULER = "NoScheduler"
TERMINATING = "Terminating"
WAITS_FOR_DEVICES = "BindingConditionsPending"
TAINT_EVICTION, DEVICE_TAINT_EVICTION, DRAINED = "TaintEviction", "DeviceTaintEviction", "Drained"
PREEMPTED, DELETED, REFUSED = "PreemptionByScheduler", "Deleted", "Forbidden"
EVICTED_BY_API = "EvictionByEvictionAPI"
NODE_NOT_READY, NODE_UNKNOWN = "NodeNotReady", "NodeNotFound"


class State(StrEnum):
    """What becomes of a pod. Every pod has one state: all of them together are all pods.

    A pod in one of the first three states is on its node; a pod in the others, but for `Terminating`, takes no room.
    """

    BOUND = "Bound"  # it has the node that it had when the plan began
    PLACED = "Placed"  # the plan gave it its node
    EVICTING = "Evicting"  # it is on its node, and a NoExecute taint evicts it later
    PENDING = "Pending"  # it has no node, or is not created yet
    EVICTED = "Evicted"  # it left its node because of a NoExecute taint, a drain or an eviction
    FAILED = "Failed"  # its kubelet refused it, or its containers failed
    SUCCEEDED = "Succeeded"  # its containers completed
    PREEMPTED = "Preempted"  # it made room for a pod of higher priority
    DELETED = "Deleted"  # its controller or a user deleted it, or its node was removed
    TERMINATING = "Terminating"  # it was being deleted when the plan began
    ENDED = "Ended"  # it had succeeded or failed when the plan began
    REFUSED = "Refused"  # the API server refuses it


ON_NODE = frozenset({State.BOUND, State.PLACED, State.EVICTING})
#: What became of pods on nodes or in the queue; those of other states are gone or never were.
PRESENT = ON_NODE | {State.PENDING}
_STATES = {
    Cause.TAINT: (State.EVICTED, TAINT_EVICTION),
    Cause.DEVICE_TAINT: (State.EVICTED, DEVICE_TAINT_EVICTION),
    Cause.DRAIN: (State.EVICTED, DRAINED),
    Cause.EVICTION: (State.EVICTED, EVICTED_BY_API),
    Cause.PREEMPTED: (State.PREEMPTED, PREEMPTED),
}


class PodDeadline(msgspec.Struct, frozen=True, omit_defaults=True):
    """When a NoExecute taint makes a pod leave its node, and what follows; `text` says so in the words of every view.

    `seconds` remain at the moment that is shown, 0 if the pod has left; without them it stays. `then`: where its
    replacement lands, that there is none, or how often it is evicted again; empty if that was not asked for.
    """

    text: str
    seconds: int | None = None
    because: str = ""
    then: str = ""


class PlannedPod(msgspec.Struct):
    """One pod. `reason` and `message` are those of a condition or of the pod's status; `node` is that it has or had.

    `evicted_after` is when it leaves or left because of a taint, in seconds; `deadline` says so in words.
    """

    key: str
    pod: Pod
    owner: Key | None
    node: str
    state: State
    reason: str = ""
    message: str = ""
    evicted_after: int | None = None
    deadline: PodDeadline | None = None

    @property
    def workload(self) -> str:
        return str(self.owner) if self.owner is not None else ""

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0

    @property
    def is_present(self) -> bool:
        """Whether it is on a node or waits for one."""
        return self.state in PRESENT


class PodRows:
    """Makes the lines of pods at one moment."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.timers: dict[str, Timer] = {timer.pod.uid: timer for timer in simulation.evictions.timers()}
        self._preemptors: dict[str, str] | None = None
        self._messages: dict[tuple[str, Shape], str] = {}

    def pod(self, pod: Object) -> PlannedPod:
        """Return what becomes of a pod that is or was in the cluster."""
        simulation = self._simulation
        owner = simulation.owner_of(pod)
        view: Pod = pod.view
        node, uid = view.spec.nodeName, view.metadata.uid
        planned = PlannedPod(pod.key, view, Key(*owner) if owner is not None else None, node, State.PENDING)
        ending = simulation.history.endings.get(uid)
        if ending is not None:
            self._end(planned, ending)
        elif not node:
            _diagnose(simulation, planned, self._messages)
        elif (timer := self.timers.get(uid)) is not None:
            planned.state, planned.evicted_after = State.EVICTING, simulation.history.seconds_until(timer.due)
            planned.reason = TAINT_EVICTION if timer.actor == controllers.TAINT_EVICTION else DEVICE_TAINT_EVICTION
            clock = timer.deadline(simulation.clock.now)
            planned.message, planned.deadline = clock.text, PodDeadline(clock.text, clock.seconds, clock.because)
        else:
            planned.state = State.BOUND if uid in simulation.bound_at_start else State.PLACED
            if node in simulation.kubelets.down:
                planned.reason, planned.message = NODE_NOT_READY, f"node {node} is not ready"
            elif node not in simulation.cluster.nodes.slot_of:
                planned.reason, planned.message = NODE_UNKNOWN, f"node {node} is not in the input"
        return planned

    def _end(self, planned: PlannedPod, ending: Ending) -> None:
        status = planned.pod.status
        # Pod garbage collection writes Failed into a pod whose node is gone, and deletes it: no container has failed.
        if ending.is_finished and (ending.from_start or ending.actor != controllers.POD_GARBAGE):
            state = State.FAILED if status.phase == "Failed" else State.SUCCEEDED
            planned.state = State.ENDED if ending.from_start else state
            planned.reason, planned.message = status.reason or status.phase, status.message
            return
        if ending.from_start:
            is_there = self._simulation.world.get(KINDS.POD, planned.key) is not None
            planned.state, planned.reason = State.TERMINATING, TERMINATING
            planned.message = "is being deleted" if is_there else "was being deleted, and is gone"
            return
        if self._preemptors is None:
            self._preemptors = {victim.uid: by for victim, by in self._simulation.scheduling.preempted}
        cause, because = cause_of(ending, ending.actor, self._preemptors.get(planned.pod.metadata.uid, ""))
        planned.state, planned.reason = _STATES.get(cause, (State.DELETED, DELETED))
        planned.message = because if cause is not Cause.NODE_REMOVED else f"its node {planned.node} is gone"
        if cause in (Cause.TAINT, Cause.DEVICE_TAINT):
            planned.evicted_after = ending.seconds
            planned.message = f"evicted {when_text(ending.seconds)}: {because}"
            planned.deadline = PodDeadline(planned.message, 0, because)

    def all(self) -> list[PlannedPod]:
        """Return all pods in the order in which they came, then those that are not created yet."""
        return [self.pod(pod) for pod in self._simulation.history] + not_created(self._simulation)

    def line(self, pod: PlannedPod) -> "PodLine":
        metadata, is_on_node = pod.pod.metadata, pod.state in ON_NODE
        return PodLine(
            metadata.namespace,
            metadata.name,
            pod.workload,
            pod.state,
            pod.node if is_on_node else "",
            pod.priority,
            pod.reason,
            pod.message,
            devices_of(pod.pod, self._simulation.world) if is_on_node else (),
            pod.evicted_after,
            "" if is_on_node else pod.node,
            pod.deadline,
        )


def when_text(seconds: int) -> str:
    return "at once" if seconds <= 0 else f"after {seconds:,} s"


def planned_pods(simulation: Simulation) -> list[PlannedPod]:
    """Return the pods that are on a node or wait for one, with the reason; then those that are not created yet."""
    return [pod for pod in PodRows(simulation).all() if pod.is_present]


def _diagnose(simulation: Simulation, pod: PlannedPod, messages: dict[tuple[str, Shape], str]) -> None:
    """Find out why a pod has no node. The message is the same for all pods of a shape, unless room was made for one."""
    kept_out = why_kept_out(simulation, pod.pod)
    if kept_out is not None:
        pod.reason, pod.message = kept_out
        return
    scheduler, record = simulation.scheduler, record_of(simulation, pod.key, pod.pod)
    key = pod.pod.spec.schedulerName, record.shape
    if scheduler.nominations.slot_of(pod.key) is not None:
        message = scheduler.why_not(record)
    elif key in messages:
        message = messages[key]
    else:
        message = messages[key] = scheduler.why_not(record)
    pod.reason, pod.message = UNSCHEDULABLE, message


def record_of(simulation: Simulation, key: str, pod: Pod) -> PodRecord:
    """Return what the scheduler knows of a pod without a node."""
    queued = simulation.scheduler.queue.get(key)
    return queued.record if queued is not None else simulation.cluster.record(key, pod)


def why_unplaced(simulation: Simulation, found: Object) -> str:
    kept_out = why_kept_out(simulation, found.view)
    return kept_out[1] if kept_out else simulation.scheduler.why_not(record_of(simulation, found.key, found.view))


def why_kept_out(simulation: Simulation, pod: Pod) -> tuple[str, str] | None:
    """Return the reason and message for a pod that the scheduler does not look at."""
    scheduler, spec = simulation.scheduler, pod.spec
    if pod.metadata.deletionTimestamp is not None:
        return TERMINATING, "is being deleted"
    if not scheduler.knows(spec.schedulerName):
        known = ", ".join(scheduler.engines)
        return NO_SCHEDULER, f"waits for scheduler {spec.schedulerName}; this plan has {known}"
    unready = simulation.scheduling.unready_devices(f"{pod.metadata.namespace}/{pod.metadata.name}")
    if unready is not None:
        node, conditions = unready
        return WAITS_FOR_DEVICES, f"waiting for binding conditions for device on node {node}: {', '.join(conditions)}"
    verdict = scheduler.queue.why_gated(spec, spec.schedulerName)
    return (CONDITION_REASON, "; ".join(verdict.reasons)) if verdict is not None else None


def not_created(simulation: Simulation) -> list[PlannedPod]:
    """Return the pods that a StatefulSet makes once those before them run."""
    missing: list[PlannedPod] = []
    for workload in simulation.world.all(KINDS.STATEFUL_SET):
        spec = workload.view.spec
        if spec.podManagementPolicy == "Parallel" or workload.view.metadata.deletionTimestamp is not None:
            continue
        first = spec.ordinals.start if spec.ordinals is not None else 0
        waits_for = ""
        for ordinal in range(first, first + (1 if spec.replicas is None else spec.replicas)):
            key = f"{workload.key}-{ordinal}"
            there = simulation.world.view(KINDS.POD, key)
            if there is not None:
                waits_for = waits_for or ("" if ready_condition(there) is not None else f"{workload.name}-{ordinal}")
                continue
            if not waits_for:  # it is refused, or is created next
                waits_for = f"{workload.name}-{ordinal}"
                continue
            text = f"is created once {waits_for} runs: the StatefulSet makes its pods in order (OrderedReady)"
            metadata = msgspec.structs.replace(
                spec.template.metadata, name=f"{workload.name}-{ordinal}", namespace=workload.namespace
            )
            pod = Pod(metadata=metadata, spec=spec.template.spec)
            owner = Key("StatefulSet", workload.namespace, workload.name)
            missing.append(PlannedPod(key, pod, owner, "", State.PENDING, NOT_CREATED, text))
    return missing


def refused_pods(inventory: Inventory, lines: Iterable["PodLine"]) -> list["PodLine"]:
    """Return a line for each pod of the input that the API server refuses, unless it has one already."""
    known = {line.key for line in lines} if inventory.rejected else set()
    refused: dict[str, PodLine] = {}
    for note in inventory.notes:
        kind, _, key = note.object.partition(" ")
        if note.level is Severity.ERROR and kind == "Pod" and key not in known:
            namespace, _, name = key.rpartition("/")
            refused.setdefault(key, PodLine(namespace, name, "", State.REFUSED, "", 0, REFUSED, note.message))
    return list(refused.values())


class PodLine(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """One pod: its workload, what becomes of it, its node, and why.

    `last_node` is the node of a pod that is on none any more: it left it, or was refused there.
    `evicted_after_seconds` is when a taint evicts it, after the plan began or the changes were made; `deadline` says so
    in words.
    """

    namespace: str
    name: str
    workload: str
    state: State
    node: str
    priority: int
    reason: str = ""
    message: str = ""
    devices: tuple[DeviceLine, ...] = ()
    evicted_after_seconds: int | None = None
    last_node: str = ""
    deadline: PodDeadline | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_on_node(self) -> bool:
        return self.state in ON_NODE

    @property
    def is_present(self) -> bool:
        """Whether it is on a node or waits for one."""
        return self.state in PRESENT
