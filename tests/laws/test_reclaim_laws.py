"""Laws of reclaimed nodes on random clusters: they can really go, and no other can."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import NODES, clusters
from tests.laws.test_loss_laws import budget
from tests.unit.plan.planning import Plan, Raw

from moorage.capacity.losing.loss import GONE, WAITING
from moorage.capacity.reclaiming import reclaim
from moorage.capacity.reclaiming.reclaim import Reclaimer
from moorage.plan.what_if import Changes

GATES = {"AllAlpha": True, "AllBeta": True}


def harms(plan: Plan, name: str) -> bool:
    """Drain and remove a node of a plan, and say whether a pod waits, is gone or may not be evicted."""
    outcome, difference, _ = plan.planner.what_if(
        plan.simulation, plan.outcome, Changes(drains=(name,), removes=(name,)), []
    )
    plan.outcome = outcome
    return bool(difference.blocked or difference.comparison.of(*WAITING, *GONE))


def law_of_nodes(most: int = examples(16)) -> None:
    @settings(LAW_SETTINGS, max_examples=most)
    @given(clusters(), st.integers(0, 2))
    def law(documents: list[Raw], least: int) -> None:
        world = [*documents, budget("w0", least)]
        plan = Plan(*world, gates=GATES)
        found = Reclaimer(plan.planner, plan.simulation, plan.outcome, ()).reclaim(NODES)
        again = Plan(*world, gates=GATES)
        for node in found.nodes:
            assert not harms(again, node.name)
        assert {one.name for one in found.nodes} | {one.name for one in found.kept} == set(NODES)
        for kept in found.kept[:1]:
            assert kept.reason
            if not kept.reason.startswith(("pod ", "the node ")):
                assert harms(again, kept.name)

    law()


def test_nodes_that_go_harm_no_pod_and_those_that_stay_would() -> None:
    law_of_nodes()


def test_a_node_whose_pods_wait_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reclaim, "WAITING", ())
    assert_notices(lambda: law_of_nodes(60))
