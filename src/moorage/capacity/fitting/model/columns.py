"""Generate ways to fill nodes until none improves the relaxation, then choose how often each is used.

Column generation by Gilmore and Gomory, for several kinds of node: the relaxed choice among known fillings prices the
pods, and fillings that are worth more than their node costs at these prices are added. The bound is Farley's: prices
that are scaled down until no filling of any kind is worth more than its node, which an exact search proves.
"""

from collections.abc import Iterable

import msgspec
import numpy as np

from moorage.capacity.fitting.model.filling import varied_fills, weightings
from moorage.capacity.fitting.model.fluid import Relaxation
from moorage.capacity.fitting.model.highs import Program, Solution, Unsolved
from moorage.capacity.fitting.model.problem import Floats, Ints, Mask, Pattern, Problem

#: Rounds of column generation, and of those that search exactly.
MAX_ROUNDS = 500
MAX_EXACT_ROUNDS = 80
#: With more shapes than these there are fewer exact rounds: each takes longer by the square.
MANY_SHAPES, _LEAST_EXACT_ROUNDS = 100, 8
#: An exact search of one node's best filling gives up after this number of branches; its bound is valid then, too.
MAX_BRANCHES = 2_000
_TOLERANCE = 1e-7
_SMOOTHING, _LEAST_SMOOTHING = 0.8, 0.1
#: Fillings that are found quickly are added as long as they gain this share of the cost.
_WORTH_WHILE = 2e-4
_QUICK_ROUNDS = 4
#: Variants that are tried at once, and how many fillings of a kind are added.
_VARIANTS, _OF_EACH = 24, 3


class Filled(msgspec.Struct, frozen=True, eq=False):
    """The relaxed choice among fillings: what is used how often, a lower bound of any mix, and prices of pods."""

    patterns: list[Pattern]
    used: Floats
    cost: float
    bound: float
    pod_prices: Floats


class Columns:
    """Fillings of one problem, in a linear program that grows."""

    def __init__(self, problem: Problem, start: Relaxation) -> None:
        self._problem, self._start = problem, start
        self.patterns: list[Pattern] = []
        self._known: set[Pattern] = set()
        least = [float(number) for number in problem.numbers] + [one.least for one in problem.bounds]
        most = [float("inf")] * problem.shapes + [one.most for one in problem.bounds]
        self._program = Program(np.array(least), np.array(most))

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add those that are new; return their number."""
        new = [one for one in dict.fromkeys(patterns) if one not in self._known]
        self._known |= set(new)
        self.patterns += new
        self._program.add(*columns_of(self._problem, new))
        return len(new)

    def generate(self, *, gap: float) -> Filled:
        """Add fillings until none improves, or the bound is so near that no more is to be gained. Raises Unsolved.

        Where fillings are searched exactly, prices are taken between those of the best bound and those of the relaxed
        choice: the latter alone jump to and fro (Wentges' smoothing).
        """
        problem, start = self._problem, self._start
        bound, center = start.cost, np.concatenate([start.pod_prices, start.bound_prices])
        weights = weightings(problem, start.unit_prices, number=_VARIANTS)
        exact_rounds, fruitless, smoothing, before = 0, 0, _SMOOTHING, float("inf")
        for turn in range(MAX_ROUNDS):
            solution = self._program.solve()
            prices, real = self._prices(solution.duals)
            if solution.cost - bound <= gap * solution.cost:
                break
            fruitless = 0 if before - solution.cost > _WORTH_WHILE * solution.cost else fruitless + 1
            if fruitless < _QUICK_ROUNDS:
                before = solution.cost
                if self.add(self._improving(prices, real, weights, turn)):
                    continue
            if exact_rounds >= most_exact_rounds(problem.shapes):
                break
            exact_rounds += 1
            before, fruitless = float("inf"), 0
            between = smoothing * center + (1 - smoothing) * solution.duals
            smooth, smooth_real = self._prices(between)
            best, worth = exact_fillings(problem, smooth, smooth_real)
            scale, proven = self._proven(smooth, smooth_real, worth, between)
            if proven > bound:
                bound = proven
                center = np.concatenate([smooth * scale, between[problem.shapes :]])
            improving = [one for one in best if _worth(one, prices) > real[one.kind] + _TOLERANCE]
            if not self.add(improving):
                if not smoothing:
                    break
                smoothing = smoothing / 2 if smoothing > _LEAST_SMOOTHING else 0.0
        solution = self._program.solve()
        prices, _ = self._prices(solution.duals)
        return Filled(self.patterns, solution.values, solution.cost, min(bound, solution.cost), prices)

    def _prices(self, duals: Floats) -> tuple[Floats, Floats]:
        """Return prices of pods, and of nodes less what the bounds of their pools are worth."""
        shapes = self._problem.shapes
        real = self._problem.prices.copy()
        for number, one in enumerate(self._problem.bounds):
            real = real - duals[shapes + number] * one.shares
        return np.maximum(duals[:shapes], 0.0), real

    def _improving(self, prices: Floats, real: Floats, weights: list[Floats], seed: int) -> list[Pattern]:
        """Return fillings that were found quickly, and are worth more than their nodes: the best few of each kind."""
        filled = varied_fills(self._problem, prices, self._problem.numbers, weights, seed)
        gains = filled @ prices - real[None, :]
        found: list[Pattern] = []
        for kind in np.flatnonzero((gains > _TOLERANCE).any(axis=0)).tolist():
            best = np.argsort(-gains[:, kind], kind="stable")[:_OF_EACH]
            found += [Pattern.of(kind, filled[each, kind]) for each in best.tolist() if gains[each, kind] > _TOLERANCE]
        return found

    def _proven(self, prices: Floats, real: Floats, worth: Floats, duals: Floats) -> tuple[float, float]:
        """Return the scale of prices by which no filling is worth more than its node, and the bound they give."""
        over = worth > 0
        if (real[over] <= 0).any():
            return 0.0, 0.0
        scale = float(np.min(real[over] / worth[over], initial=1.0))
        total = scale * float(prices @ self._problem.numbers)
        for number, one in enumerate(self._problem.bounds):
            dual = float(duals[self._problem.shapes + number])
            if abs(dual) > 0:
                total += dual * (one.most if dual < 0 else one.least)
        return scale, total


def most_exact_rounds(shapes: int) -> int:
    """Return how many rounds of column generation search exactly, for a problem of so many shapes."""
    if shapes <= MANY_SHAPES:
        return MAX_EXACT_ROUNDS
    return max(MAX_EXACT_ROUNDS * MANY_SHAPES**2 // shapes**2, _LEAST_EXACT_ROUNDS)


def _worth(pattern: Pattern, prices: Floats) -> float:
    return sum(float(prices[shape]) * number for shape, number in pattern.pods)


def columns_of(problem: Problem, patterns: list[Pattern]) -> tuple[Floats, list[int], list[int], Floats]:
    """Return costs, starts, rows and values of fillings as columns: rows of shapes, then of bounds."""
    starts, rows, values = list[int](), list[int](), list[float]()
    for one in patterns:
        starts.append(len(rows))
        for shape, number in one.pods:
            rows.append(shape)
            values.append(float(number))
        for number, bound in enumerate(problem.bounds):
            if bound.shares[one.kind]:
                rows.append(problem.shapes + number)
                values.append(float(bound.shares[one.kind]))
    costs = np.array([problem.prices[one.kind] for one in patterns], np.float64)
    return costs, starts, rows, np.array(values)


def exact_fillings(problem: Problem, prices: Floats, real: Floats) -> tuple[list[Pattern], Floats]:
    """Return fillings of the highest worth at these prices of pods, and an upper bound of the worth for each kind.

    Kinds whose bound in parts is less for their price than another's best filling decide nothing, and are not searched.
    """
    most = problem.most_on()
    worth = np.zeros(problem.kinds)
    knapsacks = {}
    for kind in range(problem.kinds):
        shapes = np.flatnonzero((most[:, kind] > 0) & (prices > 0))
        if len(shapes):
            knapsacks[kind] = _Knapsack(problem, kind, shapes, prices, most)
            worth[kind] = knapsacks[kind].in_parts()
    found: list[Pattern] = []
    ratio = worth / np.maximum(real, _TOLERANCE)
    decided = 0.0
    for kind in np.argsort(-ratio, kind="stable").tolist():
        if kind not in knapsacks or ratio[kind] <= decided * (1 + _TOLERANCE):
            continue
        pattern, worth[kind] = knapsacks[kind].whole(worth[kind])
        decided = max(decided, float(worth[kind] / max(real[kind], _TOLERANCE)))
        if pattern is not None:
            found.append(pattern)
    return found, worth


class _Knapsack:
    """The choice of pods that are worth most on a node of one kind."""

    def __init__(self, problem: Problem, kind: int, shapes: Ints, prices: Floats, most: Ints) -> None:
        self._problem, self._kind, self._shapes = problem, kind, shapes
        self._prices, self._most = prices[shapes], most[shapes, kind].astype(np.float64)
        used = problem.amounts[shapes].max(axis=0) > 0
        room = problem.rooms[kind, used]
        scale = np.maximum(room, 1.0)
        self._amounts, self._room = problem.amounts[shapes][:, used] / scale, room / scale

    def _solve(self, whole: Mask | None) -> Solution:
        each = len(self._room)
        program = Program(np.full(each, -np.inf), self._room, nodes=MAX_BRANCHES)
        rows = np.tile(np.arange(each), len(self._shapes))
        starts = np.arange(len(self._shapes)) * each
        program.add(-self._prices, starts, rows, self._amounts.ravel(), self._most, whole)
        return program.solve()

    def in_parts(self) -> float:
        """Return an upper bound of the worth: that of a choice of parts of pods."""
        try:
            return -self._solve(None).cost
        except Unsolved:
            return float(self._prices @ self._most)

    def whole(self, at_most: float) -> tuple[Pattern | None, float]:
        """Return the best choice, and an upper bound of its worth: they differ if the search gives up."""
        try:
            solution = self._solve(np.ones(len(self._shapes), np.bool_))
        except Unsolved:
            return None, at_most
        numbers = np.zeros(self._problem.shapes, np.int64)
        numbers[self._shapes] = np.rint(solution.values).astype(np.int64)
        pattern = Pattern.of(self._kind, numbers)
        upper = min(max(-solution.bound, -solution.cost), at_most)
        return (pattern if pattern.fits(self._problem) else None), upper
