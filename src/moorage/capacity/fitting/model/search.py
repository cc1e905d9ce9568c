"""Try cheaper mixes than one that is known, in the order of their cost, until one leaves nothing Pending.

In a small world this ends with a proof that no mix is cheaper: every other one leaves a pod Pending when it is planned.
"""

import heapq
from collections.abc import Callable

import msgspec
import numpy as np

from moorage.capacity.fitting.model.problem import Ints, Problem

#: More mixes than this are not planned, nor looked at; kinds of which more than this are needed are left alone.
MAX_TRIALS = 60
MAX_LOOKED_AT = 20_000
MAX_KINDS = 24
_SAME = 1e-9


class Search(msgspec.Struct, frozen=True, eq=False):
    """The cheapest mix that was found, if it is cheaper, and whether all that would be cheaper still were tried."""

    nodes: Ints | None
    is_complete: bool


def cheaper(
    problem: Problem,
    distinct: Ints,
    bound: float,
    cost: float,
    works: Callable[[Ints], bool],
    max_trials: int = MAX_TRIALS,
) -> Search:
    """Return the first mix of distinct kinds, by cost from the bound on, that works and costs less."""
    if len(distinct) > MAX_KINDS or not len(distinct):
        return Search(None, is_complete=False)
    prices = problem.prices[distinct]
    if (prices <= 0).any():  # there is no end to nodes that cost nothing
        return Search(None, is_complete=False)
    heap: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    looked_at = trials = 0
    while heap:
        spent, chosen = heapq.heappop(heap)
        looked_at += 1
        if looked_at > MAX_LOOKED_AT:
            return Search(None, is_complete=False)
        for index in range(chosen[-1] if chosen else 0, len(distinct)):
            more = spent + float(prices[index])
            if more < cost - _SAME * max(cost, 1.0):
                heapq.heappush(heap, (more, (*chosen, index)))
        if spent < bound - _SAME * max(bound, 1.0):
            continue
        nodes = np.bincount(distinct[list(chosen)], minlength=problem.kinds).astype(np.int64)
        if not problem.keeps_bounds(nodes) or not may_hold(problem, nodes):
            continue
        trials += 1
        if trials > max_trials:
            return Search(None, is_complete=False)
        if works(nodes):
            return Search(nodes, is_complete=True)
    return Search(None, is_complete=True)


def may_hold(problem: Problem, nodes: Ints) -> bool:
    """Return whether nodes have enough of each resource together, and one for each shape: false if they cannot do."""
    if not problem.numbers.any():
        return True
    wanted = problem.numbers > 0
    if not ((problem.most_on() > 0) & (nodes > 0)[None, :])[wanted].any(axis=1).all():
        return False
    return bool(np.all(nodes @ np.maximum(problem.rooms, 0.0) >= problem.numbers @ problem.amounts))
