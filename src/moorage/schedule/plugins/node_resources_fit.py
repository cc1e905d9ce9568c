"""NodeResourcesFit: what the pod asks for × what is left on a node → where it fits, and where it fits best.

Kubernetes: noderesources/fit.go. Differs: the detail says how much is missing.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amounts, pod_requests
from moorage.columns.shape import Shape
from moorage.schedule.events import Event, EventKind
from moorage.schedule.plugin import ChosenSlots, Mask, Plugin, Prepared, Scores
from moorage.schedule.requeue import on
from moorage.schedule.resource_scoring import Strategy, least_allocated, weighted_every, weighted_one
from moorage.schedule.verdict import Code, Verdict

DEFAULT_WEIGHTS = ((CPU, 1), (MEMORY, 1))
_TOO_MANY_PODS = "Too many pods"
_BASIC = (CPU, MEMORY, EPHEMERAL_STORAGE)


class _Want:
    """What is needed, in the order in which Kubernetes reports it; what scoring adds to each node's use."""

    __slots__ = ("needs", "scored")

    def __init__(self, needs: tuple[tuple[str, int], ...], scored: tuple[tuple[str, int, int], ...]) -> None:
        self.needs = needs  # (resource, amount)
        self.scored = scored  # (resource, amount, weight)


def _has_room(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """A node that is large enough when empty and, if it was there before, has more of something that is needed."""
    has = amounts(event.new.status.allocatable)
    if has.get(PODS, 0) < 1 or any(has.get(name, 0) < value for name, value in want.needs):
        return False
    if event.old is None:
        return True
    had = amounts(event.old.status.allocatable)
    return any(has.get(name, 0) > had.get(name, 0) for name in (PODS, *(name for name, _ in want.needs)))


def _gave_up_some(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """A pod on a node that asks for less of something that is needed."""
    before, after = pod_requests(event.old.spec), pod_requests(event.new.spec)
    return any(after.get(name, 0) < before.get(name, 0) for name, _ in want.needs)


class NodeResourcesFit(Plugin[_Want]):
    """See the module. `ignored` and `ignored_groups` name extended resources that somebody else looks after."""

    name = "NodeResourcesFit"
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_ALLOCATABLE, hint=_has_room),
        on(EventKind.POD_REMOVED, EventKind.OWN_SCALED_DOWN),
        on(EventKind.POD_SCALED_DOWN, hint=_gave_up_some),
    )

    def __init__(
        self,
        strategy: Strategy | None = None,
        weights: Sequence[tuple[str, int]] = DEFAULT_WEIGHTS,
        ignored: frozenset[str] = frozenset(),
        ignored_groups: frozenset[str] = frozenset(),
    ) -> None:
        self._strategy = strategy or least_allocated()
        self._weights = tuple(weights)
        self._ignored = ignored
        self._ignored_groups = ignored_groups

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        requests = shape.requests
        basic = [(name, requests[name]) for name in _BASIC if name in requests]
        others = [(name, value) for name, value in sorted(requests.items()) if name not in _BASIC and name != PODS]
        needs = (*basic, *((name, value) for name, value in others if not self._is_ignored(name)))
        added = shape.scored_requests
        scored = tuple(
            (name, added.get(name, 0), weight) for name, weight in self._weights if name in _BASIC or added.get(name, 0)
        )
        return Prepared(_Want(needs, scored))

    def _is_ignored(self, resource: str) -> bool:
        return resource in self._ignored or ("/" in resource and resource.split("/")[0] in self._ignored_groups)

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        mask: Mask = cluster.nodes.free(PODS) >= 1
        for resource, value in want.needs:
            mask &= cluster.nodes.free(resource) >= value
        return mask

    def filter_slot(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        nodes = cluster.nodes
        return bool(
            nodes.free(PODS)[slot] >= 1 and all(nodes.free(resource)[slot] >= value for resource, value in want.needs)
        )

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        nodes = cluster.nodes
        reasons: list[str] = []
        details: list[str] = []
        code = Code.UNSCHEDULABLE
        if nodes.free(PODS)[slot] < 1:
            capacity = int(nodes.allocatable(PODS)[slot])
            reasons.append(_TOO_MANY_PODS)
            details.append(f"{capacity - int(nodes.free(PODS)[slot])} pods run here, of at most {capacity}")
        for resource, value in want.needs:
            free = int(nodes.free(resource)[slot])
            if free >= value:
                continue
            capacity = int(nodes.allocatable(resource)[slot])
            reasons.append(insufficient(resource))
            details.append(
                f"{resource}: {shown(resource, value)} <= {shown(resource, free)} is false "
                f"(allocatable {shown(resource, capacity)}, requested {shown(resource, capacity - free)})"
            )
            if value > capacity:
                code = Code.UNRESOLVABLE
        return Verdict(code, tuple(reasons), tuple(details)) if reasons else None

    def reasons(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        nodes = cluster.nodes
        counted = Counter({_TOO_MANY_PODS: int(np.count_nonzero(nodes.free(PODS)[slots] < 1))})
        for resource, value in want.needs:
            counted[insufficient(resource)] = int(np.count_nonzero(nodes.free(resource)[slots] < value))
        return +counted

    def curable(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Mask:
        mask: Mask = np.ones(len(slots), np.bool_)
        for resource, value in want.needs:
            mask &= cluster.nodes.allocatable(resource)[slots] >= value
        return mask

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, want: _Want, cluster: Cluster, feasible: Mask) -> Scores:
        nodes = cluster.nodes
        needs = []
        for resource, value, weight in want.scored:
            capacity = nodes.allocatable(resource)
            if resource == CPU:
                used = cluster.non_zero_cpu
            elif resource == MEMORY:
                used = cluster.non_zero_memory
            else:
                used = capacity - nodes.free(resource)
            needs.append((used + value, capacity, weight))
        return weighted_every(self._strategy, needs) if needs else super().score(want, cluster, feasible)

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        nodes = cluster.nodes
        needs = []
        for resource, value, weight in want.scored:
            capacity = int(nodes.allocatable(resource)[slot])
            if resource == CPU:
                used = int(cluster.non_zero_cpu[slot])
            elif resource == MEMORY:
                used = int(cluster.non_zero_memory[slot])
            else:
                used = capacity - int(nodes.free(resource)[slot])
            needs.append((used + value, capacity, weight))
        return weighted_one(self._strategy, needs)


def insufficient(resource: str) -> str:
    return f"Insufficient {resource}"


def shown(resource: str, value: int) -> str:
    """An amount as people write it."""
    if resource == CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)
