"""Keep the pods and nodes of a cluster as they are now, and what happened to them lately."""

from collections import deque
from collections.abc import Callable, Iterable
from heapq import nsmallest

from moorage.client.informer import Delta
from moorage.columns.resources import CPU, MEMORY, PODS, Amounts, amounts
from moorage.control.framework.workloads import is_finished, is_ready
from moorage.match.eviction_clock import Deadline
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.departures import EvictionLoop
from moorage.plan.outcome import NodeLine, Usage
from moorage.plan.pod_lines import PodLine, State
from moorage.watch.happenings import (
    Chronicle,
    Happening,
    HappeningKind,
    key_of,
    of_node,
    waiting_condition,
    workload_of,
)
from moorage.watch.leaving import Leaving
from moorage.watch.usage import NodeUsage

MAX_HAPPENINGS = 500
_NOT_TRIED = "NotTried"
#: How many seconds more a loop is shown that may have ended.
_PATIENCE = 30.0
_MAIN = (CPU, MEMORY, PODS)


class Watched:
    """What is watched. Until `is_complete` is set, changes are the first list and no news."""

    def __init__(self, on_deadline: Callable[[str], None] = lambda key: None) -> None:
        """`on_deadline` hears the key of every pod that gets another deadline, or none any more."""
        self.nodes: dict[str, Node] = {}
        self.happenings: deque[Happening] = deque(maxlen=MAX_HAPPENINGS)
        self.total = 0  # happenings so far, also those that are forgotten
        self.is_complete = False
        self.problem = ""  # why the server cannot be reached; empty if it can
        self.refusals: dict[str, str] = {}  # by resource: why it cannot be watched although the server answers
        self._chronicle = Chronicle()
        self._leaving = Leaving(on_deadline)
        self.usage = NodeUsage()
        self._there: dict[str, Amounts] = {}
        self._waiting: dict[str, Pod] = {}

    def pods_changed(self, deltas: Iterable[Delta], now: float) -> None:
        for old, new in deltas:
            found: Pod | None = new.view if new is not None else None
            before: Pod | None = old.view if old is not None else None
            key = key_of(found) if found is not None else key_of(before) if before is not None else ""
            self.usage.count(key, found)
            if found is not None and _waits(found):
                self._waiting[key] = found
            else:
                self._waiting.pop(key, None)
            news = list(self._leaving.pod_changed(key, found, now))
            if self.is_complete:
                self._tell(self._chronicle.of_pod(before, found, self.nodes, now))
                self._tell(news)

    def replica_sets_changed(self, deltas: Iterable[Delta], now: float) -> None:
        """Learn how large ReplicaSets are. Nothing is told of them; without, fewer pods are called moved."""
        for old, new in deltas:
            self._chronicle.replica_set_changed(old, new, now)

    def nodes_changed(self, deltas: Iterable[Delta], now: float) -> None:
        for old, new in deltas:
            before: Node | None = old.view if old is not None else None
            found: Node | None = new.view if new is not None else None
            if found is not None:
                self.nodes[found.metadata.name] = found
                self._there[found.metadata.name] = amounts(found.status.allocatable)
            elif before is not None:
                self.nodes.pop(before.metadata.name, None)
                self._there.pop(before.metadata.name, None)
            name = found.metadata.name if found is not None else before.metadata.name if before is not None else ""
            news = list(self._leaving.node_changed(name, found, now))
            if self.is_complete:
                self._tell(of_node(before, found, now))
                self._tell(news)

    def server_changed(self, problem: str, now: float) -> None:
        """Tell that the API server went away (and why), or came back."""
        if problem and not self.problem:
            self._tell(
                [Happening(now, HappeningKind.SERVER, "API server", "", f"cannot be reached: {problem}; trying again")]
            )
        elif self.problem and not problem:
            self._tell([Happening(now, HappeningKind.SERVER, "API server", "", "answers again")])
        self.problem = problem

    def _tell(self, happenings: Iterable[Happening]) -> None:
        for happening in happenings:
            self.happenings.append(happening)
            self.total += 1

    @property
    def pending(self) -> list[PodLine]:
        """Pods without a node, in the order of their creation."""
        waiting = self._waiting.values()
        by_age = sorted(waiting, key=lambda pod: (pod.metadata.creationTimestamp or "", key_of(pod)))
        return [_pending_line(pod) for pod in by_age]

    def deadline_of(self, key: str) -> Deadline | None:
        """Return when a pod has to leave its node; None if it may stay."""
        return self._leaving.of(key)

    def leaving(self, now: float) -> list[PodLine]:
        """Pods that a NoExecute taint evicts, the first to leave first."""
        return self._leaving.lines(now)

    @property
    def to_be_evicted(self) -> int:
        return len(self._leaving)

    def loops(self, now: float) -> list[EvictionLoop]:
        """Workloads whose pods are evicted again and again, until a pod stays for twice as long as the last one."""
        found = self._chronicle.loops.values()
        return [loop for loop, last in found if now <= last + 2 * loop.every_seconds + _PATIENCE]

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def placed(self) -> int:
        return self.usage.placed

    def node_lines(self, most: int) -> list[NodeLine]:
        """Return the fullest nodes and how full they are, at most `most` of them."""
        fullest = nsmallest(most, self.nodes, key=lambda name: (-self._fullness(name), name))
        return [self._node_line(self.nodes[name]) for name in fullest]

    def _fullness(self, name: str) -> float:
        """The share of the scarcest of its main and extended resources."""
        used, there = self.usage.of(name), self._there[name]
        shares = (
            amount / there[one] if there.get(one) else float(amount > 0)
            for one, amount in used.items()
            if one in _MAIN or "/" in one
        )
        return max(shares, default=0.0)

    def _node_line(self, node: Node) -> NodeLine:
        name = node.metadata.name
        used, there = self.usage.of(name), self._there[name]
        names = dict.fromkeys((*_MAIN, *there, *(one for one, amount in used.items() if amount)))
        resources = {one: Usage(used.get(one, 0), there.get(one, 0)) for one in names}
        taints = tuple(describe_taint_with_effect(taint) for taint in node.spec.taints)
        return NodeLine(name, not node.spec.unschedulable, taints, resources)

    def unready(self) -> set[str]:
        return {name for name, node in self.nodes.items() if not is_ready(node)}


def _waits(pod: Pod) -> bool:
    return not pod.spec.nodeName and not is_finished(pod) and pod.metadata.deletionTimestamp is None


def _pending_line(pod: Pod) -> PodLine:
    condition = waiting_condition(pod)
    reason, message = (
        (condition.reason, condition.message)
        if condition is not None
        else (_NOT_TRIED, f"{pod.spec.schedulerName or 'the scheduler'} has not tried yet")
    )
    metadata = pod.metadata
    return PodLine(
        metadata.namespace,
        metadata.name,
        workload_of(pod),
        State.PENDING,
        "",
        pod.spec.priority or 0,
        reason,
        message,
    )
