"""Laws of plans on random clusters: the same twice, nobody crowded, nobody moved without need, nothing lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload

from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.report.plain import plain
from moorage.plan.simulation import simulation as simulations
from moorage.plan.what_if import Changes

EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
TAINTS = st.lists(
    st.builds(lambda key, effect: {"key": key, "effect": effect}, st.sampled_from("ab"), EFFECTS),
    max_size=2,
    unique_by=lambda taint: (taint["key"], taint["effect"]),
)
TOLERATIONS = st.lists(st.builds(lambda key: {"key": key, "operator": "Exists"}, st.sampled_from("ab")), max_size=2)
CPU = st.sampled_from(["100m", "500m", "1", "3"])


@st.composite
def clusters(draw: st.DrawFn) -> list[Raw]:
    names = [f"n{i}" for i in range(draw(st.integers(1, 4)))]
    nodes = [node(name, draw(st.sampled_from(["1", "2", "4"])), taints=draw(TAINTS)) for name in names]
    bound = [
        running(f"r{i}", draw(st.sampled_from(names)), ("ReplicaSet", "rs"), cpu=draw(CPU), labels={"app": "rs"})
        for i in range(draw(st.integers(0, 2)))
    ]
    waiting = [pod(f"p{i}", draw(CPU), tolerations=draw(TOLERATIONS)) for i in range(draw(st.integers(0, 3)))]
    kinds = draw(st.lists(st.sampled_from(["Deployment", "StatefulSet", "DaemonSet"]), max_size=2))
    loads = []
    for number, kind in enumerate(kinds):
        fields: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": draw(st.integers(0, 3))}
        loads.append(workload(kind, f"w{number}", draw(CPU), {"tolerations": draw(TOLERATIONS)}, **fields))
    return [*nodes, *bound, *waiting, *loads]


def as_text(outcome: Outcome) -> str:
    return json.dumps(plain(outcome) | {"notes": []})


def law_of_determinism() -> None:
    @LAW_SETTINGS
    @given(clusters(), st.integers(0, 3))
    def law(documents: list[Raw], seed: int) -> None:
        assert as_text(Plan(*documents, seed=seed).outcome) == as_text(Plan(*documents, seed=seed).outcome)

    law()


def test_the_same_input_and_seed_give_the_same_plan() -> None:
    law_of_determinism()


def test_names_that_are_made_up_at_random_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "Random", lambda seed: random.Random())
    assert_notices(law_of_determinism)


def law_of_room(place: Callable[..., Plan]) -> None:
    @LAW_SETTINGS
    @given(clusters())
    def law(documents: list[Raw]) -> None:
        crowded = {raw["spec"]["nodeName"] for raw in documents if raw["spec"].get("nodeName")}
        for line in place(*documents).outcome.nodes:
            for usage in line.resources.values():
                assert line.name in crowded or usage.requested <= usage.allocatable

    law()


def crammed(*documents: Raw) -> Plan:
    """A plan that puts whatever waits on some node or other."""
    plan = Plan(*documents)
    simulation = plan.simulation
    for waiting in simulation.pods():
        if not waiting.view.spec.nodeName:
            simulation.api.bind(waiting.key, waiting.uid, next(iter(simulation.cluster.nodes.slot_of)))
    simulation.scheduling.take_in()
    plan.outcome = outcome_of(simulation, plan.planner.inventory)
    return plan


def test_no_node_is_given_more_than_it_has() -> None:
    law_of_room(Plan)
    assert_notices(lambda: law_of_room(crammed))


def law_of_rest(changes: Callable[[list[Raw]], Changes]) -> None:
    """Who has a node keeps it, as long as nothing happens; every pod is somewhere or is told why not."""

    @LAW_SETTINGS
    @given(clusters())
    def law(documents: list[Raw]) -> None:
        plan = Plan(*documents)
        before = plan.where
        assert all(one.node or one.message for one in plan.outcome.pods)
        assert plan.what_if(changes(documents)).is_empty
        assert plan.where == before

    law()


def test_without_a_change_nothing_moves() -> None:
    law_of_rest(lambda documents: Changes())
    assert_notices(lambda: law_of_rest(lambda documents: Changes(removes=("n0",))))
