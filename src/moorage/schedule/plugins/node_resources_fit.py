"""NodeResourcesFit: filter out nodes without room for the pod's requests, and score the rest by how full they are.

A node passes if it has room for one more pod and for all that this one requests, of each resource. Among those that
pass, the emptier is better (LeastAllocated), or the fuller (MostAllocated), or as a broken line says
(RequestedToCapacityRatio); a pod that requests nothing counts as 100m CPU and 200 MiB there. Extended resources that
devices serve are left to DynamicResources on nodes that have none. Sums and products are int64 and overflow as Go's.
Kubernetes: pkg/scheduler/framework/plugins/noderesources/fit.go. Differs: the detail says how much is missing; a score
that overflows is brought back to 0–100, where kube-scheduler gives up with an error.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amounts, countable, pod_requests
from moorage.columns.shape import Shape
from moorage.columns.slots import SlotArray
from moorage.match.comparison import amount_gap
from moorage.match.devices.extended_resources import classes_by_resource
from moorage.model.go.integers import INT64_MAX, divide64, wrap64
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import (
    MAX_SCORE,
    ChosenSlots,
    Code,
    Mask,
    Plugin,
    Prepared,
    ReasonCodes,
    Scores,
    Verdict,
)

DEFAULT_WEIGHTS = ((CPU, 1), (MEMORY, 1))
_TOO_MANY_PODS = "Too many pods"
_BASIC = (CPU, MEMORY, EPHEMERAL_STORAGE)
_STATES_KEPT = 1 << 12
_FEW_NEEDS = 8
_ALL = slice(None)


class Strategy(msgspec.Struct, frozen=True):
    """One resource's score, for integers and for arrays, and how weighted scores are averaged."""

    one: Callable[[int, int], int]
    every: Callable[[Scores, Scores], Scores]
    skips_zero: bool = False  # a resource that scores 0 does not count into the average, which is then rounded


class ScoresByState:
    """Scores that follow from a node's amounts alone, each computed once."""

    __slots__ = ("_arrays", "known")

    def __init__(self, arrays: Iterable[SlotArray]) -> None:
        self._arrays = tuple(arrays)
        self.known: dict[tuple[int, ...], int] = {}

    def state(self, slot: int) -> tuple[int, ...]:
        return tuple([array.values.item(slot) for array in self._arrays])

    def learn(self, state: tuple[int, ...], score: int) -> int:
        if len(self.known) >= _STATES_KEPT:
            self.known.clear()
        self.known[state] = score
        return score


class FitWant:
    """The requests in the order in which Kubernetes reports them, and what scoring adds to each node's use."""

    __slots__ = ("_reasons", "backed", "needs", "room", "scored", "scores")

    def __init__(
        self,
        needs: tuple[tuple[str, int], ...],
        scored: tuple[tuple[str, int, int], ...],
        cluster: Cluster,
        backed: frozenset[str] = frozenset(),
    ) -> None:
        nodes = cluster.nodes
        self.needs = needs  # (resource, amount)
        self.backed = backed  # resources that devices serve on nodes without them
        self.scored = scored  # (resource, amount, weight)
        self.room = tuple((nodes.free_arrays[name], amount) for name, amount in ((PODS, 1), *needs))
        others = {CPU: cluster.non_zero_cpu_array, MEMORY: cluster.non_zero_memory_array}
        self._reasons: list[tuple[str, ...]] = []
        self.scores = ScoresByState(
            array
            for name, _, _ in scored
            for array in (nodes.allocatable_arrays[name], others.get(name) or nodes.free_arrays[name])
        )

    def suffices(self, left: Iterable[int]) -> bool:
        """Return whether a node that has these amounts left of `room`, modulo 2⁶⁴, has enough."""
        for amount, (_, value) in zip(left, self.room, strict=True):
            if amount < value or amount > INT64_MAX:
                wrapped = wrap64(amount)
                if wrapped < value:
                    return False
        return True

    def reasons_by_code(self, texts: Sequence[str]) -> Sequence[tuple[str, ...]]:
        """Return the texts whose bits a code has, for all codes."""
        if not self._reasons:
            numbers = range(1 << len(texts))
            self._reasons = [tuple(text for bit, text in enumerate(texts) if code >> bit & 1) for code in numbers]
        return self._reasons


def _has_room(want: FitWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether the node is large enough when empty and has more of a needed resource than before."""
    has = amounts(event.new.status.allocatable)
    needs = [(name, value) for name, value in want.needs if name not in want.backed]
    if has.get(PODS, 0) < 1 or any(has.get(name, 0) < value for name, value in needs):
        return False
    if event.old is None:
        return True
    had = amounts(event.old.status.allocatable)
    return any(has.get(name, 0) > had.get(name, 0) for name in (PODS, *(name for name, _ in want.needs)))


def _gave_up_some(want: FitWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a pod on a node requests less of a needed resource."""
    before, after = pod_requests(event.old.spec), pod_requests(event.new.spec)
    return any(after.get(name, 0) < before.get(name, 0) for name, _ in want.needs)


def _serves_some(want: FitWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a class serves a needed resource now."""
    return any(name in shape.requests for name in classes_by_resource({event.new.metadata.name: event.new}))


class NodeResourcesFit(Plugin[FitWant]):
    """The NodeResourcesFit plugin. Extended resources that are `ignored` are not compared."""

    name = "NodeResourcesFit"
    answers_by_needs = True
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_ALLOCATABLE, hint=_has_room),
        on(EventKind.POD_REMOVED, EventKind.OWN_SCALED_DOWN),
        on(EventKind.POD_SCALED_DOWN, hint=_gave_up_some),
        on(EventKind.DEVICE_CLASS_ADDED, EventKind.DEVICE_CLASS_CHANGED, hint=_serves_some),
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
        backed = frozenset(name for facts in shape.devices for name, _ in facts.resources)
        return Prepared(FitWant(needs, scored, cluster, backed))

    def _is_ignored(self, resource: str) -> bool:
        return resource in self._ignored or ("/" in resource and resource.split("/")[0] in self._ignored_groups)

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: FitWant, cluster: Cluster) -> Mask:
        mask: Mask = cluster.nodes.free(PODS) >= 1
        for resource, value in want.needs:
            mask &= self._suffices(want, cluster, resource, value)
        return mask

    def filter_at(self, want: FitWant, cluster: Cluster, slots: ChosenSlots) -> Mask:
        mask: Mask = cluster.nodes.free(PODS)[slots] >= 1
        for resource, value in want.needs:
            enough: Mask = cluster.nodes.free(resource)[slots] >= value
            if resource in want.backed:
                enough |= cluster.nodes.allocatable(resource)[slots] == 0
            mask &= enough
        return mask

    def _suffices(self, want: FitWant, cluster: Cluster, resource: str, value: int) -> Mask:
        enough: Mask = cluster.nodes.free(resource) >= value
        if resource in want.backed:
            enough |= cluster.nodes.allocatable(resource) == 0
        return enough

    def filter_slot(self, want: FitWant, cluster: Cluster, slot: int) -> bool:
        if want.backed:
            return self.explain(want, cluster, slot) is None
        for free, value in want.room:  # noqa: SIM110, a generator takes longer than the comparisons
            if free.values.item(slot) < value:
                return False
        return True

    def lacking(self, want: FitWant, free: Sequence[int]) -> tuple[str, ...]:
        """Return the reasons of a node with these amounts left of `want.room`, modulo 2⁶⁴; empty if it has enough."""
        return tuple(
            _TOO_MANY_PODS if place == 0 else insufficient(want.needs[place - 1][0])
            for place, (left, (_, value)) in enumerate(zip(free, want.room, strict=True))
            if wrap64(left) < value
        )

    def explain(self, want: FitWant, cluster: Cluster, slot: int) -> Verdict | None:
        nodes = cluster.nodes
        reasons: list[str] = []
        details: list[str] = []
        gaps: list[float] = []
        code = Code.UNSCHEDULABLE
        if nodes.free(PODS)[slot] < 1:
            capacity = int(nodes.allocatable(PODS)[slot])
            reasons.append(_TOO_MANY_PODS)
            running = countable(capacity) - int(nodes.free(PODS)[slot])
            details.append(f"{running} pods run here, of at most {capacity}")
            gaps.append(amount_gap(int(nodes.free(PODS)[slot]), 1))
        for resource, value in want.needs:
            free = int(nodes.free(resource)[slot])
            capacity = int(nodes.allocatable(resource)[slot])
            if free >= value or (not capacity and resource in want.backed):
                continue
            reasons.append(insufficient(resource))
            details.append(
                f"{resource}: {shown(resource, value)} <= {shown(resource, free)} is false "
                f"(allocatable {shown(resource, capacity)}, requested {shown(resource, wrap64(capacity - free))})"
            )
            gaps.append(amount_gap(free, value))
            if value > capacity:
                code = Code.UNRESOLVABLE
        return Verdict(code, tuple(reasons), tuple(details), tuple(gaps)) if reasons else None

    def reasons(self, want: FitWant, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        nodes = cluster.nodes
        counted = Counter({_TOO_MANY_PODS: int(np.count_nonzero(nodes.free(PODS)[slots] < 1))})
        for resource, value in want.needs:
            enough = self._suffices(want, cluster, resource, value)
            counted[insufficient(resource)] = int(np.count_nonzero(~enough[slots]))
        return +counted

    def reason_codes(self, want: FitWant, cluster: Cluster, slots: ChosenSlots) -> ReasonCodes | None:
        if len(want.needs) > _FEW_NEEDS:
            return None
        codes = (cluster.nodes.free(PODS)[slots] < 1).astype(np.int64)
        for bit, (resource, value) in enumerate(want.needs, 1):
            codes |= (~self._suffices(want, cluster, resource, value)[slots]).astype(np.int64) << bit
        texts = (_TOO_MANY_PODS, *(insufficient(resource) for resource, _ in want.needs))
        return ReasonCodes(codes, want.reasons_by_code(texts))

    def curable(self, want: FitWant, cluster: Cluster, slots: ChosenSlots) -> Mask:
        mask: Mask = np.ones(len(slots), np.bool_)
        for resource, value in want.needs:
            capacity = cluster.nodes.allocatable(resource)[slots]
            mask &= (capacity >= value) | ((capacity == 0) & (resource in want.backed))
        return mask

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, want: FitWant, cluster: Cluster, feasible: Mask) -> Scores:
        return self._scores(want, cluster, _ALL, cluster.nodes.slots.capacity)

    def score_at(self, want: FitWant, cluster: Cluster, slots: ChosenSlots) -> Scores:
        return self._scores(want, cluster, slots, len(slots))

    def _scores(self, want: FitWant, cluster: Cluster, slots: ChosenSlots | slice, number: int) -> Scores:
        nodes = cluster.nodes
        needs = []
        for resource, value, weight in want.scored:
            capacity = nodes.allocatable(resource)[slots]
            if resource == CPU:
                used = cluster.non_zero_cpu_array.values[slots]
            elif resource == MEMORY:
                used = cluster.non_zero_memory_array.values[slots]
            else:
                used = capacity - nodes.free(resource)[slots]
            needs.append((used + value, capacity, weight))
        return weighted_every(self._strategy, needs) if needs else np.zeros(number, np.int64)

    def score_slot(self, want: FitWant, cluster: Cluster, slot: int) -> int:
        state = want.scores.state(slot)
        score = want.scores.known.get(state)
        if score is None:
            needs = []
            for number, (resource, value, weight) in enumerate(want.scored):
                capacity, other = state[2 * number], state[2 * number + 1]
                used = other if resource in (CPU, MEMORY) else wrap64(capacity - other)
                needs.append((wrap64(used + value), capacity, weight))
            score = want.scores.learn(state, weighted_one(self._strategy, needs))
        return score


def insufficient(resource: str) -> str:
    return f"Insufficient {resource}"


def shown(resource: str, value: int) -> str:
    """Return an amount in the unit that people write."""
    if resource == CPU:
        return f"{value}m" if value % 1000 else str(value // 1000)
    for unit, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if value and value % size == 0:
            return f"{value // size}{unit}"
    return str(value)


# -- scoring strategies: what would be requested and what there is, for one node and for all --------------------------


#: Capacities up to this one can be multiplied by the highest score.
_PLAIN = (1 << 63) // (2 * MAX_SCORE)


def least_allocated() -> Strategy:
    def one(requested: int, capacity: int) -> int:
        return 0 if requested > capacity else divide64(wrap64(wrap64(capacity - requested) * MAX_SCORE), capacity)

    def every(requested: Scores, capacity: Scores) -> Scores:
        if _is_plain(requested, capacity):
            left: Scores = np.maximum(capacity - requested, 0)
            return left * MAX_SCORE // np.maximum(capacity, 1)
        return np.where(requested > capacity, 0, _divide((capacity - requested) * MAX_SCORE, capacity))

    return Strategy(one, every)


def most_allocated() -> Strategy:
    def one(requested: int, capacity: int) -> int:
        return divide64(wrap64(min(requested, capacity) * MAX_SCORE), capacity)

    def every(requested: Scores, capacity: Scores) -> Scores:
        return _divide(np.minimum(requested, capacity) * MAX_SCORE, capacity)

    return Strategy(one, every)


def requested_to_capacity_ratio(points: Sequence[tuple[int, int]]) -> Strategy:
    """Interpolate between (utilization in percent, score 0–10) points, tabulated for 0–100 %."""
    table = np.array([broken_line(points, percent) for percent in range(101)], np.int64)

    def one(requested: int, capacity: int) -> int:
        percent = 100 if requested > capacity else divide64(wrap64(requested * 100), capacity)
        return int(table[max(0, min(percent, 100))])

    def every(requested: Scores, capacity: Scores) -> Scores:
        percent = np.where(requested > capacity, 100, _divide(requested * 100, capacity))
        scores: Scores = table[np.clip(percent, 0, 100)]
        return scores

    return Strategy(one, every, skips_zero=True)


def _is_plain(requested: Scores, capacity: Scores) -> bool:
    """Return whether no amount is negative or so large that a score may overflow."""
    return not len(capacity) or bool(
        min(requested.min(), capacity.min()) >= 0 and max(requested.max(), capacity.max()) <= _PLAIN
    )


def _divide(numbers: Scores, divisors: Scores) -> Scores:
    """Divide arrays of int64 as Go does, towards zero; 0 where a divisor is."""
    with np.errstate(all="ignore"):
        divisors = np.where(divisors == 0, 1, divisors)
        quotients: Scores = numbers // divisors
        quotients += (quotients * divisors != numbers) & ((numbers < 0) != (divisors < 0))
        return quotients


def broken_line(points: Sequence[tuple[int, int]], percent: int) -> int:
    """Return the score, up to 100, between points of utilization in percent and scores up to 10."""
    scaled = [(utilization, score * (MAX_SCORE // 10)) for utilization, score in points]
    for (left, low), (right, high) in zip([scaled[0], *scaled], scaled, strict=False):
        if percent <= right:
            if left == right:
                return high
            return low + int((high - low) * (percent - left) / (right - left))
    return scaled[-1][1]


def weighted_one(strategy: Strategy, needs: Sequence[tuple[int, int, int]]) -> int:
    """Return the weighted average over (requested, capacity, weight) of the resources that one node has."""
    total = weights = 0
    for requested, capacity, weight in needs:
        if capacity == 0:
            continue
        score = strategy.one(requested, capacity)
        if strategy.skips_zero and score <= 0:
            continue
        total += score * weight
        weights += weight
    if weights == 0:
        return 0
    average = int(total / weights + 0.5) if strategy.skips_zero else divide64(wrap64(total), weights)
    return max(0, min(average, MAX_SCORE))


def weighted_every(strategy: Strategy, needs: Sequence[tuple[Scores, Scores, int]]) -> Scores:
    """Return `weighted_one` for all slots."""
    total = np.zeros_like(needs[0][0])
    weights = np.zeros_like(total)
    for requested, capacity, weight in needs:
        score = strategy.every(requested, capacity)
        if not strategy.skips_zero and capacity.all():
            total += score * weight
            weights += weight
            continue
        counts = (capacity != 0) & (score > 0) if strategy.skips_zero else capacity != 0
        total += np.where(counts, score * weight, 0)
        weights += np.where(counts, weight, 0)
    divisor = np.maximum(weights, 1)
    if strategy.skips_zero:
        return np.where(weights == 0, 0, np.floor(total / divisor + 0.5)).astype(np.int64)
    average = np.where(weights == 0, 0, total // divisor if total.min(initial=0) >= 0 else _divide(total, divisor))
    return np.minimum(np.maximum(average, 0), MAX_SCORE)
