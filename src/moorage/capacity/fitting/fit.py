"""Find the cheapest mix of nodes on which everything runs: solve the model, plan its mix, add what is missing, improve.

What is answered with was planned: nothing is Pending. What cannot be solved names the workloads and why.
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from moorage.autoscale.topology_keys import keys_read_by
from moorage.capacity.fitting.demands import Demands, Shapes, Waiting, demands_of, problem_of
from moorage.capacity.fitting.existing import bound_beside
from moorage.capacity.fitting.leaner import leaner
from moorage.capacity.fitting.model.columns import MANY_SHAPES
from moorage.capacity.fitting.model.problem import Ints, Problem, undominated
from moorage.capacity.fitting.model.search import MAX_KINDS, cheaper, may_hold
from moorage.capacity.fitting.model.solve import Solved, solve
from moorage.capacity.fitting.trial import MixTrials, Played, Stuck
from moorage.capacity.fitting.worlds import FitWorld
from moorage.plan.pools.pool_nodes import NodeKind, PoolNodes
from moorage.plan.pools.verdicts import pool_growths
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Pool

#: Mixes for more pods than this are not improved by trying others: each trial plans all of them.
MAX_PODS_TO_SEARCH = 400
#: So many mixes that differ by one node from the best one are planned.
MAX_NEARBY = 40
NEAR = 1e-9


class Unpriced(ValueError):
    """Pools with nodes of which no price is known."""


class Fitted(msgspec.Struct, eq=False):
    """What was found. Without `played` there is no mix: `hopeless` are pods that no pool can ever take, `left` those
    for which the bounds of the pools leave no room, or that wait although nodes were added.

    `bound` is a lower bound of the cost of every mix; `is_exact`: all cheaper ones were tried, or the model proves it.
    """

    base: Simulation
    world: FitWorld
    nodes: PoolNodes
    demands: Demands
    shapes: Shapes | None = None
    solved: Solved | None = None
    played: Played | None = None
    hopeless: list[Waiting] = []
    left: list[Waiting] = []
    bound: float = 0.0
    cost: float = 0.0
    is_exact: bool = False
    trials: int = 0
    #: Why pods that are `left` wait, by one of them.
    reasons: dict[str, str] = {}

    @property
    def kinds(self) -> Sequence[NodeKind]:
        return self.nodes.kinds

    @property
    def gap(self) -> float:
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 0 else 0.0


def fit(world: FitWorld, pools: Sequence[Pool], *, survives: Callable[[Played], bool] = lambda _: True) -> Fitted:
    """Return the cheapest mix for the pods of a world. Raises Unpriced.

    `survives` says whether a mix is enough beyond leaving nothing Pending.
    """
    check_prices(pools)
    base = world.planned()
    nodes = PoolNodes(base, pools)
    demands = demands_of(base)
    takes = nodes.accepts_by_itself([one.pod for one in demands.waiting])
    fitted = Fitted(base, world, nodes, demands)
    fitted.hopeless = [one for one, row in zip(demands.waiting, takes, strict=True) if not row.any()]
    if fitted.hopeless:
        return fitted
    growths = pool_growths(base, pools)
    shapes = fitted.shapes = problem_of(demands.waiting, takes, nodes.kinds, growths)
    solved = fitted.solved = solve(shapes.problem)
    if solved is None or not solved.mix.is_whole:
        fitted.left = _left(shapes, solved)
        return fitted
    fitted.bound, fitted.is_exact = solved.bound, solved.is_exact
    if world.taken_names:
        fitted.bound, fitted.is_exact = min(_bound_beside(world, pools), solved.bound), False
    trials = MixTrials(world, nodes.kinds, searches=shapes.problem.shapes <= MANY_SHAPES)
    try:
        played = trials.repaired(solved.mix.nodes)
    except Stuck as stuck:
        fitted.left, fitted.trials = stuck.played.waiting.waiting, trials.number
        fitted.reasons = stuck.played.waiting.reasons
        return fitted
    _improve(fitted, trials, played)
    return fitted


def check_prices(pools: Sequence[Pool]) -> None:
    """Complain of pools with nodes that have no price. Raises Unpriced."""
    lines = []
    for pool in pools:
        without = [template.name for template in pool.templates if template.price is None]
        if without:
            how = (
                "spec.price of the NodeGroup"
                if pool.kind == "NodeGroup"
                else "Price of its offerings, or a NodeOverlay"
            )
            lines.append(
                f"{pool.place}: {pool.kind} {pool.name}: no price of {', '.join(without[:3])}"
                f"{' and others' if len(without) > 3 else ''}: give the {how}"
            )
    if lines:
        raise Unpriced("\n".join(lines))


def _left(shapes: Shapes, solved: Solved | None) -> list[Waiting]:
    if solved is None:
        return [one for group in shapes.waiting for one in group]
    return [one for index in np.flatnonzero(solved.mix.left).tolist() for one in shapes.waiting[index]]


def _bound_beside(world: FitWorld, pools: Sequence[Pool]) -> float:
    """Return a bound beside the nodes there are: in a cluster in which pods were made, and none was placed."""
    simulation = world.begun()
    simulation.controllers.work()
    simulation.scheduling.take_in()
    nodes = PoolNodes(simulation, pools)
    waiting = demands_of(simulation).waiting
    takes = nodes.accepts_by_itself([one.pod for one in waiting])
    if not waiting:
        return 0.0
    shapes = problem_of(waiting, takes, nodes.kinds, pool_growths(simulation, pools))
    return bound_beside(simulation, [group[0] for group in shapes.waiting], shapes.problem)


def _improve(fitted: Fitted, trials: MixTrials, played: Played) -> None:
    """Try cheaper mixes, all of them in a small world."""
    assert fitted.shapes is not None
    problem = fitted.shapes.problem
    cost = problem.cost(played.nodes)
    near = 1e-9 * max(cost, 1.0)
    fitted.is_exact = fitted.is_exact and cost <= fitted.bound + near
    if fitted.demands.number <= MAX_PODS_TO_SEARCH and cost > fitted.bound + near:
        tried: list[Played] = []

        def works(nodes: Ints) -> bool:
            tried.append(trials.play(nodes))
            return tried[-1].is_whole

        distinct = distinct_kinds(problem, fitted)
        found = cheaper(problem, distinct, fitted.bound, cost, works)
        if found.nodes is not None:
            played, cost = tried[-1], problem.cost(found.nodes)
        if found.is_complete:
            fitted.is_exact, fitted.bound = True, cost
        else:
            played = _nearby(problem, distinct, trials, played, fitted.bound)
            cost = problem.cost(played.nodes)
    elif fitted.solved is not None and cost > fitted.solved.cost + near:
        played = leaner(problem, trials, played)
        cost = problem.cost(played.nodes)
    fitted.played, fitted.cost, fitted.trials = played, cost, trials.number
    fitted.bound = min(fitted.bound, cost)


def _nearby(problem: Problem, distinct: Ints, trials: MixTrials, played: Played, bound: float) -> Played:
    """Take nodes away, or put a cheaper one in the place of a dear one, as long as nothing is Pending then."""
    left = MAX_NEARBY
    while left > 0:
        cost = problem.cost(played.nodes)
        for nodes in _neighbours(problem, distinct, played.nodes, bound, cost):
            left -= 1
            if (tried := trials.play(nodes)).is_whole:
                played = tried
                break
            if left <= 0:
                return played
        else:
            return played
    return played


def _neighbours(problem: Problem, distinct: Ints, nodes: Ints, bound: float, cost: float) -> list[Ints]:
    """Return mixes that differ by one node and are cheaper, the cheapest first."""
    found: list[tuple[float, int, Ints]] = []
    for gone in np.flatnonzero(nodes).tolist():
        for put in (-1, *distinct.tolist()):
            other = nodes.copy()
            other[gone] -= 1
            if put >= 0:
                other[put] += 1
            spent = problem.cost(other)
            if bound - NEAR <= spent < cost - NEAR and problem.keeps_bounds(other) and may_hold(problem, other):
                found.append((spent, len(found), other))
    return [other for _, _, other in sorted(found, key=lambda one: one[:2])]


def distinct_kinds(problem: Problem, fitted: Fitted) -> Ints:
    """Return one kind of each price, room and facts that pods tell apart; without dominated ones if there are many."""
    keys: set[str] = set()
    for one in fitted.demands.waiting:
        keys |= keys_read_by(one.pod.spec)
    bounded = {bound.name.partition(":")[0] for bound in problem.bounds}
    first: dict[object, int] = {}
    for index, kind in enumerate(fitted.kinds):
        labels = kind.template.labels
        facts = (
            float(problem.prices[index]),
            problem.rooms[index].tobytes(),
            problem.takes[:, index].tobytes(),
            tuple(labels.get(key) for key in sorted(keys)),
            kind.pool.name if kind.pool.name in bounded else "",
        )
        first.setdefault(facts, index)
    distinct = np.array(sorted(first.values()), np.int64)
    if len(distinct) <= MAX_KINDS:
        return distinct
    kept = set(undominated(problem).tolist())
    return np.array([index for index in distinct.tolist() if index in kept], np.int64)
