"""Laws of upgrades of pools: what completes is upgraded as a whole, budgets hold, and single steps do the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_worlds import Dimension, World, worlds

from moorage.client.protocol import Object
from moorage.control.framework.workloads import is_active, ready_condition
from moorage.match.label_selector import compile_label_selector
from moorage.model.kinds import KINDS
from moorage.plan import pool_upgrade
from moorage.plan.node_changes import LabelChange, label
from moorage.plan.planner import Planner, Settings
from moorage.plan.pool_upgrade import PoolUpgrade, upgrade_pool
from moorage.plan.simulation.drain import DRAIN, drain, uncordon
from moorage.plan.simulation.simulation import Simulation

DIMENSIONS = frozenset({Dimension.BUDGETS, Dimension.PRIORITIES})
VERSION = "example.com/version"
CHANGE = PoolUpgrade("*", labels=(LabelChange("", VERSION, "v2"),), forces=True)


def settled(world: World) -> Simulation:
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects(world.documents)
    simulation = planner.build()
    simulation.settle()
    return simulation


def watch_budgets(simulation: Simulation) -> list[str]:
    """Return a list that gets every budget that a drain leaves with fewer healthy pods than it demands."""
    violated: list[str] = []

    def changed(kind: Any, old: Object | None, new: Object | None) -> None:
        begins = kind is KINDS.POD and old is not None and old.view.metadata.deletionTimestamp is None
        leaves = begins and (new is None or new.view.metadata.deletionTimestamp is not None)
        if not leaves or old is None or simulation.api.actor != DRAIN or ready_condition(old.view) is None:
            return
        for found in simulation.world.in_namespace(KINDS.POD_DISRUPTION_BUDGET, old.namespace):
            selector = compile_label_selector(found.view.spec.selector)
            if selector.match(old.view.metadata.labels):
                pods = simulation.world.in_namespace(KINDS.POD, old.namespace)
                healthy = sum(
                    is_active(pod.view) and ready_condition(pod.view) is not None
                    for pod in pods
                    if selector.match(pod.view.metadata.labels)
                )
                if healthy < found.view.spec.minAvailable:
                    violated.append(found.key)

    simulation.api.listeners.append(changed)
    return violated


def placed(simulation: Simulation) -> dict[str, str]:
    return {pod.key: pod.view.spec.nodeName for pod in simulation.pods()}


def law_of_upgrades() -> None:
    @LAW_SETTINGS
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        simulation = settled(world)
        violated = watch_budgets(simulation)
        upgrade = upgrade_pool(simulation, CHANGE)
        assert not violated
        if not upgrade.completes:
            assert upgrade.stops_at
            return
        nodes = list(simulation.world.all(KINDS.NODE))
        assert all(
            node.view.metadata.labels.get(VERSION) == "v2" and not node.view.spec.unschedulable for node in nodes
        )
        single = settled(world)
        for name in upgrade.nodes:
            assert not drain(single, [name])
            single.settle()
            label(single, LabelChange(name, VERSION, "v2"))
            uncordon(single, name)
            single.settle()
        assert placed(single) == placed(simulation)

    law()


def test_a_completed_upgrade_has_relabelled_all_nodes_kept_budgets_and_equals_its_single_steps() -> None:
    law_of_upgrades()


def test_nodes_that_are_not_labelled_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_upgrade, "label", lambda *arguments: None)
    assert_notices(law_of_upgrades)
