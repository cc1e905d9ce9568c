"""Group pods by workload and node, pending pods by reason, nodes by how full they are."""

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from moorage.columns.resources import CPU, MEMORY
from moorage.plan.devices import DeviceLine
from moorage.plan.outcome import NodeLine, Outcome, PodLine, State

NO_WORKLOAD = "Pods without a controller"
MAX_NODES = 12
MAX_NAMES = 4


class WorkloadGroup(msgspec.Struct):
    """The pods of one workload: on which node which of them run, and how many of each state there are."""

    name: str
    nodes: dict[str, list[PodLine]]
    bound: int
    placed: int
    pending: int

    @property
    def counts(self) -> str:
        parts = [(self.placed, "placed"), (self.bound, "already there"), (self.pending, "Pending")]
        return ", ".join(f"{number:,} {word}" for number, word in parts if number)


class PendingGroup(msgspec.Struct):
    """Pods of one workload that wait for the same reason."""

    workload: str
    pods: list[PodLine]
    reason: str
    message: str


def by_workload(outcome: Outcome, *, everything: bool) -> list[WorkloadGroup]:
    """Return the workloads in the order of the input; unless `everything`, only those with new pods."""
    groups: dict[str, WorkloadGroup] = {}
    for pod in outcome.pods:
        name = pod.workload or NO_WORKLOAD
        group = groups.setdefault(name, WorkloadGroup(name, {}, 0, 0, 0))
        if pod.state is State.PENDING:
            group.pending += 1
            continue
        if pod.state is State.BOUND:
            group.bound += 1
            if not everything:
                continue
        else:
            group.placed += 1
        group.nodes.setdefault(pod.node, []).append(pod)
    return [group for group in groups.values() if everything or group.placed or group.pending]


def by_reason(pods: Iterable[PodLine]) -> list[PendingGroup]:
    groups: dict[tuple[str, str, str], PendingGroup] = {}
    for pod in pods:
        key = (pod.workload, pod.reason, pod.message)
        groups.setdefault(key, PendingGroup(pod.workload, [], pod.reason, pod.message)).pods.append(pod)
    return list(groups.values())


def with_devices(pods: Iterable[PodLine], *, everything: bool) -> list[PodLine]:
    """Return the pods that have devices; unless `everything`, only those that had no node when the plan began."""
    return [pod for pod in pods if pod.devices and (everything or pod.state is State.PLACED)]


def by_request(devices: Iterable[DeviceLine]) -> list[tuple[str, str, str]]:
    """Return claim, request and the names of all its devices."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in devices:
        found.setdefault((one.claim, one.request), []).append(one.name)
    return [(claim, request, ", ".join(listed)) for (claim, request), listed in found.items()]


def names(pods: Sequence[PodLine], *, everything: bool, namespace: bool = False) -> str:
    """`a, b, c and 7 more`."""
    shown = pods if everything or len(pods) <= MAX_NAMES + 1 else pods[:MAX_NAMES]
    text = ", ".join(pod.key if namespace else pod.name for pod in shown)
    more = len(pods) - len(shown)
    return f"{text} and {more:,} more" if more else text


def fullest_nodes(nodes: Sequence[NodeLine], *, everything: bool) -> tuple[str, list[NodeLine], list[NodeLine]]:
    """Return a title, the nodes to show one by one, and the rest."""
    if everything or len(nodes) <= MAX_NODES:
        return "Nodes", list(nodes), []
    ranked = sorted(nodes, key=lambda node: -node.fullest)
    return f"The {MAX_NODES} fullest of {len(nodes):,} nodes", ranked[:MAX_NODES], ranked[MAX_NODES:]


def histogram(nodes: Sequence[NodeLine], resource: str) -> str:
    """Count nodes by how full they are of a resource: `2,000 below 25 %, 120 below 50 %`."""
    bounds = (25, 50, 75, 90, 100)
    counts: Counter[int] = Counter()
    for node in nodes:
        usage = node.resources.get(resource)
        percent = usage.percent if usage is not None else 0
        counts[next((bound for bound in bounds if percent < bound), 101)] += 1
    words = [(bound, f"below {bound} %") for bound in bounds] + [(101, "full")]
    return ", ".join(f"{counts[bound]:,} {word}" for bound, word in words if counts[bound])


def average(nodes: Sequence[NodeLine], resource: str) -> int:
    """Return how many percent are requested of all that the nodes have together."""
    usages = [node.resources[resource] for node in nodes if resource in node.resources]
    available = sum(usage.allocatable for usage in usages)
    return 100 * sum(usage.requested for usage in usages) // available if available else 0


def other_resources(node: NodeLine) -> list[str]:
    return [
        name
        for name, usage in node.resources.items()
        if name not in (CPU, MEMORY, "pods") and (usage.requested or "/" in name)
    ]
