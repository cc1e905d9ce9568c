"""Fill nodes of all kinds at once: pods in the order of what they are worth for what they need of the node."""

from collections.abc import Sequence

import numpy as np

from moorage.capacity.fitting.model.problem import Floats, Ints, Problem

_SMALL = 1e-12


def fill(problem: Problem, values: Floats, numbers: Ints, weights: Floats) -> Ints:
    """Return how many pods of each shape go on a node of each kind (kinds × shapes), by values of pods.

    `weights` say how much each resource counts when what a pod needs of a node is compared with what it is worth.
    """
    rooms = np.maximum(problem.rooms, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(problem.amounts[None] > 0, problem.amounts[None] / rooms[:, None, :], 0.0)
    need = np.where(np.isfinite(shares), shares, 0.0) @ weights + _SMALL
    may = problem.takes.T & (numbers > 0)[None, :] & (values > 0)[None, :] & np.isfinite(shares).all(axis=2)
    density = np.where(may, values[None, :] / need, -1.0)
    order = np.argsort(-density, axis=1, kind="stable")
    rows = np.arange(problem.kinds)
    left, filled = rooms.copy(), np.zeros((problem.kinds, problem.shapes), np.int64)
    for rank in range(int((density > 0).sum(axis=1).max(initial=0))):
        shape = order[:, rank]
        amounts = problem.amounts[shape]
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(amounts > 0, np.floor(left / amounts), np.inf).min(axis=1, initial=np.inf)
        number = np.where(density[rows, shape] > 0, np.minimum(each, numbers[shape]), 0)
        left -= amounts * number[:, None]
        filled[rows, shape] = number.astype(np.int64)
    return filled


def varied_fills(problem: Problem, values: Floats, numbers: Ints, weights: Sequence[Floats], seed: int) -> Ints:
    """Return fillings of every kind (variants × kinds × shapes), by each of the weights, the order varied by chance.

    Where the order of worth is followed strictly, what is left at the end of a node is often wasted.
    """
    random = np.random.default_rng(seed)
    kinds, shapes = problem.kinds, problem.shapes
    rooms = np.maximum(problem.rooms, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(problem.amounts[None] > 0, problem.amounts[None] / rooms[:, None, :], 0.0)
    may = problem.takes.T & (numbers > 0)[None, :] & (values > 0)[None, :] & (shares <= 1.0).all(axis=2)
    need = np.where(np.isfinite(shares), shares, 0.0) @ np.stack(weights).T + _SMALL  # by kind, shape and variant
    density = np.where(may[:, :, None], values[None, :, None] / need, -1.0)
    density = np.moveaxis(density, 2, 0) * np.exp(
        random.normal(
            0.0, _SPREADS[random.integers(0, len(_SPREADS), len(weights))][:, None, None], (len(weights), kinds, shapes)
        )
    )
    rows = len(weights) * kinds
    density = density.reshape(rows, shapes)
    order = np.argsort(-density, axis=1, kind="stable")
    every = np.arange(rows)
    left = np.tile(rooms, (len(weights), 1))
    filled = np.zeros((rows, shapes), np.int64)
    fewer = random.random((rows, shapes)) < _FEWER
    amounts_by_resource = problem.amounts.T
    for _ in range(2):
        for rank in range(int(may.sum(axis=1).max(initial=0))):
            shape = order[:, rank]
            each = np.full(rows, np.inf)
            for resource, amounts in enumerate(amounts_by_resource):
                need_of = amounts[shape]
                with np.errstate(divide="ignore", invalid="ignore"):
                    each = np.where(need_of > 0, np.minimum(each, left[:, resource] / need_of), each)
            number = np.minimum(np.floor(each), numbers[shape] - filled[every, shape])
            number = np.where(density[every, shape] > 0, number - (fewer[every, shape] & (number > 0)), 0)
            left -= problem.amounts[shape] * number[:, None]
            filled[every, shape] += number.astype(np.int64)
        fewer[:] = False
    return filled.reshape(len(weights), kinds, shapes)


_SPREADS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
#: How often one pod fewer is taken of a shape than would fit.
_FEWER = 0.15


def weightings(problem: Problem, unit_prices: Floats | None = None, number: int = 6, seed: int = 0) -> list[Floats]:
    """Return weights of resources to try: all alike, each scarce one alone, and mixtures of them."""
    count = len(problem.resources)
    needed = problem.amounts.max(axis=0, initial=0.0) > 0
    found = [needed / max(int(needed.sum()), 1)]
    if unit_prices is not None:
        worth = (unit_prices * problem.rooms).sum(axis=0)
        if worth.sum() > 0:
            found.insert(0, worth / worth.sum())
        scarce = np.flatnonzero(worth > 0)
    else:
        scarce = np.flatnonzero(needed)
    found += [np.eye(count)[resource] for resource in scarce[:4].tolist()]
    random = np.random.default_rng(seed)
    while len(found) < number and len(scarce) > 1:
        mixture = np.zeros(count)
        mixture[scarce] = random.dirichlet(np.ones(len(scarce)))
        found.append(mixture)
    return [np.asarray(each, np.float64) for each in found]


def best_fill(problem: Problem, values: Floats, numbers: Ints, weights: Sequence[Floats]) -> tuple[Ints, Floats]:
    """Return for each kind the filling of the highest value by any of the weights, and that value."""
    best, worth = np.zeros((problem.kinds, problem.shapes), np.int64), np.full(problem.kinds, -1.0)
    for each in weights:
        filled = fill(problem, values, numbers, each)
        reached = filled @ values
        better = reached > worth
        best[better], worth[better] = filled[better], reached[better]
    return best, worth
