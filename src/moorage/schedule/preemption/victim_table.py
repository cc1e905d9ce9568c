"""Compute what preemption on each node would cost for one shape, by a lower bound, and violated budgets.

Nodes that no eviction helps are ruled out with array operations, and so is the least that others can cost: up to which
priority pods have to go, and how many. Nodes are looked at in that order until no other can be cheaper.
Kubernetes: DryRunPreemption, SelectVictimsOnNode and pickOneNodeForPreemption, for each pod, on a sample of at least
100 nodes or 10 %.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.columns.priority_levels import PriorityLevels
from moorage.columns.resources import PODS
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import first_refusals
from moorage.schedule.framework.plugin import ChosenSlots, Code, Mask
from moorage.schedule.framework.wide import too_many
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.victims import Selection, can_count, select_victims

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"

_UNHELPFUL, _NO_VICTIMS, _HOPELESS, _UNKNOWN, _REFUSED, _FOUND = range(6)
_LARGE = 1 << 53
_FEW_SLOTS = 8  # of which victims are found sooner than bounds
_PRIORITY_OFFSET = 1 << 31  # makes every priority count, so that two victims always weigh more than one of their kind


_Price = tuple[int, int, int, int, float]
_Found = tuple[_Price, int, int, int, Selection]  # price, tie number reversed, slot, and what makes it unique
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
        self._selections = 0  # so far
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
        return best[4] if best is not None else None

    def _best_found(self) -> _Found | None:
        by_price = self._by_price
        while by_price:
            cheapest = by_price[0]
            if self._found.get(cheapest[2]) is cheapest[4]:
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
            self._selections += 1
            heappush(self._by_price, (*self._rank(result), slot, self._selections, result))
        else:
            self._states[slot] = _REFUSED
            self._reasons[slot] = () if isinstance(result, Selection) else result

    def _evaluate_if_any(self, slot: int) -> None:
        """Evaluate a slot, unless no pod there is less important."""
        cluster, priority = self._candidates.cluster, self._candidates.shape.priority
        if min(cluster.priorities, default=priority) < priority and any(
            record.shape.priority < priority for record in cluster.pods_on[slot].values()
        ):
            self._evaluate(slot)
        else:
            self._states[slot] = _NO_VICTIMS

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
            curable = [slot for slot in slots.tolist() if self._is_curable(slot)]
            if len(curable) <= _FEW_SLOTS and can_count(self._candidates):
                for slot in curable:
                    self._evaluate_if_any(slot)
            elif curable:
                self._assess(np.array(curable, np.int64))
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
            self._by_price = [priced for priced in self._by_price if self._found.get(priced[2]) is priced[4]]
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
        if candidates.rejection is not None:
            return candidates.rejection[1].code is Code.UNSCHEDULABLE
        for item in candidates.deciding:
            if not item.plugin.filter_slot(item.prepared.want, candidates.cluster, slot):
                chosen = np.array([slot], np.int64)
                return bool(item.plugin.curable(item.prepared.want, candidates.cluster, chosen)[0])
        return False


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
