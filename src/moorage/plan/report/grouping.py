"""Group pods by workload and node, pending pods by reason, nodes by how full they are."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from moorage.columns.resources import CPU, MEMORY
from moorage.lint.report.form import counted
from moorage.plan.departures import Departure
from moorage.plan.devices import DeviceCount, DeviceLine
from moorage.plan.outcome import NodeLine, Outcome, Usage, shown_usage
from moorage.plan.pod_lines import NODE_NOT_READY, PodLine, State

NO_WORKLOAD = "Pods without a controller"
MAX_NODES = 12
MAX_NAMES = 4


#: How reports call the states of pods, in the order in which they count them.
STATE_WORDS = {
    State.PLACED: "placed",
    State.BOUND: "already there",
    State.PENDING: "Pending",
    State.EVICTING: "to be evicted",
    State.EVICTED: "evicted",
    State.FAILED: "failed",
    State.REFUSED: "refused",
    State.PREEMPTED: "preempted",
    State.SUCCEEDED: "succeeded",
    State.DELETED: "deleted",
    State.TERMINATING: "terminating",
    State.ENDED: "ended before",
}


class WorkloadGroup(msgspec.Struct):
    """The pods of one workload: on which node which of them run, and how many of each state there are."""

    name: str
    nodes: dict[str, list[PodLine]]
    states: Counter[State]

    @property
    def counts(self) -> str:
        return ", ".join(f"{self.states[state]:,} {word}" for state, word in STATE_WORDS.items() if self.states[state])


class PendingGroup(msgspec.Struct):
    """Pods that wait for the same reason, by workload; `message` is that of the first."""

    reason: str
    message: str
    workloads: dict[str, list[PodLine]]

    @property
    def pods(self) -> list[PodLine]:
        return [pod for pods in self.workloads.values() for pod in pods]


def by_workload(outcome: Outcome, *, everything: bool) -> list[WorkloadGroup]:
    """Return the workloads in the order of the input; unless `everything`, only those with new pods."""
    groups: dict[str, WorkloadGroup] = {}
    for pod in outcome.pods:
        name = pod.workload or NO_WORKLOAD
        group = groups.setdefault(name, WorkloadGroup(name, {}, Counter()))
        group.states[pod.state] += 1
        if pod.is_on_node and (everything or pod.state is not State.BOUND):
            group.nodes.setdefault(pod.node, []).append(pod)
    return [group for group in groups.values() if everything or group.nodes or group.states[State.PENDING]]


def first_evictions(outcome: Outcome) -> list[Departure]:
    """Return the evictions, but for workloads of which they never end only the first ones."""
    looping = {loop.workload for loop in outcome.loops}
    first: dict[str, int] = {}
    for one in outcome.evicted:
        first.setdefault(one.workload, one.after_seconds)
    return [one for one in outcome.evicted if one.workload not in looping or one.after_seconds == first[one.workload]]


def later_evictions(outcome: Outcome) -> list[PodLine]:
    """Return the pods that taints evict after the time that is shown, but for loops that have begun before it."""
    looping = {loop.workload for loop in outcome.loops} & {one.workload for one in outcome.evicted}
    return [pod for pod in outcome.of_state(State.EVICTING) if pod.workload not in looping]


def on_unready_nodes(outcome: Outcome) -> list[PodLine]:
    return [pod for pod in outcome.pods if pod.reason == NODE_NOT_READY]


def counts_of(outcome: Outcome) -> list[tuple[State, str]]:
    """Return how many pods of each state there are, in words; states without pods are left out, but for `placed`."""
    counts = outcome.count()
    return [
        (state, f"{counts[state]:,} {word}")
        for state, word in STATE_WORDS.items()
        if counts[state] or state is State.PLACED
    ]


def other_refusals(outcome: Outcome) -> list[str]:
    """Return what else was refused or not read, besides pods: `2 objects refused`."""
    objects = outcome.rejected - len(outcome.of_state(State.REFUSED))
    workloads = sum(not failed.refused for failed in outcome.failed)
    return [
        *([f"{counted(workloads, 'workload')} refused"] if workloads else ()),
        *([f"{counted(objects, 'object')} refused"] if objects > 0 else ()),
        *([f"{outcome.unreadable:,} unreadable"] if outcome.unreadable else ()),
    ]


def by_reason(pods: Iterable[PodLine]) -> list[PendingGroup]:
    """Group pods by reason and message, their own names aside."""
    groups: dict[tuple[str, str], PendingGroup] = {}
    for pod in pods:
        message = pod.message.replace(f'pod "{pod.key}": ', "")  # as Kubernetes begins messages about claims
        key = pod.reason, _without_name(message, pod.name)
        group = groups.setdefault(key, PendingGroup(pod.reason, message, {}))
        group.workloads.setdefault(pod.workload, []).append(pod)
    return list(groups.values())


def _without_name(message: str, name: str) -> str:
    """Return the message without a pod's name, also where names of claims begin with it."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.])", "", message) if name in message else message


def with_devices(pods: Iterable[PodLine], *, everything: bool) -> list[PodLine]:
    """Return the pods that have devices; unless `everything`, only those that had no node when the plan began."""
    return [pod for pod in pods if pod.devices and (everything or pod.state is not State.BOUND)]


def by_request(devices: Iterable[DeviceLine]) -> list[tuple[str, str, str]]:
    """Return claim, request and the names of all its devices."""
    found: dict[tuple[str, str], list[str]] = {}
    for device in devices:
        found.setdefault((device.claim, device.request), []).append(device.name)
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
    return total(nodes, resource).percent


def total(nodes: Sequence[NodeLine], resource: str) -> Usage:
    usages = [node.resources[resource] for node in nodes if resource in node.resources]
    return Usage(sum(usage.requested for usage in usages), sum(usage.allocatable for usage in usages))


def other_totals(nodes: Sequence[NodeLine]) -> list[str]:
    """Return what is requested of extended and other resources, and how many devices are in use, of all nodes."""
    names = dict.fromkeys(name for node in nodes for name in other_resources(node))
    drivers: dict[str, DeviceCount] = {}
    for node in nodes:
        for driver, one in node.devices.items():
            before = drivers.get(driver, DeviceCount(0, 0))
            drivers[driver] = DeviceCount(before.in_use + one.in_use, before.published + one.published)
    resources = [f"{name} {shown_usage(name, total(nodes, name))}" for name in names]
    return [*resources, *shown_devices(drivers)]


def other_resources(node: NodeLine) -> list[str]:
    return [
        name
        for name, usage in node.resources.items()
        if name not in (CPU, MEMORY, "pods") and (usage.requested or "/" in name)
    ]


def shown_devices(counts: Mapping[str, DeviceCount]) -> list[str]:
    return [f"{driver} {one.in_use}/{one.published} devices" for driver, one in counts.items()]
