"""The outcome of a plan: pods, nodes, refused workloads, preempted pods and notes.

Nothing in an `Outcome` refers to the simulation, so it can be kept while the simulation goes on.
"""

import msgspec

from moorage.columns.cluster import Cluster
from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.plan.devices import DeviceCount, DeviceLine, device_counts, devices_of
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.input.notes import Level, Note
from moorage.plan.input.references import unbound_claims
from moorage.plan.planned_pod import PlannedPod, State, planned_pod, planned_pods
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.plugins.resources.node_resources_fit import shown


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
        """The percentage of the scarcest of its main resources."""
        return max(self.resources[name].percent for name in (CPU, MEMORY, PODS) if name in self.resources)


class FailedLine(msgspec.Struct, frozen=True):
    """A workload whose pods the API server refuses."""

    workload: str
    message: str
    source: str = msgspec.field(name="file")
    line: int


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

    def of_state(self, state: State) -> list[PodLine]:
        return [pod for pod in self.pods if pod.state is state]

    @property
    def pending(self) -> list[PodLine]:
        return self.of_state(State.PENDING)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for runs somewhere."""
        return not self.pending and not self.failed and not self.rejected


def outcome_of(simulation: Simulation, inventory: Inventory) -> Outcome:
    notes = [
        *inventory.notes,
        *unbound_claims(simulation, inventory),
        *([Note(Level.WARNING, "", simulation.stopped)] if simulation.stopped else ()),
    ]
    return Outcome(
        pods=[pod_line(pod, simulation) for pod in planned_pods(simulation)],
        nodes=node_lines(simulation.cluster),
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
    """Return the workloads of which the API server refuses the pods."""
    failed: dict[str, FailedLine] = {}
    for kind, key, message in simulation.controllers.refused_creates():
        found = simulation.world.get(kind, key)
        if found is None:
            continue
        workload = Key(*simulation.workload_of(found))
        item = inventory.items.get(workload)
        source, line = (item.place.source, item.place.line) if item is not None else ("", 0)
        failed.setdefault(str(workload), FailedLine(str(workload), message, source, line))
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
    lines = []
    usages: dict[str, list[Usage]] = {}
    for slot, node in table:
        resources = {}
        for name in dict.fromkeys((CPU, MEMORY, PODS, *node.status.allocatable)):
            if name not in usages:
                allocatable, free = table.allocatable(name), table.free(name)
                usages[name] = list(map(Usage, (allocatable - free).tolist(), allocatable.tolist()))
            resources[name] = usages[name][slot]
        taints = tuple(f"{t.key}={t.value}:{t.effect}" if t.value else f"{t.key}:{t.effect}" for t in node.spec.taints)
        lines.append(
            NodeLine(
                node.metadata.name, not node.spec.unschedulable, taints, resources, devices.get(node.metadata.name, {})
            )
        )
    return lines


def shown_usage(resource: str, usage: Usage) -> str:
    return f"{shown(resource, usage.requested)}/{shown(resource, usage.allocatable)}"
