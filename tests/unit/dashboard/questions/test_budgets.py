"""The question `budgets`: which budgets would keep a drain waiting, and on which node."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, workload

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.plan.what_if import Changes

Raw = dict[str, Any]


def budget(name: str, least: int, app: str = "web") -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": app}}},
    }


def ask(*objects: Raw, arguments: Raw | None = None) -> tuple[Plan, Raw]:
    plan = Plan(*objects)
    base = Base(plan.planner, plan.simulation, plan.outcome)
    (part,) = parts_of(QUESTIONS["budgets"], base, arguments or {})
    return plan, part


@pytest.mark.parametrize(("least", "blocks"), [(1, False), (2, True), (5, True)])
def test_a_budget_without_room_blocks_the_drain_that_is_named(least: int, blocks: bool) -> None:
    room = [node("n1"), node("n2", cpu="0")]
    plan, part = ask(*room, workload("Deployment", "web", replicas=2), budget("web", least))
    assert bool(part["budgets"]) is blocks
    for one in part["budgets"]:
        assert (one["budget"], one["node"]) == ("default/web", "n1")
        blocked = plan.what_if(Changes(drains=(one["node"],))).blocked
        assert one["pod"] in {each.pod for each in blocked}


def test_budgets_of_no_pod_of_waiting_pods_and_of_daemons_block_nothing() -> None:
    objects = [
        node("n1"),
        workload("Deployment", "huge", "64", replicas=1),
        workload("DaemonSet", "agent", "100m"),
        budget("nobody", 1, "absent"),
        budget("huge", 1, "huge"),
        budget("agent", 1, "agent"),
    ]
    _, part = ask(*objects)
    assert part["budgets"] == []
    assert part["done"]


def test_arguments_are_refused() -> None:
    _, part = ask(node("n1"), arguments={"budget": "web"})
    assert part["error"] == "budgets takes no arguments, got budget"
