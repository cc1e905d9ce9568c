"""Say which workloads make a mix dear: what their pods cost at the bound, and what it would be without their rules."""

from collections import Counter

import msgspec
import numpy as np

from moorage.capacity.fitting.fit import Fitted
from moorage.capacity.fitting.model.fluid import relax
from moorage.capacity.fitting.model.problem import Ints, Problem

_WORTH_NAMING = 1e-6
MAX_RELAXED = 40


class DearWorkload(msgspec.Struct, frozen=True, rename="camel"):
    """What a workload costs an hour at the bound: `cost` its share, `saved_without` what is saved if it is gone.

    `saved_anywhere` is saved if its pods could run on every node with room: what its tolerations, affinity and volumes
    demand.
    """

    workload: str
    pods: int
    cost: float
    saved_without: float
    saved_anywhere: float


def dear_workloads(fitted: Fitted) -> list[DearWorkload]:
    """Return the workloads by what they cost, dear ones first."""
    if fitted.shapes is None or fitted.solved is None:
        return []
    problem, prices = fitted.shapes.problem, fitted.solved.relaxation.pod_prices
    pods: dict[str, Ints] = {}
    for index, group in enumerate(fitted.shapes.waiting):
        for one in group:
            for workload, number in one.workloads.items():
                pods.setdefault(workload, np.zeros(problem.shapes, np.int64))[index] += number
    base = relax(problem)
    if base is None:
        return []
    order = sorted(pods, key=lambda name: -float(prices @ pods[name]))
    total = Counter({name: int(pods[name].sum()) for name in pods})
    found = []
    for name in order[:MAX_RELAXED]:
        numbers = pods[name]
        without = relax(problem.with_numbers(problem.numbers - numbers))
        anywhere = relax(_anywhere(problem, numbers))
        found.append(
            DearWorkload(
                name,
                total[name],
                float(prices @ numbers),
                _saved(base.cost, without.cost if without is not None else base.cost),
                _saved(base.cost, anywhere.cost if anywhere is not None else base.cost),
            )
        )
    return found


def _saved(before: float, after: float) -> float:
    saved = before - after
    return saved if saved > _WORTH_NAMING * max(before, 1.0) else 0.0


def _anywhere(problem: Problem, numbers: Ints) -> Problem:
    """Return the problem with these pods as shapes of their own, which every node with room takes."""
    mine = np.flatnonzero(numbers)
    return msgspec.structs.replace(
        problem,
        numbers=np.concatenate([problem.numbers - numbers, numbers[mine]]),
        amounts=np.concatenate([problem.amounts, problem.amounts[mine]]),
        takes=np.concatenate([problem.takes, np.ones((len(mine), problem.kinds), np.bool_)]),
    )
