"""Compute what preemption on each node would cost for one shape, by a lower bound, and violated budgets.

Nodes that no eviction helps are ruled out with array operations, and so is the least that others can cost: up to which
priority pods have to go, and how many. Nodes are looked at in that order until no other can be cheaper.
Kubernetes: DryRunPreemption, SelectVictimsOnNode and pickOneNodeForPreemption, for each pod, on a sample of at least
100 nodes or 10 %.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import PodRecord
from moorage.columns.priority_levels import PriorityLevels
from moorage.columns.resources import PODS
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.go.times import seconds_of
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import first_refusals
from moorage.schedule.framework.plugin import ChosenSlots, Code, Mask
from moorage.schedule.framework.wide import too_many
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit


class _Budget(msgspec.Struct, frozen=True, eq=False):
    """A budget and its compiled selector."""

    budget: PodDisruptionBudget
    selector: Selector

    def is_spent_on(self, pod: Pod) -> bool:
        """Return whether evicting the pod counts: not if it is among the status's disruptedPods."""
        labels = pod.metadata.labels
        return (
            bool(labels)
            and pod.metadata.namespace == self.budget.metadata.namespace
            and self.selector.match(labels)
            and pod.metadata.name not in self.budget.status.disruptedPods
        )


class DisruptionBudgets:
    """All budgets. `generation` changes with any of them."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget] = ()) -> None:
        self._budgets: dict[tuple[str, str], _Budget] = {}
        self.generation = 0
        for budget in budgets:
            self.set(budget)

    def set(self, budget: PodDisruptionBudget) -> None:
        """Add or replace a budget. One whose selector is empty or malformed concerns no pod."""
        key = (budget.metadata.namespace, budget.metadata.name)
        self.remove(*key)
        try:
            selector = compile_label_selector(budget.spec.selector)
        except SelectorError:
            return
        if not selector.everything and not selector.nothing:
            self._budgets[key] = _Budget(budget, selector)

    def remove(self, namespace: str, name: str) -> None:
        self.generation += 1
        self._budgets.pop((namespace, name), None)

    def part(self, records: Sequence[PodRecord]) -> tuple[list[PodRecord], list[PodRecord]]:
        """Split pods into those whose eviction, in this order, violates a budget, and the rest."""
        if not self._budgets:
            return [], list(records)
        left = {budget: budget.budget.status.disruptionsAllowed for budget in self._budgets.values()}
        violating: list[PodRecord] = []
        others: list[PodRecord] = []
        for record in records:
            broken = False
            for budget in left:
                if budget.is_spent_on(record.pod):
                    left[budget] -= 1
                    broken |= left[budget] < 0
            (violating if broken else others).append(record)
        return violating, others


NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"

_UNHELPFUL, _NO_VICTIMS, _HOPELESS, _UNKNOWN, _REFUSED, _FOUND = range(6)
_LARGE = 1 << 53
_PRIORITY_OFFSET = 1 << 31  # makes every priority count, so that two victims always weigh more than one of their kind


class Selection(msgspec.Struct, frozen=True):
    """The victims on one node, most important first, and how many of them violate a budget."""

    slot: int
    victims: tuple[PodRecord, ...]
    violations: int

    @property
    def highest_priority(self) -> int:
        return self.victims[0].priority

    @property
    def earliest_start(self) -> float:
        """Return when the longest running victim of the highest priority started."""
        highest = self.highest_priority
        return min(started_at(victim) for victim in self.victims if victim.priority == highest)


def select_victims(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Selection | tuple[str, ...]:
    """Return the victims on a slot with pods of lower priority, or the reasons against it.

    All pods of lower priority are removed; if the pod fits then, they are put back one by one, those whose eviction
    violates a budget first, then the most important first, as long as the pod still fits. The others are the victims.
    """
    cluster = candidates.cluster
    priority = candidates.shape.priority
    lower = sorted((r for r in cluster.pods_on[slot].values() if r.priority < priority), key=importance)
    violating, others = budgets.part(lower)
    victims: list[PodRecord] = []
    with glimpse(candidates):
        for record in lower:
            cluster.remove_pod(record)
        away = dict.fromkeys(lower)
        try:
            if not _passes(candidates, slot):
                verdict = candidates.refusal(slot)
                return verdict.reasons if verdict is not None else ()
            for record in (*violating, *others):
                cluster.add_pod(record, slot)
                if _passes(candidates, slot):
                    del away[record]
                else:
                    cluster.remove_pod(record)
                    victims.append(record)
        finally:
            for record in away:
                cluster.add_pod(record, slot)
    broken = len(frozenset(victims).intersection(violating))
    return Selection(slot, tuple(sorted(victims, key=importance)), broken)


def _passes(candidates: Candidates, slot: int) -> bool:
    if candidates.rejection is not None:
        return False
    cluster = candidates.cluster
    return all(item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in candidates.deciding)


@contextmanager
def glimpse(candidates: Candidates) -> Iterator[None]:
    """Rewind the change log after a block that leaves the cluster as it was.

    Only the deciding filters may be asked inside, and only about single slots. Wide ones among them follow the log
    while they are asked, so with them it is not rewound.
    """
    changes = candidates.cluster.nodes.changes
    position = changes.position
    try:
        yield
    finally:
        if all(item.plugin.local for item in candidates.deciding):
            changes.rewind(position)


def importance(record: PodRecord) -> tuple[int, float, str]:
    """Return a key that sorts the most important pod first: by priority, then by the earliest start."""
    return (-record.priority, started_at(record), record.key)


def started_at(record: PodRecord) -> float:
    """Return when a pod was started; infinity if it was not yet."""
    seconds = seconds_of(record.pod.status.startTime)
    return inf if seconds is None else seconds


_Price = tuple[int, int, int, int, float]
_Found = tuple[_Price, int, int, Selection]  # price, tie number reversed, slot
_Bound = tuple[_Price, int, int, int]  # the least it can cost, tie number reversed, slot, number of the assessment

# Given the slots where an eviction may help: in which order to look at them, and how many selections are enough.
Sampling = Callable[[ChosenSlots], tuple[ChosenSlots, int]]


class VictimTable:
    """The cheapest selection of victims for one shape."""

    def __init__(self, candidates: Candidates, budgets: DisruptionBudgets, levels: PriorityLevels) -> None:
        self._candidates = candidates
        self._budgets = budgets
        self._levels = levels
        self._needs = tuple(
            need
            for item in candidates.filters
            if isinstance(item.plugin, NodeResourcesFit)
            for need in ((PODS, 1), *item.prepared.want.needs)
        )
        self._position = -1
        self._revision: Any = None
        self._states: NDArray[np.int8] = np.zeros(0, np.int8)
        self._by_bound: list[_Bound] = []
        self._assessment = 0  # the number of the last one, which makes older bounds invalid
        self._assessed: NDArray[np.int64] = np.zeros(0, np.int64)
        self._found: dict[int, Selection] = {}
        self._by_price: list[_Found] = []
        self._reasons: dict[int, tuple[str, ...]] = {}

    # -- the cheapest node ----------------------------------------------------------------------------------------

    def cheapest(self, sampling: Sampling | None = None) -> Selection | None:
        self._refresh()
        if sampling is None:
            selection = self._look_for_cheapest()
        else:
            selection = self._look_at(*sampling(np.flatnonzero(self._states > _UNHELPFUL)))
        self._settle()
        return selection

    def _look_for_cheapest(self) -> Selection | None:
        by_bound = self._by_bound
        best = self._best_found()
        while by_bound:
            bound, tie, slot, assessment = by_bound[0]
            if self._states[slot] == _UNKNOWN and self._assessed[slot] == assessment:
                if best is not None and best[:2] <= (bound, tie):
                    break
                self._evaluate(slot)
                best = self._best_found()
            heappop(by_bound)
        return best[3] if best is not None else None

    def _best_found(self) -> _Found | None:
        by_price = self._by_price
        while by_price:
            cheapest = by_price[0]
            if self._found.get(cheapest[2]) is cheapest[3]:
                return cheapest
            heappop(by_price)  # the node changed since
        return None

    def _look_at(self, slots: ChosenSlots, enough: int) -> Selection | None:
        """Evaluate slots until there are enough selections, one of which violates no budget."""
        chosen: list[Selection] = []
        spotless = False
        for slot in slots.tolist():
            if self._states[slot] == _UNKNOWN:
                self._evaluate(slot)
            if self._states[slot] == _FOUND:
                chosen.append(self._found[slot])
                spotless |= self._found[slot].violations == 0
            if spotless and len(chosen) >= enough:
                break
        return min(chosen, key=self._rank, default=None)

    def _rank(self, selection: Selection) -> tuple[_Price, int]:
        """Return a key by which the largest tie number wins among equal prices."""
        return _price(selection), -int(self._candidates.cluster.nodes.tie[selection.slot])

    def _evaluate(self, slot: int) -> None:
        result = select_victims(self._candidates, slot, self._budgets)
        if isinstance(result, Selection) and result.victims:
            self._states[slot] = _FOUND
            self._found[slot] = result
            heappush(self._by_price, (*self._rank(result), slot, result))
        else:
            self._states[slot] = _REFUSED
            self._reasons[slot] = () if isinstance(result, Selection) else result

    # -- why there is none ----------------------------------------------------------------------------------------

    def reasons(self) -> Counter[str]:
        """Count why no node helps, given that `cheapest` found none."""
        states = self._states[self._candidates.cluster.nodes.alive]
        counted = Counter(
            {NOT_HELPFUL: int((states == _UNHELPFUL).sum()), NO_VICTIMS: int((states == _NO_VICTIMS).sum())}
        )
        for slot in np.flatnonzero(self._states == _HOPELESS).tolist():
            self._evaluate(slot)
        self._settle()
        for reasons in self._reasons.values():
            counted.update(reasons)
        return +counted

    # -- keeping up -----------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        nodes = self._candidates.cluster.nodes
        self._candidates.refresh()
        revision = self._current_revision()
        changed = nodes.changes.since(self._position) if revision == self._revision else None
        if changed is None or len(self._states) != nodes.slots.capacity:
            self._states = np.zeros(nodes.slots.capacity, np.int8)
            self._assessed = np.zeros(nodes.slots.capacity, np.int64)
            self._by_bound.clear()
            stale = set(range(nodes.slots.capacity))
        elif not changed:
            return  # as for the pod of this shape before
        else:
            stale = set(changed)
        self._forget(stale)
        self._trim()
        slots = np.array(sorted(stale), np.int64)
        self._states[slots] = _UNHELPFUL
        slots = slots[nodes.alive[slots]]
        if too_many(len(slots), nodes.slots.capacity):
            self._assess(slots[self._all_curable()[slots]])
        else:
            self._assess(np.array([slot for slot in slots.tolist() if self._is_curable(slot)], np.int64))
        self._settle()

    def _settle(self) -> None:
        """Skip the log entries that looking at slots has made."""
        self._position = self._candidates.cluster.nodes.changes.position
        self._revision = self._current_revision()

    def _current_revision(self) -> Any:
        cluster = self._candidates.cluster
        wide = [item for item in self._candidates.deciding if not item.plugin.local]
        return self._budgets.generation, [item.plugin.revision(item.prepared.want, cluster) for item in wide]

    def _forget(self, slots: Iterable[int]) -> None:
        for known in (self._found, self._reasons):
            for slot in slots if known else ():
                known.pop(slot, None)

    def _trim(self) -> None:
        """Drop stale entries if there are many."""
        most = 2 * len(self._states)
        if len(self._by_price) > most:
            self._by_price = [priced for priced in self._by_price if self._found.get(priced[2]) is priced[3]]
            heapify(self._by_price)
        if len(self._by_bound) > most:
            self._by_bound = [bound for bound in self._by_bound if self._assessed[bound[2]] == bound[3]]
            heapify(self._by_bound)

    def _assess(self, slots: ChosenSlots) -> None:
        """Set state and bound of slots where the refusal is not final, without touching any pod."""
        nodes = self._candidates.cluster.nodes
        priority = self._candidates.shape.priority
        pods = self._levels.pods_below(priority)[slots]
        self._states[slots[pods == 0]] = _NO_VICTIMS
        slots, pods = slots[pods > 0], pods[pods > 0]
        self._states[slots] = _HOPELESS
        free = {resource: nodes.free(resource)[slots] for resource, _ in self._needs}
        fewest = np.minimum(self._fewest_victims(free, len(slots)), pods)
        waiting: Mask = np.ones(len(slots), np.bool_)
        lowest: int | None = None
        for level, sums in self._levels.below(priority):
            lowest = level if lowest is None else lowest
            enough = waiting.copy()
            for resource, value in self._needs:
                if resource in sums:
                    free[resource] = free[resource] + sums[resource].values[slots]
                enough &= free[resource] >= value
            self._states[slots[enough]] = _UNKNOWN
            self._expect(slots[enough], fewest[enough], lowest, level)
            waiting &= ~enough

    def _fewest_victims(self, free: dict[str, NDArray[np.int64]], slots: int) -> NDArray[np.int64]:
        """Return how many pods have to go at least, if all were as large as the largest.

        One, where amounts are so large that their sums may overflow.
        """
        largest = self._levels.largest_below(self._candidates.shape.priority)
        fewest = np.ones(slots, np.int64)
        for resource, value in self._needs:
            if largest.get(resource) and value < _LARGE:
                left = free[resource]
                short = np.where((left > -_LARGE) & (left < _LARGE), value - left, 0)
                np.maximum(fewest, -(-short // largest[resource]), out=fewest)
        return fewest

    def _expect(self, slots: ChosenSlots, fewest: NDArray[np.int64], lowest: int, highest: int) -> None:
        """Set lower bounds, given how many pods have to go, the lowest priority and one that has to go."""
        self._assessment += 1
        self._assessed[slots] = self._assessment
        sums = (fewest - 1) * (lowest + _PRIORITY_OFFSET) + highest + _PRIORITY_OFFSET
        ties = -self._candidates.cluster.nodes.tie[slots]
        columns = (fewest.tolist(), sums.tolist(), ties.tolist(), slots.tolist())
        bounds: list[_Bound] = [
            ((0, highest, total, count, -inf), tie, slot, self._assessment)
            for count, total, tie, slot in zip(*columns, strict=True)
        ]
        if len(bounds) > len(self._by_bound):
            self._by_bound += bounds
            heapify(self._by_bound)
        else:
            for bound in bounds:
                heappush(self._by_bound, bound)

    def _all_curable(self) -> Mask:
        candidates = self._candidates
        nodes = candidates.cluster.nodes
        if candidates.rejection is not None:
            return np.full(nodes.slots.capacity, candidates.rejection[1].code is Code.UNSCHEDULABLE, np.bool_)
        curable = np.zeros(nodes.slots.capacity, np.bool_)
        for item, refused in first_refusals(candidates):
            slots = np.flatnonzero(refused)
            curable[slots] = item.plugin.curable(item.prepared.want, candidates.cluster, slots)
        return curable

    def _is_curable(self, slot: int) -> bool:
        candidates = self._candidates
        if candidates.rejection is None and not candidates.is_considered(slot):
            return False
        verdict = candidates.refusal(slot)
        return verdict is not None and verdict.code is Code.UNSCHEDULABLE


def _price(selection: Selection) -> _Price:
    """Return the price, smaller is better: violations, highest priority, all priorities, how many, how long."""
    victims = selection.victims
    return (
        selection.violations,
        selection.highest_priority,
        sum(victim.priority + _PRIORITY_OFFSET for victim in victims),
        len(victims),
        -selection.earliest_start,
    )
