"""Mixes that the scheduler does not fill as the model does: nodes are added until nothing waits, and some go again."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.plan.planning import Raw, spec
from tests.unit.plan.pools.pool_worlds import node_pool, planner_of, pools_of
from tests.unit.pools.inputs import instance_type, instance_types

from moorage.capacity.fitting import trial
from moorage.capacity.fitting.fit import Fitted, fit
from moorage.capacity.fitting.leaner import MAX_PLANS, leaner
from moorage.capacity.fitting.trial import MixTrials, Played
from moorage.capacity.fitting.worlds import FitWorld


def pods(name: str, number: int, cpu: str) -> list[Raw]:
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{index}", "namespace": "default"},
            "spec": spec(cpu),
        }
        for index in range(number)
    ]


def pools(most: int = 1000) -> tuple[str, str]:
    only = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    kind = instance_type("m", "9", "64Gi", on_demand={"a": 1.0})
    return node_pool("main", [only], limits={"nodes": str(most)}), instance_types(kind)


def fitted_of(documents: list[Raw], most: int = 1000) -> Fitted:
    return fit(FitWorld(planner_of(*documents), keeps_nodes=False), pools_of(*pools(most)).pools)


#: The scheduler spreads small pods over all nodes before the large one comes, until there are more nodes than pods.
LATE = [*pods("small", 60, "1"), *pods("large", 1, "8")]


def test_nodes_are_added_for_more_pods_than_wait_where_others_take_them() -> None:
    fitted = fitted_of(LATE)
    assert fitted.played is not None
    assert fitted.played.is_whole
    assert fitted.played.nodes.sum() == 61


def test_a_repair_that_never_helps_ends_and_says_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "MAX_STALLED", 2)
    fitted = fitted_of(LATE)
    assert fitted.played is None
    assert [one.key for one in fitted.left] == ["default/large-0"]
    assert "Insufficient cpu" in fitted.reasons["default/large-0"]
    assert fitted.trials == 3


def test_more_than_a_pool_may_start_is_not_asked_for() -> None:
    fitted = fitted_of(LATE, most=20)
    assert fitted.played is None
    assert [one.key for one in fitted.left] == ["default/large-0"]


def played_with(nodes: int) -> tuple[Fitted, MixTrials, Played]:
    fitted = fitted_of(pods("small", 24, "1"))
    trials = MixTrials(fitted.world, fitted.kinds)
    return fitted, trials, trials.play(np.array([nodes]))


def test_nodes_that_are_hardly_used_are_taken_away() -> None:
    fitted, trials, played = played_with(30)
    assert fitted.shapes is not None
    left = leaner(fitted.shapes.problem, trials, played)
    assert left.is_whole
    assert left.nodes.sum() == 3
    assert trials.number <= 1 + MAX_PLANS


def test_nothing_is_taken_away_that_is_needed() -> None:
    fitted, trials, played = played_with(3)
    assert fitted.shapes is not None
    assert leaner(fitted.shapes.problem, trials, played) is played
