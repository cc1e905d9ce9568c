"""Make whole nodes of a relaxed choice among fillings: what is used whole stays, the rest is chosen again, in integers.

The rest is small: no more fillings than there are shapes are used in part. It is put together greedily and by an
integer program over the known fillings, and the cheaper of both is taken.
"""

from collections import Counter

import numpy as np

from moorage.capacity.fitting.model.columns import Filled, columns_of
from moorage.capacity.fitting.model.greedy import greedy_mix
from moorage.capacity.fitting.model.highs import Program, Unsolved
from moorage.capacity.fitting.model.problem import Floats, Ints, Mix, Pattern, Problem

_WHOLE = 1e-6
MAX_BRANCHES = 200
#: Of very many fillings those that are nearest to being used are chosen among.
MAX_COLUMNS = 4_000
#: With more shapes than these, what remains is put together greedily: a choice in integers takes minutes.
MAX_SHAPES = 200


def rounded(problem: Problem, filled: Filled, unit_prices: Floats, *, gap: float) -> Mix:
    """Return a mix of whole nodes; the cheapest of those that were made."""
    found = [_floored(problem, filled, unit_prices, keep, gap) for keep in (1.0, 0.9)]
    found.append(greedy_mix(problem, filled.pod_prices, unit_prices))
    whole = [mix for mix in found if mix.is_whole and problem.keeps_bounds(mix.nodes)]
    return min(whole or found, key=lambda mix: (int(mix.left.sum()), problem.cost(mix.nodes)))


def _floored(problem: Problem, filled: Filled, unit_prices: Floats, keep: float, gap: float) -> Mix:
    """Keep a share of the whole uses of each filling, and choose the rest in integers."""
    times = np.floor(filled.used * keep + _WHOLE).astype(np.int64)
    nodes = np.zeros(problem.kinds, np.int64)
    covered = np.zeros(problem.shapes, np.int64)
    patterns: Counter[Pattern] = Counter()
    for index in np.flatnonzero(times).tolist():
        pattern, number = filled.patterns[index], int(times[index])
        patterns[pattern] += number
        nodes[pattern.kind] += number
        for shape, pods in pattern.pods:
            covered[shape] += pods * number
    rest = problem.with_numbers(np.maximum(problem.numbers - covered, 0)).with_bounds_left(nodes)
    more = [greedy_mix(rest, filled.pod_prices, unit_prices)]
    if problem.shapes <= MAX_SHAPES:
        chosen = whole_choice(rest, filled.patterns, near=filled.used, gap=gap)
        if chosen is not None:
            more.append(chosen)
    best = min(more, key=lambda mix: (int(mix.left.sum()), problem.cost(mix.nodes)))
    return Mix(nodes + best.nodes, dict(patterns + Counter(dict(best.patterns))), best.left)


def whole_choice(
    problem: Problem,
    patterns: list[Pattern],
    *,
    near: Floats | None = None,
    gap: float = 0.0,
    branches: int = MAX_BRANCHES,
) -> Mix | None:
    """Return the cheapest choice among fillings that covers all pods in whole nodes; None if there is none.

    A filling may hold more pods than there are: those places stay free.
    """
    if near is not None and len(patterns) > MAX_COLUMNS:
        order = np.argsort(-near, kind="stable")[:MAX_COLUMNS]
        patterns = [patterns[index] for index in order.tolist()]
    least = np.concatenate([problem.numbers, [one.least for one in problem.bounds]]).astype(np.float64)
    most = np.concatenate([np.full(problem.shapes, np.inf), [one.most for one in problem.bounds]])
    program = Program(least, most, gap=gap, nodes=branches)
    program.add(*columns_of(problem, patterns), integral=np.ones(len(patterns), np.bool_))
    try:
        values = np.rint(program.solve().values).astype(np.int64)
    except Unsolved:
        return None
    nodes = np.zeros(problem.kinds, np.int64)
    left = problem.numbers.copy()
    used: dict[Pattern, int] = {}
    for index in np.flatnonzero(values).tolist():
        pattern, number = patterns[index], int(values[index])
        used[pattern] = number
        nodes[pattern.kind] += number
        for shape, pods in pattern.pods:
            left[shape] -= pods * number
    return Mix(nodes, used, np.maximum(left, 0)) if problem.keeps_bounds(nodes) and not (left > 0).any() else None


def every_filling(problem: Problem, limit: int) -> list[Pattern] | None:
    """Return every filling of every kind that no pod can be added to; None if there are more than the limit."""
    found: list[Pattern] = []
    most = problem.most_on()
    for kind in range(problem.kinds):
        shapes = np.flatnonzero(most[:, kind])
        listed = _fillings(problem, kind, shapes, most[:, kind], limit - len(found))
        if listed is None:
            return None
        found += listed
    return found


def _fillings(problem: Problem, kind: int, shapes: Ints, most: Ints, limit: int) -> list[Pattern] | None:
    found: list[Pattern] = []
    steps = 0
    numbers = np.zeros(problem.shapes, np.int64)
    stack: list[tuple[int, Floats, tuple[int, ...]]] = [(0, problem.rooms[kind], ())]
    while stack:
        depth, room, chosen = stack.pop()
        steps += 1
        if steps > 20 * limit or len(found) > limit:
            return None
        if depth == len(shapes):
            numbers[:] = 0
            numbers[shapes] = chosen
            rest = problem.amounts[shapes]
            can_grow = (numbers[shapes] < most[shapes]) & (rest <= room).all(axis=1)
            if not can_grow.any():
                found.append(Pattern.of(kind, numbers))
            continue
        amounts = problem.amounts[shapes[depth]]
        for number in range(int(most[shapes[depth]]) + 1):
            left = room - amounts * number
            if (left < 0).any():
                break
            stack.append((depth + 1, left, (*chosen, number)))
    return found if len(found) <= limit else None
