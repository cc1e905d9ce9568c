"""Choose nodes that are enough after any one of several losses: whole nodes, for pods in parts."""

from collections.abc import Sequence

import numpy as np

from moorage.capacity.fitting.model.highs import Program, Unsolved, is_installed
from moorage.capacity.fitting.model.problem import Ints, Mask, Problem, undominated

MAX_BRANCHES = 2_000
_GAP = 0.005


def robust_choice(problem: Problem, losses: Sequence[Mask]) -> tuple[Ints, float] | None:
    """Return nodes of each kind and a lower bound of the cost, so that without the kinds of any loss there is room.

    None if there is no such choice, or if HiGHS is not installed.
    """
    if not is_installed() or not losses:
        return None
    kept = _kinds_to_choose(problem, losses)
    small, lost = problem.of_kinds(kept), [mask[kept] for mask in losses]
    shapes, kinds, count = small.shapes, small.kinds, len(small.resources)
    scale = np.maximum(small.rooms.max(axis=0, initial=1.0), 1.0)
    amounts, rooms = small.amounts / scale, small.rooms / scale
    block = shapes + kinds * count
    rows_in_all = block * len(lost) + len(small.bounds)
    least, most = np.full(rows_in_all, -np.inf), np.zeros(rows_in_all)
    for number in range(len(lost)):
        least[number * block : number * block + shapes] = small.numbers
        most[number * block : number * block + shapes] = np.inf
    for number, one in enumerate(small.bounds):
        least[block * len(lost) + number], most[block * len(lost) + number] = one.least, one.most
    program = Program(least, most, gap=_GAP, nodes=MAX_BRANCHES)
    starts, rows, values = list[int](), list[int](), list[float]()
    for kind in range(kinds):
        starts.append(len(rows))
        for number, gone in enumerate(lost):
            if not gone[kind]:
                first = number * block + shapes + kind * count
                rows += range(first, first + count)
                values += (-rooms[kind]).tolist()
        for number, one in enumerate(small.bounds):
            if one.shares[kind]:
                rows.append(block * len(lost) + number)
                values.append(float(one.shares[kind]))
    program.add(small.prices, starts, rows, np.array(values), integral=np.ones(kinds, np.bool_))
    possible = small.most_on(np.maximum(small.numbers, 1)) > 0
    starts, rows, values = [], [], []
    for number, gone in enumerate(lost):
        for shape, kind in zip(*(each.tolist() for each in np.nonzero(possible & ~gone[None, :])), strict=True):
            starts.append(len(rows))
            rows.append(number * block + shape)
            values.append(1.0)
            rows += range(number * block + shapes + kind * count, number * block + shapes + (kind + 1) * count)
            values += amounts[shape].tolist()
    program.add(np.zeros(len(starts)), starts, rows, np.array(values))
    try:
        solution = program.solve()
    except Unsolved:
        return None
    nodes = np.zeros(problem.kinds, np.int64)
    nodes[kept] = np.rint(solution.values[:kinds]).astype(np.int64)
    return nodes, max(min(solution.bound, solution.cost), 0.0)


def _kinds_to_choose(problem: Problem, losses: Sequence[Mask]) -> Ints:
    """Return the kinds that no other one of the same losses replaces."""
    groups: dict[bytes, list[int]] = {}
    for kind in range(problem.kinds):
        groups.setdefault(bytes(bool(mask[kind]) for mask in losses), []).append(kind)
    kept: list[int] = []
    for members in groups.values():
        mine = np.array(members, np.int64)
        kept += mine[undominated(problem.of_kinds(mine))].tolist()
    return np.array(sorted(kept), np.int64)
