"""Solve linear programs with HiGHS, if the extra `moorage[capacity]` is installed: one thread, equal answers."""

from functools import cache
from typing import Any

import msgspec
import numpy as np

from moorage.capacity.fitting.model.problem import Floats, Mask

HOW_TO_INSTALL = "pip install 'moorage[capacity]'"
_OPTIMAL = "kOptimal"


class Unsolved(Exception):
    """Why a linear program has no solution, as HiGHS calls it."""


class Solution(msgspec.Struct, frozen=True, eq=False):
    """Values of columns, the dual of each row, the objective, and the bound of an integer program."""

    values: Floats
    duals: Floats
    cost: float
    bound: float


@cache
def highspy() -> Any:
    """Return the module; None if it is not installed."""
    try:
        import highspy as module
    except ImportError:
        return None
    return module


def is_installed() -> bool:
    return highspy() is not None


class Program:
    """A linear program that grows by columns: minimize costs · x with least <= rows · x <= most and x >= 0."""

    def __init__(self, least: Floats, most: Floats, *, gap: float = 0.0, nodes: int = 0) -> None:
        self._module = highspy()
        self._highs = self._module.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("mip_rel_gap", gap)):
            self._highs.setOptionValue(name, value)
        if nodes:
            self._highs.setOptionValue("mip_max_nodes", nodes)
        infinite = self._module.kHighsInf
        least, most = np.where(np.isinf(least), -infinite, least), np.where(np.isinf(most), infinite, most)
        none: Any = np.zeros(0, np.int32)
        rows = len(least)
        self._highs.addRows(rows, least, most, 0, np.zeros(rows, np.int32), none, np.zeros(0, np.float64))
        self._columns = 0

    def add(
        self,
        costs: Floats,
        starts: Any,
        rows: Any,
        values: Floats,
        most: Floats | None = None,
        integral: Mask | None = None,
    ) -> None:
        """Add columns in compressed form: the entries of column j begin at starts[j]."""
        number = len(costs)
        if not number:
            return
        upper = np.full(number, self._module.kHighsInf) if most is None else most
        self._highs.addCols(
            number,
            costs,
            np.zeros(number),
            upper,
            len(rows),
            np.asarray(starts, np.int32),
            np.asarray(rows, np.int32),
            np.asarray(values, np.float64),
        )
        if integral is not None:
            kind = self._module.HighsVarType
            for column in np.flatnonzero(integral).tolist():
                self._highs.changeColIntegrality(self._columns + column, kind.kInteger)
        self._columns += number

    def set_costs(self, costs: Floats) -> None:
        indexes = np.arange(len(costs), dtype=np.int32)
        self._highs.changeColsCost(len(costs), indexes, costs)

    def set_most(self, most: Floats) -> None:
        indexes = np.arange(len(most), dtype=np.int32)
        self._highs.changeColsBounds(len(most), indexes, np.zeros(len(most)), most)

    def solve(self) -> Solution:
        """Return the solution. Raises Unsolved."""
        self._highs.run()
        status, found = self._highs.getModelStatus(), self._highs.getInfo()
        if status.name != _OPTIMAL and not (status.name == "kSolutionLimit" and found.primal_solution_status == 2):
            raise Unsolved(self._highs.modelStatusToString(status))
        solution = self._highs.getSolution()
        duals = np.array(solution.row_dual)
        cost = float(found.objective_function_value)
        return Solution(np.array(solution.col_value), duals, cost, float(found.mip_dual_bound))
