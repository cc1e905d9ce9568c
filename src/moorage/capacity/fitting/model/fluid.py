"""Bound the cost from below, as if pods could be cut in parts: the linear relaxation of pods on kinds of node.

Without HiGHS a weaker bound: each resource alone, each pod paid at the cheapest rate at which it can be had.
"""

import msgspec
import numpy as np

from moorage.capacity.fitting.model.highs import Program, Unsolved, is_installed
from moorage.capacity.fitting.model.problem import Floats, Problem


class Relaxation(msgspec.Struct, frozen=True, eq=False):
    """A lower bound, what a pod of each shape costs at it, and what a unit of each resource of each kind is worth.

    `bound_prices` are what the bounds of pools are worth, below zero where they forbid; `nodes` the nodes in parts.
    """

    cost: float
    pod_prices: Floats
    bound_prices: Floats
    unit_prices: Floats
    nodes: Floats


def relax(problem: Problem) -> Relaxation | None:
    """Return the relaxation; None if there is no solution even in parts."""
    if not is_installed():
        return simple_bound(problem)
    shapes, kinds = problem.shapes, problem.kinds
    used = problem.amounts.max(axis=0, initial=0.0) > 0
    count = int(used.sum())
    scale = np.maximum(problem.rooms[:, used].max(axis=0, initial=1.0), 1.0)
    amounts, rooms = problem.amounts[:, used] / scale, problem.rooms[:, used] / scale
    bounds = problem.bounds
    first_room, first_bound = shapes, shapes + kinds * count
    least = np.concatenate([problem.numbers, np.full(kinds * count, -np.inf), [one.least for one in bounds]])
    most = np.concatenate([np.full(shapes, np.inf), np.zeros(kinds * count), [one.most for one in bounds]])
    program = Program(least.astype(np.float64), most.astype(np.float64))
    starts, rows, values = [0], list[int](), list[float]()
    for kind in range(kinds):  # nodes
        rows += range(first_room + kind * count, first_room + (kind + 1) * count)
        values += (-rooms[kind]).tolist()
        for number, one in enumerate(bounds):
            if one.shares[kind]:
                rows.append(first_bound + number)
                values.append(float(one.shares[kind]))
        starts.append(len(rows))
    program.add(problem.prices, starts[:-1], rows, np.array(values))
    possible = problem.most_on(np.maximum(problem.numbers, 1)) > 0
    shape_of, kind_of = np.nonzero(possible)
    needs = [np.flatnonzero(amounts[shape]) for shape in range(shapes)]
    starts, rows, values = [], [], []
    for shape, kind in zip(shape_of.tolist(), kind_of.tolist(), strict=True):
        starts.append(len(rows))
        rows.append(shape)
        values.append(1.0)
        rows += (first_room + kind * count + needs[shape]).tolist()
        values += amounts[shape][needs[shape]].tolist()
    program.add(np.zeros(len(starts)), starts, rows, np.array(values))
    try:
        solution = program.solve()
    except Unsolved:
        return None
    unit_prices = np.zeros((kinds, len(problem.resources)))
    unit_prices[:, used] = -solution.duals[first_room:first_bound].reshape(kinds, count) / scale
    return Relaxation(
        max(solution.cost, 0.0),
        np.maximum(solution.duals[:shapes], 0.0),
        solution.duals[first_bound:],
        np.maximum(unit_prices, 0.0),
        solution.values[:kinds],
    )


def simple_bound(problem: Problem) -> Relaxation | None:
    """Return the highest of the bounds of single resources: each pod at the cheapest rate among kinds that take it."""
    possible = problem.most_on(np.maximum(problem.numbers, 1)) > 0
    wanted = problem.numbers > 0
    if not possible[wanted].any(axis=1).all():
        return None
    none = np.zeros(len(problem.bounds))
    best = Relaxation(0.0, np.zeros(problem.shapes), none, np.zeros(problem.rooms.shape), np.zeros(problem.kinds))
    for resource in range(len(problem.resources)):
        room = problem.rooms[:, resource]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(room > 0, problem.prices / room, np.inf)
        cheapest = np.where(possible, rate[None, :], np.inf).min(axis=1, initial=np.inf)
        needs = problem.amounts[:, resource]
        prices = np.where(wanted & (needs > 0), needs * np.where(np.isinf(cheapest), 0.0, cheapest), 0.0)
        cost = float(prices @ problem.numbers)
        if cost > best.cost:
            unit_prices = np.zeros(problem.rooms.shape)
            unit_prices[:, resource] = np.where(np.isinf(rate), 0.0, rate)
            best = Relaxation(cost, prices, none, unit_prices, np.zeros(problem.kinds))
    return best
