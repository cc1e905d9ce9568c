"""Problems of very many shapes: the search is bounded, and the mix still holds all pods."""

from typing import Any

import numpy as np
import pytest

from moorage.capacity.fitting.model import columns, rounding
from moorage.capacity.fitting.model.highs import is_installed
from moorage.capacity.fitting.model.problem import Problem
from moorage.capacity.fitting.model.solve import solve

pytestmark = pytest.mark.skipif(not is_installed(), reason="without HiGHS nothing is searched")
SHAPES, KINDS = 12, 3


def drawn_problem(seed: int) -> Problem:
    random = np.random.default_rng(seed)
    amounts = np.stack([random.integers(1, 40, SHAPES), random.integers(1, 40, SHAPES)], 1).astype(np.float64)
    rooms = np.stack([random.integers(40, 90, KINDS), random.integers(40, 90, KINDS)], 1).astype(np.float64)
    prices = rooms.sum(axis=1) * random.uniform(0.8, 1.2, KINDS)
    takes = np.ones((SHAPES, KINDS), np.bool_)
    return Problem(("cpu", "memory"), random.integers(1, 9, SHAPES), amounts, rooms, takes, prices)


def test_rounds_that_search_exactly_are_fewer_with_many_shapes() -> None:
    assert [columns.most_exact_rounds(shapes) for shapes in (1, 100, 200, 456, 10_000)] == [80, 80, 20, 8, 8]


def test_a_problem_of_many_shapes_is_searched_in_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[int] = []
    chosen: list[int] = []
    search, choose = columns.exact_fillings, rounding.whole_choice

    def searching(*given: Any) -> Any:
        searched.append(1)
        return search(*given)

    def choosing(*given: Any, **more: Any) -> Any:
        chosen.append(1)
        return choose(*given, **more)

    monkeypatch.setattr(columns, "exact_fillings", searching)
    monkeypatch.setattr(rounding, "whole_choice", choosing)
    monkeypatch.setattr("moorage.capacity.fitting.model.solve.MAX_FILLINGS", 10)
    problem = drawn_problem(1)
    thorough = solve(problem, near=0.0)
    rounds = len(searched)
    assert thorough is not None
    assert chosen
    searched.clear()
    chosen.clear()
    monkeypatch.setattr(columns, "MANY_SHAPES", 1)
    monkeypatch.setattr(rounding, "MAX_SHAPES", SHAPES - 1)
    bounded = solve(problem, near=0.0)
    assert bounded is not None
    assert len(searched) <= min(rounds, 8)
    assert not chosen
    assert bounded.mix.is_whole
    assert bounded.bound <= min(thorough.cost, bounded.cost)
