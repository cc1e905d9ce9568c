"""Put a mix together node by node: each time the filling that gives most value for its price, as often as it goes.

What a pod is worth is its price at the bound. Pools that must have nodes get them first.
"""

from collections import Counter

import numpy as np

from moorage.capacity.fitting.model.filling import best_fill, weightings
from moorage.capacity.fitting.model.problem import Floats, Ints, Mask, Mix, Pattern, Problem

_FREE = 1e-9


def greedy_mix(problem: Problem, pod_prices: Floats, unit_prices: Floats | None = None) -> Mix:
    """Return a mix that keeps the bounds of all pools; pods that no node may take any more are `left`."""
    return _Greedy(problem, pod_prices, unit_prices).mix()


class _Greedy:
    def __init__(self, problem: Problem, pod_prices: Floats, unit_prices: Floats | None) -> None:
        self._problem = problem
        self._left = problem.numbers.copy()
        # A pod that costs nothing at the bound still has to be placed.
        floor = max(float(pod_prices.max(initial=0.0)), 1.0) * _FREE
        size = (problem.amounts / np.maximum(problem.rooms.max(axis=0, initial=1.0), 1.0)).sum(axis=1)
        self._values = np.maximum(pod_prices, 0.0) + floor * (1.0 + size)
        self._weights = weightings(problem, unit_prices)
        self._nodes = np.zeros(problem.kinds, np.int64)
        self._patterns: Counter[Pattern] = Counter()

    def mix(self) -> Mix:
        problem = self._problem
        self._start_least()
        while self._left.any():
            open_kinds = self._open()
            filled, worth = best_fill(problem, self._values, self._left, self._weights)
            taken = filled.sum(axis=1)
            usable = open_kinds & (taken > 0)
            if not usable.any():
                break
            kind = self._choose(usable, filled, worth)
            times = self._times(kind, filled[kind])
            self._take(kind, filled[kind], times)
        return Mix(self._nodes, dict(self._patterns), self._left)

    def _choose(self, usable: Mask, filled: Ints, worth: Floats) -> int:
        """Return the kind that gives most for its price; the cheapest that takes all of the rest, if that is cheaper.

        The second is compared by price with what the best kind would cost for the same pods.
        """
        prices = np.maximum(self._problem.prices, _FREE)
        ratio = np.where(usable, worth / prices, -1.0)
        best = int(ratio.argmax())
        whole = usable & (filled.sum(axis=1) == self._left.sum())
        if not whole.any():
            return best
        candidates = np.flatnonzero(whole)
        return int(candidates[self._problem.prices[candidates].argmin()])

    def _open(self) -> Mask:
        """Return which kinds their pools may start one more node of."""
        found = np.ones(self._problem.kinds, np.bool_)
        for one in self._problem.bounds:
            left = one.most - one.shares @ self._nodes
            found &= (one.shares <= left * (1 + 1e-12) + 1e-9) | (one.shares <= 0)
        return found

    def _times(self, kind: int, numbers: Ints) -> int:
        shapes = np.flatnonzero(numbers)
        times = int((self._left[shapes] // numbers[shapes]).min())
        for one in self._problem.bounds:
            share = one.shares[kind]
            if share > 0:
                times = min(times, int((one.most - one.shares @ self._nodes + 1e-9) // share))
        return max(times, 1)

    def _take(self, kind: int, numbers: Ints, times: int) -> None:
        self._nodes[kind] += times
        self._patterns[Pattern.of(kind, numbers)] += times
        self._left = self._left - numbers * times

    def _start_least(self) -> None:
        """Start the nodes that pools must have, of the kinds that are worth most for their price."""
        for one in self._problem.bounds:
            while one.shares @ self._nodes < one.least - 1e-9:
                filled, worth = best_fill(self._problem, self._values, self._left, self._weights)
                mine = self._open() & (one.shares > 0)
                if not mine.any():
                    break
                prices = np.maximum(self._problem.prices, _FREE)
                kind = int(np.where(mine, (worth + _FREE) / prices, -1.0).argmax())
                self._take(kind, filled[kind], 1)
