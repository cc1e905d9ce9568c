"""Expensive expressions in a plan: the cluster's answers as far as the budget goes, and a note where it does not."""

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running

from moorage.plan.simulation import simulation

SLOW = "lists.range({}).all(x, x >= 0) && taint.key == 'zz'"
BUDGET = "not evaluated: the budget of 100000 cost units for all expensive expressions is used up"
GATES = {"AllAlpha": True}


def tainted(name: str, key: str, effect: str = "NoSchedule") -> Raw:
    return node(name, taints=[{"key": key, "value": "v", "effect": effect}])


def slow(size: int = 5_000) -> list[Raw]:
    return [{"expression": SLOW.format(size)}]


def test_a_plan_has_the_answers_of_expensive_expressions() -> None:
    plan = Plan(tainted("no", "a"), tainted("yes", "zz"), pod("p", tolerations=slow()), gates=GATES)
    assert plan.where == {"p": "yes"}
    assert not any("budget" in note for note in plan.notes)


def test_beyond_the_budget_a_plan_says_so_and_evicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "EVALUATION_BUDGET", 100_000)
    documents = [tainted(f"n{number}", f"k{number}") for number in range(3)]
    documents += [tainted("evicting", "zz", "NoExecute")]
    documents += [pod(f"p{number}", tolerations=slow(20_000 - number)) for number in range(3)]
    documents += [running("stays", "evicting", tolerations=slow(19_000))]
    plan = Plan(*documents, gates=GATES)
    assert len(plan.why) >= 2
    assert any(BUDGET in reason for reason in plan.why.values())
    assert plan.where["stays"] == "evicting"
    assert any("budget is used up" in note for note in plan.notes)
