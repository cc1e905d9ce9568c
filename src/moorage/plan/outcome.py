"""Put a plan together: pods, nodes, refused workloads, preempted and evicted pods, and notes.

Nothing in an `Outcome` refers to the simulation, so it can be kept while the simulation goes on.
"""

from collections import Counter
from collections.abc import Callable

import msgspec

from moorage.client.protocol import Object
from moorage.columns.cluster import Cluster
from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.control.framework.workloads import is_active
from moorage.control.framework.world import controller_of
from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.plan.autoscalers import AutoscalerLine, autoscaler_lines, usage_notes
from moorage.plan.autoscaling.report import Scaling
from moorage.plan.departures import Departure, EvictionLoop, OwnerNames
from moorage.plan.devices import DeviceCount, device_counts, device_counts_of
from moorage.plan.input.hints import template_hints
from moorage.plan.input.inventory import Inventory, Key, Note
from moorage.plan.input.references import unbound_claims
from moorage.plan.pod_lines import PodLine, PodRows, State, not_created, refused_pods
from moorage.plan.simulation.admission_notes import default_notes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.plugins.node_resources_fit import shown


class Usage(msgspec.Struct, frozen=True):
    """How much of a resource is asked for, and how much there is; CPU in thousandths."""

    requested: int
    allocatable: int

    @property
    def percent(self) -> int:
        """Whole percents as kubectl describe node and kubectl top print them: cut off, 0 where there is nothing.

        Kubernetes: describeNodeResource, which divides floating-point numbers, so that 290m of 1 CPU are 28 %.
        """
        return int(self.requested / self.allocatable * 100) if self.allocatable else 0

    @property
    def fullness(self) -> int:
        """The percentage to compare nodes by: what is requested where there is nothing counts as all."""
        return 100 if self.requested and not self.allocatable else self.percent


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
            usage.fullness for name, usage in self.resources.items() if name in (CPU, MEMORY, PODS) or "/" in name
        ]
        return max(percents + [Usage(device.in_use, device.published).fullness for device in self.devices.values()])


class FailedLine(msgspec.Struct, frozen=True):
    """A workload whose pods the API server refuses: of the `wanted` pods it has `existing`, and lacks `refused`.

    The others wait for their turn, as those of a StatefulSet do.
    """

    workload: str
    message: str
    file: str
    line: int
    hint: str | msgspec.UnsetType = msgspec.UNSET
    refused: int = 0
    wanted: int = 0
    existing: int = 0

    @property
    def counts(self) -> str:
        """`1 of 3 pods exists; 2 are refused`; empty if it cannot be told how many there would be."""
        if not self.refused:
            return ""
        if self.wanted == 1:
            return "its pod is refused"
        exist = "exists" if self.existing == 1 else "exist"
        refused = f"{self.refused:,} {'is' if self.refused == 1 else 'are'} refused"
        waiting = self.wanted - self.existing - self.refused
        turns = "1 waits for its turn" if waiting == 1 else f"{waiting:,} wait for their turn"
        later = f", {turns}" if waiting > 0 else ""
        return f"{self.existing:,} of {self.wanted:,} pods {exist}; {refused}{later}"

    @property
    def where(self) -> str:
        """File and line of the workload; empty if it is not in a file."""
        return f"{self.file}:{self.line}" if self.file else ""


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
    #: The pods that taints have evicted, without any change, and the workloads of which that never ends.
    evicted: list[Departure] = msgspec.field(default_factory=list)
    loops: list[EvictionLoop] = msgspec.field(default_factory=list)
    autoscalers: list[AutoscalerLine] = msgspec.field(default_factory=list)
    #: How many more pods of each workload fit, if that was asked for.
    headroom: dict[str, int] = msgspec.field(default_factory=dict)
    #: Workloads of which that cannot be told, and why.
    no_headroom: dict[str, str] = msgspec.field(default_factory=dict)
    #: What an autoscaler did, if one was at work.
    scaling: Scaling | None = None

    def of_state(self, state: State) -> list[PodLine]:
        return [pod for pod in self.pods if pod.state is state]

    def count(self) -> dict[State, int]:
        """Return how many pods of each state there are. Their sum is the number of all pods."""
        counts = Counter(pod.state for pod in self.pods)
        counts[State.REFUSED] += sum(failed.refused for failed in self.failed)
        return {state: counts[state] for state in State}

    @property
    def pending(self) -> list[PodLine]:
        return self.of_state(State.PENDING)

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for runs somewhere, and stays there."""
        if self.failed or self.rejected:
            return False
        return not any(is_trouble(pod) for pod in self.pods)


def is_trouble(pod: PodLine) -> bool:
    """Return whether a pod waits, is evicted by a taint, or was refused by its kubelet, which gives a reason."""
    if pod.state is State.FAILED:
        return pod.reason != State.FAILED
    return pod.state is State.PENDING or pod.evicted_after_seconds is not None


_GAVE_UP = (
    "expensive toleration expressions were not evaluated for all taints, because a budget is used up: what was not "
    "evaluated counts as not tolerated, and nothing is evicted because of it"
)


def outcome_of(simulation: Simulation, inventory: Inventory) -> Outcome:
    rows = PodRows(simulation)
    lines = [rows.line(pod) for pod in rows.all()]
    return outcome_with(lines, node_lines(simulation.cluster), simulation, inventory)


def outcome_with(pods: list[PodLine], nodes: list[NodeLine], simulation: Simulation, inventory: Inventory) -> Outcome:
    """Return the outcome with these lines, and those of pods that were refused."""
    pods = pods + refused_pods(inventory, pods)
    names = OwnerNames(simulation)
    notes = [
        *inventory.notes,
        *default_notes(simulation, inventory),
        *unbound_claims(simulation, inventory),
        *usage_notes(simulation, inventory),
        *([Note(Severity.WARNING, "", simulation.stopped)] if simulation.stopped else ()),
        *([Note(Severity.WARNING, "", _GAVE_UP)] if simulation.evaluations.given_up else ()),
    ]
    return Outcome(
        pods=pods,
        nodes=nodes,
        failed=failed_workloads(simulation, inventory),
        preempted=[
            Preempted(victim.key, names.of(victim), victim.view.spec.nodeName, by)
            for victim, by in simulation.scheduling.preempted
        ],
        notes=list(dict.fromkeys(notes)),
        passed_over=dict(inventory.passed_over),
        sources=inventory.sources,
        rejected=inventory.rejected,
        unreadable=inventory.unreadable,
        autoscalers=[*autoscaler_lines(simulation)],
    )


def failed_workloads(simulation: Simulation, inventory: Inventory) -> list[FailedLine]:
    """Return the workloads whose pods the API server refuses, with how many they lack."""
    failed: dict[str, FailedLine] = {}
    for kind, key, message in simulation.controllers.refused_creates():
        owner = simulation.world.get(kind, key)
        if owner is None:
            continue
        workload = Key(*simulation.workload_of(owner))
        item = inventory.items.get(workload)
        source, line = (item.place.source, item.place.line) if item is not None else ("", 0)
        hint = template_hints(item, inventory.gates) if item is not None else msgspec.UNSET
        before = failed.get(str(workload))
        wanted, refused, existing = _count_pods(simulation, owner, workload)
        if before is None:
            before = FailedLine(str(workload), message, source, line, hint)
        elif workload.kind == KINDS.DEPLOYMENT.name:  # the pods of its other ReplicaSets are counted already
            wanted, existing = refused, 0
        failed[str(workload)] = msgspec.structs.replace(
            before,
            refused=before.refused + refused,
            wanted=before.wanted + wanted,
            existing=before.existing + existing,
        )
    return list(failed.values())


def _count_pods(simulation: Simulation, owner: Object, workload: Key) -> tuple[int, int, int]:
    """Return how many pods a workload wants, how many of them it cannot create, and how many it has.

    A Deployment has those of all its ReplicaSets, of which `owner` is one.
    """
    wanted = wanted_pods(owner)
    if not wanted:
        return 0, 0, 0
    name, names = str(Key(owner.kind.name, owner.namespace, owner.name)), OwnerNames(simulation)
    pods = [pod for pod in simulation.world.in_namespace(KINDS.POD, owner.namespace) if is_active(pod.view)]
    of_workload = sum(names.of(pod) == str(workload) for pod in pods)
    mine = of_workload if owner.kind is KINDS.DEPLOYMENT else sum(_controller_uid(pod) == owner.uid for pod in pods)
    later = sum(str(pod.owner) == name for pod in not_created(simulation))
    refused = max(0, wanted - mine - later)
    is_rolled_out = workload.kind == KINDS.DEPLOYMENT.name
    return (of_workload + refused, refused, of_workload) if is_rolled_out else (wanted, refused, mine)


def wanted_pods(owner: Object) -> int:
    """Return how many pods a workload wants to have at the same time."""
    spec = owner.view.spec
    if owner.kind is KINDS.DAEMON_SET:
        desired: int = owner.view.status.desiredNumberScheduled
        return desired
    if owner.kind is KINDS.JOB:
        wanted = 1 if spec.parallelism is None else spec.parallelism
        if spec.completions is not None:
            wanted = min(wanted, spec.completions - (owner.view.status.succeeded or 0))
        return int(wanted)
    replicas = getattr(spec, "replicas", 0)
    return 1 if replicas is None else replicas


def _controller_uid(pod: Object) -> str:
    reference = controller_of(pod.view.metadata)
    return reference.uid if reference is not None else ""


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
