"""Laws of losses on random clusters: what a fork answers is what a plan of the same input answers, made afresh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import NODES, clusters
from tests.unit.plan.planning import Plan, Raw

from moorage.capacity import forks
from moorage.capacity.losing.distribution import percentiles
from moorage.capacity.losing.loss import play_loss
from moorage.capacity.losing.trials import Trial, play_trials, trial_of
from moorage.plan.simulation.drain import budgets_of

GATES = {"AllAlpha": True, "AllBeta": True}
DRAWS = st.lists(
    st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True).map(lambda names: tuple(sorted(names))),
    min_size=2,
    max_size=3,
    unique=True,
)


def budget(app: str, least: int) -> Raw:
    selector = {"matchLabels": {"app": app}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": app},
        "spec": {"minAvailable": least, "selector": selector},
    }


def alone(documents: list[Raw], nodes: tuple[str, ...]) -> Trial:
    """The loss in a cluster that was planned for it."""
    plan = Plan(*documents, gates=GATES)
    return trial_of(play_loss(plan.planner, plan.simulation, plan.outcome, nodes))


def law_of_trials(most: int = examples(24), drawn: st.SearchStrategy[list[tuple[str, ...]]] = DRAWS) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(clusters(), drawn, st.integers(0, 2))
    def law(documents: list[Raw], draws: list[tuple[str, ...]], least: int) -> None:
        world = [*documents, budget("w0", least), budget("w1", 1)]
        plan = Plan(*world, gates=GATES)
        found = play_trials(plan.planner, plan.simulation, plan.outcome, draws, workers=1)
        assert found == {nodes: alone(world, nodes) for nodes in draws}

    law()


def test_losses_in_forks_are_those_of_plans_made_for_them() -> None:
    law_of_trials()


def test_losses_of_a_cluster_that_lost_others_before_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(work: Callable[[], Any]) -> Any:
        return work()

    one_by_one: st.SearchStrategy[list[tuple[str, ...]]]
    one_by_one = st.permutations(NODES).map(lambda names: [(name,) for name in names])
    monkeypatch.setattr(forks, "in_fork", spoil)
    assert_notices(lambda: law_of_trials(50, one_by_one))


def test_a_budget_is_broken_when_fewer_are_healthy_than_it_demands() -> None:
    """The numbers of the watch are those of the disruption controller."""

    @settings(LAW_SETTINGS, max_examples=examples(24))
    @given(clusters(), st.sampled_from(NODES), st.integers(0, 3))
    def law(documents: list[Raw], lost: str, least: int) -> None:
        plan = Plan(*documents, budget("w0", least), gates=GATES)
        before = {one.name: one for key in _pods(plan) for one in budgets_of(plan.simulation, key)}
        loss = play_loss(plan.planner, plan.simulation, plan.outcome, [lost]).loss
        for one in loss.budgets:
            assert one.healthy < one.desired
            assert one.name not in before or one.healthy < before[one.name].current_healthy

    law()


def _pods(plan: Plan) -> list[str]:
    return [line.key for line in plan.outcome.pods if line.is_present]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40))
def test_percentiles_are_numbers_that_occur_and_enough_are_no_higher(numbers: list[int]) -> None:
    found = percentiles(numbers)
    for share, value in ((50, found.p50), (90, found.p90), (95, found.p95), (99, found.p99)):
        assert value in numbers
        assert sum(number <= value for number in numbers) * 100 >= share * len(numbers)
        assert sum(number < value for number in numbers) * 100 < share * len(numbers)
    assert found.most == max(numbers)
