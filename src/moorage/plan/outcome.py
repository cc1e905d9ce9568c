"""The outcome of a plan: pods, nodes, refused workloads, preempted pods and notes.

Nothing in an `Outcome` refers to the simulation, so it can be kept while the simulation goes on.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum

import msgspec

from moorage.client.protocol import Object
from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.columns.shape import Shape
from moorage.control.framework.workloads import ready_condition
from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.devices import DeviceCount, DeviceLine, device_counts, device_counts_of, devices_of
from moorage.plan.input.hints import template_hints
from moorage.plan.input.inventory import Inventory, Key, Note
from moorage.plan.input.references import unbound_claims
from moorage.plan.simulation.namespace_limits import default_notes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.plugins.node_resources_fit import shown
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON

NOT_CREATED = "NotCreated"
NO_SCHEDULER = "NoScheduler"
TERMINATING = "Terminating"
WAITS_FOR_DEVICES = "BindingConditionsPending"


class State(StrEnum):
    """What becomes of a pod."""

    BOUND = "Bound"  # it had its node when the plan began
    PLACED = "Placed"
    PENDING = "Pending"


class PlannedPod(msgspec.Struct):
    """One pod. `reason` and `message` are those of a PodScheduled condition."""

    key: str
    pod: Pod
    owner: Key | None
    node: str
    existing: bool
    reason: str = ""
    message: str = ""

    @property
    def state(self) -> State:
        if not self.node:
            return State.PENDING
        return State.BOUND if self.existing else State.PLACED

    @property
    def workload(self) -> str:
        return str(self.owner) if self.owner is not None else ""

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0


def planned_pod(simulation: Simulation, found: Object) -> PlannedPod:
    owner = simulation.owner_of(found)
    pod: Pod = found.view
    existing = found.uid in simulation.bound_at_start
    return PlannedPod(found.key, pod, Key(*owner) if owner is not None else None, pod.spec.nodeName, existing)


def planned_pods(simulation: Simulation, only: Sequence[Object] | None = None) -> list[PlannedPod]:
    """Return all pods that are not over, those that wait with the reason; then those that are not made yet.

    `only`: these and no others, in their order, and those that are not made yet.
    """
    pods = [planned_pod(simulation, found) for found in (simulation.pods() if only is None else only)]
    told: dict[tuple[str, Shape], str] = {}
    for pod in pods:
        if not pod.node:
            _diagnose(simulation, pod, told)
    return pods + _not_created(simulation)


def _diagnose(simulation: Simulation, pod: PlannedPod, told: dict[tuple[str, Shape], str]) -> None:
    """Find out why a pod has no node. Pods of one shape are told the same, unless room was made for one of them."""
    kept_out = why_kept_out(simulation, pod.pod)
    if kept_out is not None:
        pod.reason, pod.message = kept_out
        return
    scheduler, record = simulation.scheduler, record_of(simulation, pod.key, pod.pod)
    key = pod.pod.spec.schedulerName, record.shape
    if scheduler.nominations.slot_of(pod.key) is not None:
        message = scheduler.why_not(record)
    elif key in told:
        message = told[key]
    else:
        message = told[key] = scheduler.why_not(record)
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


def _not_created(simulation: Simulation) -> list[PlannedPod]:
    """Return the pods that a StatefulSet makes once those before them run."""
    missing: list[PlannedPod] = []
    for found in simulation.world.all(KINDS.STATEFUL_SET):
        spec = found.view.spec
        if spec.podManagementPolicy == "Parallel" or found.view.metadata.deletionTimestamp is not None:
            continue
        first = spec.ordinals.start if spec.ordinals is not None else 0
        waits_for = ""
        for ordinal in range(first, first + (1 if spec.replicas is None else spec.replicas)):
            key = f"{found.key}-{ordinal}"
            made = simulation.world.view(KINDS.POD, key)
            if made is not None:
                waits_for = waits_for or ("" if ready_condition(made) is not None else f"{found.name}-{ordinal}")
                continue
            if not waits_for:
                break
            text = f"is created once {waits_for} runs: the StatefulSet makes its pods in order (OrderedReady)"
            metadata = msgspec.structs.replace(
                spec.template.metadata, name=f"{found.name}-{ordinal}", namespace=found.namespace
            )
            pod = Pod(metadata=metadata, spec=spec.template.spec)
            owner = Key("StatefulSet", found.namespace, found.name)
            missing.append(PlannedPod(key, pod, owner, "", False, NOT_CREATED, text))
    return missing


class PodLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pod: its workload, its node, or the reason why it has none."""

    namespace: str
    name: str
    workload: str
    state: State
    node: str
    priority: int
    reason: str = ""
    message: str = ""
    devices: tuple[DeviceLine, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Usage(msgspec.Struct, frozen=True):
    """How much of a resource is asked for, and how much there is; CPU in thousandths."""

    requested: int
    allocatable: int

    @property
    def percent(self) -> int:
        if self.allocatable <= 0:
            return 100 if self.requested else 0
        return 100 * self.requested // self.allocatable


class NodeLine(msgspec.Struct, frozen=True):
    """One node and how full it is."""

    name: str
    schedulable: bool
    taints: tuple[str, ...]
    resources: dict[str, Usage]
    devices: dict[str, DeviceCount] = {}  # by driver

    @property
    def pods(self) -> int:
        return self.resources[PODS].requested

    @property
    def fullest(self) -> int:
        """The percentage of the scarcest of its main resources, extended ones and devices."""
        percents = [
            usage.percent for name, usage in self.resources.items() if name in (CPU, MEMORY, PODS) or "/" in name
        ]
        return max(percents + [Usage(one.in_use, one.published).percent for one in self.devices.values()])


class FailedLine(msgspec.Struct, frozen=True):
    """A workload whose pods the API server refuses."""

    workload: str
    message: str
    source: str = msgspec.field(name="file")
    line: int
    hint: str | msgspec.UnsetType = msgspec.UNSET


class Preempted(msgspec.Struct, frozen=True):
    """A pod that had to go so that one of higher priority has room."""

    pod: str
    workload: str
    node: str
    by: str


class Outcome(msgspec.Struct):
    """A plan."""

    pods: list[PodLine]
    nodes: list[NodeLine]
    failed: list[FailedLine]
    preempted: list[Preempted]
    notes: list[Note]
    passed_over: dict[str, int]
    sources: int
    rejected: int
    unreadable: int
    #: How many more pods of each workload fit, if that was asked for.
    headroom: dict[str, int] = msgspec.field(default_factory=dict)
    #: Workloads of which that cannot be told, and why.
    no_headroom: dict[str, str] = msgspec.field(default_factory=dict)

    def of_state(self, state: State) -> list[PodLine]:
        return [pod for pod in self.pods if pod.state is state]

    @property
    def pending(self) -> list[PodLine]:
        return self.of_state(State.PENDING)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for runs somewhere."""
        return not self.pending and not self.failed and not self.rejected


_GAVE_UP = (
    "expensive toleration expressions were not evaluated for all taints, because a budget is used up: what was not "
    "evaluated counts as not tolerated, and nothing is evicted because of it"
)


def outcome_of(simulation: Simulation, inventory: Inventory) -> Outcome:
    pods = [pod_line(pod, simulation) for pod in planned_pods(simulation)]
    return outcome_with(pods, node_lines(simulation.cluster), simulation, inventory)


def outcome_with(pods: list[PodLine], nodes: list[NodeLine], simulation: Simulation, inventory: Inventory) -> Outcome:
    """Return the outcome with these lines."""
    notes = [
        *inventory.notes,
        *default_notes(simulation, inventory),
        *unbound_claims(simulation, inventory),
        *([Note(Severity.WARNING, "", simulation.stopped)] if simulation.stopped else ()),
        *([Note(Severity.WARNING, "", _GAVE_UP)] if simulation.evaluations.given_up else ()),
    ]
    return Outcome(
        pods=pods,
        nodes=nodes,
        failed=_failed(simulation, inventory),
        preempted=[
            Preempted(victim.key, planned_pod(simulation, victim).workload, victim.view.spec.nodeName, by)
            for victim, by in simulation.scheduling.preempted
        ],
        notes=list(dict.fromkeys(notes)),
        passed_over=dict(inventory.passed_over),
        sources=inventory.sources,
        rejected=inventory.rejected,
        unreadable=inventory.unreadable,
    )


def _failed(simulation: Simulation, inventory: Inventory) -> list[FailedLine]:
    failed: dict[str, FailedLine] = {}
    for kind, key, message in simulation.controllers.refused_creates():
        found = simulation.world.get(kind, key)
        if found is None:
            continue
        workload = Key(*simulation.workload_of(found))
        item = inventory.items.get(workload)
        source, line = (item.place.source, item.place.line) if item is not None else ("", 0)
        hint = template_hints(item, inventory.gates) if item is not None else msgspec.UNSET
        failed.setdefault(str(workload), FailedLine(str(workload), message, source, line, hint))
    return list(failed.values())


def pod_line(pod: PlannedPod, simulation: Simulation) -> PodLine:
    metadata = pod.pod.metadata
    return PodLine(
        metadata.namespace,
        metadata.name,
        pod.workload,
        pod.state,
        pod.node,
        pod.priority,
        "" if pod.node else pod.reason,
        "" if pod.node else pod.message,
        devices_of(pod.pod, simulation.world) if pod.node else (),
    )


def node_lines(cluster: Cluster) -> list[NodeLine]:
    table, devices = cluster.nodes, device_counts(cluster)
    usages: dict[str, list[Usage]] = {}

    def usage(resource: str, slot: int) -> Usage:
        if resource not in usages:
            allocatable, free = table.allocatable(resource), table.free(resource)
            usages[resource] = list(map(Usage, (allocatable - free).tolist(), allocatable.tolist()))
        return usages[resource][slot]

    return [_node_line(node, slot, usage, devices.get(node.metadata.name, {})) for slot, node in table]


def node_line(cluster: Cluster, slot: int) -> NodeLine:
    """Return the line of one node."""
    table = cluster.nodes

    def usage(resource: str, slot: int) -> Usage:
        allocatable = table.allocatable(resource).item(slot)
        return Usage(allocatable - table.free(resource).item(slot), allocatable)

    node = table.node(slot)
    return _node_line(node, slot, usage, device_counts_of(cluster.devices, node.metadata.name))


def _node_line(node: Node, slot: int, usage: Callable[[str, int], Usage], devices: dict[str, DeviceCount]) -> NodeLine:
    names = dict.fromkeys((CPU, MEMORY, PODS, *node.status.allocatable))
    taints = tuple(f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in node.spec.taints)
    resources = {name: usage(name, slot) for name in names}
    return NodeLine(node.metadata.name, not node.spec.unschedulable, taints, resources, devices)


def shown_usage(resource: str, usage: Usage) -> str:
    return f"{shown(resource, usage.requested)}/{shown(resource, usage.allocatable)}"
