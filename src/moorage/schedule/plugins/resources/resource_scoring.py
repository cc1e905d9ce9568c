"""Scoring strategies of NodeResourcesFit, for one node and for all.

A strategy scores one resource from what would be requested and what there is; `weighted_*` combine resources.
Kubernetes: noderesources/{least,most}_allocated.go, requested_to_capacity_ratio.go.
"""

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from moorage.columns.slots import SlotArray
from moorage.schedule.framework.plugin import MAX_SCORE, Scores

_STATES_KEPT = 1 << 12


class Strategy(msgspec.Struct, frozen=True):
    """One resource's score, for integers and for arrays, and how weighted scores are averaged."""

    name: str
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


def least_allocated() -> Strategy:
    def one(requested: int, capacity: int) -> int:
        return 0 if requested > capacity else (capacity - requested) * MAX_SCORE // capacity

    def every(requested: Scores, capacity: Scores) -> Scores:
        left: Scores = np.maximum(capacity - requested, 0)
        return left * MAX_SCORE // np.maximum(capacity, 1)

    return Strategy("LeastAllocated", one, every)


def most_allocated() -> Strategy:
    def one(requested: int, capacity: int) -> int:
        return min(requested, capacity) * MAX_SCORE // capacity

    def every(requested: Scores, capacity: Scores) -> Scores:
        return np.minimum(requested, capacity) * MAX_SCORE // np.maximum(capacity, 1)

    return Strategy("MostAllocated", one, every)


def requested_to_capacity_ratio(points: Sequence[tuple[int, int]]) -> Strategy:
    """Interpolate between (utilization in percent, score 0–10) points, tabulated for 0–100 %."""
    table = np.array([_broken_line(points, percent) for percent in range(101)], np.int64)

    def one(requested: int, capacity: int) -> int:
        return int(table[100 if requested > capacity else requested * 100 // capacity])

    def every(requested: Scores, capacity: Scores) -> Scores:
        return table[np.where(requested > capacity, 100, np.maximum(requested, 0) * 100 // np.maximum(capacity, 1))]

    return Strategy("RequestedToCapacityRatio", one, every, skips_zero=True)


def _broken_line(points: Sequence[tuple[int, int]], percent: int) -> int:
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
    return int(total / weights + 0.5) if strategy.skips_zero else total // weights


def weighted_every(strategy: Strategy, needs: Sequence[tuple[Scores, Scores, int]]) -> Scores:
    """Return `weighted_one` for all slots."""
    total = np.zeros_like(needs[0][0])
    weights = np.zeros_like(total)
    for requested, capacity, weight in needs:
        score = strategy.every(requested, capacity)
        counts = (capacity != 0) & (score > 0) if strategy.skips_zero else capacity != 0
        total += np.where(counts, score * weight, 0)
        weights += np.where(counts, weight, 0)
    divisor = np.maximum(weights, 1)
    if strategy.skips_zero:
        return np.where(weights == 0, 0, np.floor(total / divisor + 0.5)).astype(np.int64)
    return np.where(weights == 0, 0, total // divisor)
