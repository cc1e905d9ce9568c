"""Solve a problem: a lower bound, a mix, and whether the mix was proved to be the cheapest."""

import msgspec
import numpy as np

from moorage.capacity.fitting.model.columns import Columns
from moorage.capacity.fitting.model.fluid import Relaxation, relax
from moorage.capacity.fitting.model.greedy import greedy_mix
from moorage.capacity.fitting.model.highs import Unsolved, is_installed
from moorage.capacity.fitting.model.problem import Mix, Pattern, Problem, undominated
from moorage.capacity.fitting.model.rounding import every_filling, rounded, whole_choice

#: With so few fillings all of them are known, and the choice among them is exact.
MAX_FILLINGS = 3_000
#: A mix that is so near the bound is not improved any more.
NEAR = 0.005
EXACT_BRANCHES = 50_000


class Solved(msgspec.Struct, frozen=True, eq=False):
    """A mix and a lower bound of the cost of every mix. `relaxation` says what pods and resources are worth."""

    mix: Mix
    bound: float
    cost: float
    relaxation: Relaxation
    is_exact: bool = False

    @property
    def gap(self) -> float:
        return max(self.cost - self.bound, 0.0) / self.cost if self.cost > 0 else 0.0


def solve(problem: Problem, near: float = NEAR, *, searches: bool = True) -> Solved | None:
    """Return the cheapest mix that was found, with a bound; None if no mix keeps the bounds of the pools.

    Unless it `searches`, the mix is put together greedily.
    """
    kept = undominated(problem)
    if not len(kept):
        return None if problem.numbers.any() else _nothing(problem)
    small = problem.of_kinds(kept)
    relaxation = relax(small)
    if relaxation is None:
        return None
    solved = _solve(small, relaxation, near, searches=searches)
    return _of_all_kinds(problem, kept, solved)


def _nothing(problem: Problem) -> Solved:
    """Return the answer for no pods, where no kind of node is of use."""
    nothing = np.zeros(problem.kinds, np.int64)
    relaxation = Relaxation(
        0.0,
        np.zeros(problem.shapes),
        np.zeros(len(problem.bounds)),
        np.zeros(problem.rooms.shape),
        np.zeros(problem.kinds),
    )
    return Solved(Mix(nothing, {}, problem.numbers), 0.0, 0.0, relaxation, is_exact=True)


def _solve(problem: Problem, relaxation: Relaxation, near: float, *, searches: bool) -> Solved:
    greedy = greedy_mix(problem, relaxation.pod_prices, relaxation.unit_prices)
    best = Solved(greedy, relaxation.cost, problem.cost(greedy.nodes), relaxation)
    if not searches or not is_installed() or not problem.numbers.any():
        return best
    try:
        every = every_filling(problem, MAX_FILLINGS)
        if every is not None:
            exact = whole_choice(problem, every, branches=EXACT_BRANCHES)
            if exact is not None:
                cost = problem.cost(exact.nodes)
                return Solved(exact, cost, cost, relaxation, is_exact=True)
        columns = Columns(problem, relaxation)
        columns.add(greedy.patterns)
        columns.add(_alone(problem))
        filled = columns.generate(gap=near)
        mix = rounded(problem, filled, relaxation.unit_prices, gap=near / 2)
    except Unsolved:
        return best
    bound = max(relaxation.cost, filled.bound)
    cheaper = mix.is_whole and (not greedy.is_whole or problem.cost(mix.nodes) < best.cost)
    chosen = mix if cheaper else greedy
    cost = problem.cost(chosen.nodes)
    prices = msgspec.structs.replace(relaxation, pod_prices=filled.pod_prices)
    return Solved(chosen, min(bound, cost) if chosen.is_whole else bound, cost, prices)


def _alone(problem: Problem) -> list[Pattern]:
    """Return a filling with each shape alone on each kind, so that there is a choice to begin with."""
    most = problem.most_on()
    return [
        Pattern(kind, ((shape, int(most[shape, kind])),))
        for shape, kind in zip(*(each.tolist() for each in np.nonzero(most)), strict=True)
    ]


def _of_all_kinds(problem: Problem, kept: np.ndarray, solved: Solved) -> Solved:
    """Return the answer with the numbers of all kinds."""
    nodes = np.zeros(problem.kinds, np.int64)
    nodes[kept] = solved.mix.nodes
    patterns = {Pattern(int(kept[one.kind]), one.pods): number for one, number in solved.mix.patterns.items()}
    units = np.zeros(problem.rooms.shape)
    units[kept] = solved.relaxation.unit_prices
    parts = np.zeros(problem.kinds)
    parts[kept] = solved.relaxation.nodes
    relaxation = msgspec.structs.replace(solved.relaxation, unit_prices=units, nodes=parts)
    return msgspec.structs.replace(solved, mix=Mix(nodes, patterns, solved.mix.left), relaxation=relaxation)
