"""Take nodes away that a planned mix hardly uses, many at a time, and plan each time what is left.

Only mixes too large to be searched need it: what repairs have added for pods that wait is often filled by other pods,
and other nodes are left empty then.
"""

import numpy as np

from moorage.capacity.fitting.model.problem import Ints, Problem
from moorage.capacity.fitting.trial import MixTrials, Played
from moorage.columns.resources import PODS

#: The most plans that are made, and the share of the nodes that is taken away first; it halves after each failure.
MAX_PLANS = 16
FIRST_SHARE = 1 / 4
_UNUSED = 1e-9


def leaner(problem: Problem, trials: MixTrials, played: Played) -> Played:
    """Return a mix with some of its nodes taken away, on which nothing is Pending; the same one if none can go."""
    until = trials.number + MAX_PLANS
    share, tries_empty = FIRST_SHARE, True
    while trials.number < until:
        order, used = _by_use(problem, trials, played)
        number = int((used[order] <= _UNUSED).sum()) if tries_empty else int(len(order) * share)
        tries_empty = tries_empty and number > 0
        if not number:
            if share * len(order) < 1:
                break
            continue
        nodes = _without(problem, played.nodes, trials.kinds_of_nodes(played.nodes)[order], number)
        tried = trials.play(nodes) if (nodes < played.nodes).any() else played
        if tried.is_whole and tried is not played:
            played = tried
        elif tries_empty:
            tries_empty = False
        else:
            share /= 2
    return played


def _without(problem: Problem, nodes: Ints, kinds: Ints, number: int) -> Ints:
    """Return the mix without the first of these nodes, as far as pools may be without them."""
    left = nodes - np.bincount(kinds[:number], minlength=problem.kinds)
    if problem.keeps_bounds(left):
        return left
    left = nodes.copy()
    for kind in kinds[:number].tolist():
        left[kind] -= 1
        if not problem.keeps_bounds(left):
            left[kind] += 1
    return left


def _by_use(problem: Problem, trials: MixTrials, played: Played) -> tuple[Ints, np.ndarray]:
    """Return the nodes of a mix, those first of which the least is used, and how much that is: the largest share."""
    cluster, kinds = played.simulation.cluster.nodes, trials.kinds_of_nodes(played.nodes)
    slots = [cluster.slot_of[name] for name in trials.names_of_nodes(played.nodes)]
    used = np.zeros(len(slots))
    for index, resource in enumerate(problem.resources):
        if " " in resource:
            continue
        room = problem.rooms[kinds, index]
        share = (room - cluster.free(resource)[slots]) / np.maximum(room, 1.0)
        used = np.maximum(used, np.where((room > 0) & (share > 0), share, 0.0) * (0.01 if resource == PODS else 1.0))
    # Of nodes that are used alike, dear ones go first.
    return np.lexsort((-problem.prices[kinds], used)), used
