"""NodeResourcesBalancedAllocation: prefer nodes whose resources would be used in more equal parts.

Compares how far the used fractions of the resources are apart, with the pod and without it; a pod that requests none
of them is not scored. Kubernetes: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go. Differs: a
score that is not within 0–100, because an int64 overflowed, is brought back there; kube-scheduler gives up.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from moorage.columns.shape import Shape
from moorage.model.go.integers import divide64, float_to_int64, wrap64
from moorage.schedule.framework.plugin import MAX_SCORE, SKIP, ChosenSlots, Mask, Plugin, Prepared, Scores
from moorage.schedule.plugins.node_resources_fit import ScoresByState

DEFAULT_RESOURCES = (CPU, MEMORY)
_ALWAYS = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})
_HALF = MAX_SCORE // 2


class _Want:
    """The pod's requests, as (resource, amount), and the scores of node states met so far."""

    __slots__ = ("amounts", "scores")

    def __init__(self, amounts: tuple[tuple[str, int], ...], cluster: Cluster) -> None:
        nodes = cluster.nodes
        self.amounts = amounts
        self.scores = ScoresByState(
            array for name, _ in amounts for array in (nodes.allocatable_arrays[name], nodes.free_arrays[name])
        )


class NodeResourcesBalancedAllocation(Plugin[_Want]):
    """The NodeResourcesBalancedAllocation plugin."""

    name = "NodeResourcesBalancedAllocation"
    answers_by_needs = True

    def __init__(self, resources: Sequence[str] = DEFAULT_RESOURCES) -> None:
        self._resources = tuple(resources)

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        wants = tuple((name, shape.taken.get(name, 0)) for name in self._resources)
        if not any(value for _, value in wants):
            return SKIP
        amounts = tuple((name, value) for name, value in wants if name in _ALWAYS or value)
        return Prepared(_Want(amounts, cluster), filters=False)

    def score(self, want: _Want, cluster: Cluster, feasible: Mask) -> Scores:
        if len(want.amounts) != 2:  # not the default
            return super().score(want, cluster, feasible)
        return self._scores(want, cluster, slice(None))

    def score_at(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Scores:
        if len(want.amounts) != 2:
            return super().score_at(want, cluster, slots)
        return self._scores(want, cluster, slots)

    def _scores(self, want: _Want, cluster: Cluster, slots: ChosenSlots | slice) -> Scores:
        before, after = [], []
        for resource, value in want.amounts:
            capacity = cluster.nodes.allocatable(resource)[slots]
            used = capacity - cluster.nodes.free(resource)[slots]
            before.append(_fractions(used, capacity))
            after.append(_fractions(used + value, capacity))
        return _improvements(_balances(*before), _balances(*after))

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        state = want.scores.state(slot)
        score = want.scores.known.get(state)
        if score is None:
            before, after = [], []
            for (_, value), capacity, free in zip(want.amounts, state[::2], state[1::2], strict=True):
                if capacity == 0:
                    continue
                used = wrap64(capacity - free)
                before.append(min(float(used) / float(capacity), 1.0))
                after.append(min(float(wrap64(used + value)) / float(capacity), 1.0))
            score = want.scores.learn(state, _improvement(_balance(before), _balance(after)))
        return score


def _balance(fractions: list[float]) -> int:
    """Return 100 less the standard deviation of the fractions in percent.

    Plain additions, because `sum` rounds otherwise since Python 3.12.
    """
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = sqrt(squares / len(fractions))
    return float_to_int64((1 - deviation) * MAX_SCORE)


def _improvement(before: int, after: int) -> int:
    """Return 50 to 100, around 75 where the pod changes little."""
    return max(0, min(_HALF + divide64(wrap64(_HALF + after - before), 2), MAX_SCORE))


def _improvements(before: Scores, after: Scores) -> Scores:
    """Return `_improvement` for all slots."""
    doubled = _HALF + after - before
    improved: Scores = np.minimum(np.maximum(_HALF + (doubled + (doubled < 0)) // 2, 0), MAX_SCORE)
    return improved


def _fractions(used: Scores, capacity: Scores) -> NDArray[np.float64]:
    """Return used fractions, at most 1; NaN where a node does not have the resource."""
    if capacity.all():
        full: NDArray[np.float64] = np.minimum(used / capacity, 1.0)
        return full
    with np.errstate(divide="ignore", invalid="ignore"):
        fractions = np.where(capacity == 0, np.nan, used / capacity)
    return np.minimum(fractions, 1.0)


def _balances(first: NDArray[np.float64], second: NDArray[np.float64]) -> Scores:
    """Return `_balance` of two resources for all slots; a resource that a node does not have does not count."""
    deviation = np.abs((first - second) / 2)
    missing = np.isnan(deviation)
    if missing.any():
        deviation[missing] = 0.0
    with np.errstate(invalid="ignore"):
        scores: Scores = ((1 - deviation) * MAX_SCORE).astype(np.int64)
    return scores
