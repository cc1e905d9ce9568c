"""Losses of nodes on small clusters: who leaves, who waits and why, budgets, values that are raised, draws."""

from __future__ import annotations

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, workload

from moorage.capacity.losing.distribution import distribution_of
from moorage.capacity.losing.loss import Loss, PlayedLoss, lost_nodes, play_loss
from moorage.capacity.losing.markdown import distribution_markdown, loss_markdown
from moorage.capacity.losing.text import LossReport
from moorage.capacity.losing.trials import draw_nodes, play_trials
from moorage.capacity.node_choice import NoSuchNodes, parse_choice
from moorage.capacity.raised_value import parse_value
from moorage.plan.node_changes import ChangeError

GATES = {"AllAlpha": True, "AllBeta": True}
RISK = {"key": "risk", "value": "3", "effect": "NoExecute"}


def tolerating(limit: str, seconds: int | None = None) -> Raw:
    one: Raw = {"key": "risk", "operator": "Lt", "value": limit, "effect": "NoExecute"}
    return one if seconds is None else {**one, "tolerationSeconds": seconds}


def budget(app: str, **spec: object) -> Raw:
    selector = {"matchLabels": {"app": app}}
    about = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": app}}
    return {**about, "spec": {"selector": selector, **spec}}


def lost(plan: Plan, *choices: str, value: str | None = None) -> PlayedLoss:
    nodes = lost_nodes(plan.simulation, [parse_choice(text) for text in choices])
    raised = parse_value(value) if value is not None else None
    return play_loss(plan.planner, plan.simulation, plan.outcome, nodes, raised, " ".join(choices))


def labelled(name: str, cpu: str, **labels: str) -> Raw:
    made = node(name, cpu)
    made["metadata"]["labels"] |= {key.replace("__", "/").replace("_", "."): value for key, value in labels.items()}
    return made


def zones(*more: Raw) -> Plan:
    nodes = [
        labelled(f"n{at}", "3" if zone == "b" else "2", topology_kubernetes_io__zone=zone)
        for at, zone in enumerate("aab")
    ]
    return Plan(*nodes, workload("Deployment", "web", replicas=5), *more, gates=GATES)


def test_pods_of_a_lost_zone_move_as_long_as_there_is_room() -> None:
    loss: Loss = lost(zones(), "zone=a").loss
    assert loss.nodes == ("n0", "n1")
    moved = [one.new_node for one in loss.evicted].count("n2")
    assert 0 < moved == len(loss.evicted) - len(loss.pending)
    assert "Insufficient cpu" in loss.pending[0].message
    assert loss.harms


def test_pods_without_a_controller_are_not_replaced() -> None:
    plan = Plan(node("n0", "2"), pod("alone"), gates=GATES)
    loss = lost(plan, "node=n0").loss
    assert [line.name for line in loss.gone] == ["alone"]
    assert loss.harms


def test_a_budget_is_broken_by_a_loss_and_whole_again_when_replacements_run() -> None:
    nodes = [node(f"n{at}", "4") for at in range(2)]
    spread = {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname"}]}
    spread["topologySpreadConstraints"][0] |= {
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = workload("Deployment", "web", pods=spread, replicas=2)
    loss = lost(Plan(*nodes, web, budget("web", minAvailable=2), gates=GATES), "node=n0").loss
    (broken,) = loss.budgets
    assert (broken.name, broken.healthy, broken.desired, broken.lasts) == ("default/web", 1, 2, False)
    assert "1 < 2" in broken.text
    assert not loss.pending


def test_a_raised_value_evicts_when_thresholds_say_so() -> None:
    nodes = [node("spot", "4", taints=[RISK], pool="spot"), node("safe", "4")]
    late = workload("Deployment", "late", pods={"tolerations": [tolerating("20", 60)], "nodeName": ""}, replicas=1)
    soon = workload("Deployment", "soon", pods={"tolerations": [tolerating("10")]}, replicas=1)
    for one in (late, soon):
        one["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "spot"}
    plan = Plan(*nodes, late, soon, gates=GATES)
    assert set(plan.where.values()) == {"spot"}
    loss = lost(plan, "pool=spot", value="risk=15").loss
    first = loss.evicted[0]
    assert (first.workload, first.after_seconds) == ("Deployment default/soon", 0)
    assert "15 < 10 is false" in loss.evicted[0].because


def test_a_raised_value_keeps_the_effect_of_the_taint() -> None:
    plan = Plan(node("n0", taints=[{**RISK, "effect": "NoSchedule"}]), node("n1"), gates=GATES)
    played = lost(plan, "node=n0", value="risk=9")
    assert {taint for one in played.outcome.nodes for taint in one.taints} == {"risk=9:NoSchedule"}


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("zone=c", "none of the 3 nodes has zone=c; there are a, b"),
        ("node=x", "there is no node 'x' in the input; there are n0, n1, n2"),
        ("disk=ssd", "none of the 3 nodes has a label for 'disk'"),
        ("zone=a,node=n2", "none of the 3 nodes meets all of zone=a,node=n2"),
        ("zone", "'zone' is not of the form zone=NAME, pool=NAME, node=NAME or LABEL=VALUE"),
    ],
)
def test_why_there_is_nothing_to_lose(choice: str, reason: str) -> None:
    with pytest.raises(NoSuchNodes) as raised:
        lost(zones(), choice)
    assert str(raised.value) == reason


def test_a_pool_is_named_by_labels_of_clouds_and_of_any_domain() -> None:
    plan = Plan(
        labelled("a", "1", karpenter_sh__nodepool="spot"),
        labelled("b", "1", example_com__pool="spot"),
        labelled("c", "1", pool="x"),
    )
    assert lost_nodes(plan.simulation, [parse_choice("pool=spot")]) == ["a", "b"]


@pytest.mark.parametrize("text", ["risk", "risk=", "=3", "risk=3:Never"])
def test_values_that_are_not_of_the_form(text: str) -> None:
    with pytest.raises(ChangeError):
        parse_value(text)


@pytest.mark.parametrize(("number", "times"), [(0, 5), (4, 5), (1, 0), (1, 10**9)])
def test_draws_are_bounded(number: int, times: int) -> None:
    with pytest.raises(ChangeError):
        draw_nodes(["a", "b", "c"], number, times, 0)


def test_many_losses_are_summed_up_and_the_worst_can_be_played() -> None:
    plan = zones(budget("web", minAvailable=5))
    draws = draw_nodes(["n0", "n1", "n2"], 1, 30, 7)
    assert draws == draw_nodes(["n2", "n1", "n0"], 1, 30, 7)
    trials = play_trials(plan.planner, plan.simulation, plan.outcome, draws, workers=2)
    found = distribution_of(draws, trials, 3, 7)
    assert (found.distinct, found.times) == (3, 30)
    assert found.budgets[0].name == "default/web"
    worst = lost(plan, *found.replay)
    assert len(worst.loss.pending) == found.worst.waiting == found.pending.most
    text = "\n".join(LossReport(width=200).distribution(found, worst, "moorage capacity lose x node=n0"))
    assert "Workloads that are hit most" in text
    assert "play it: moorage capacity lose x node=n0" in text
    assert any("harm nothing" in line for line in distribution_markdown(found, "moorage"))


def test_the_report_of_a_loss_has_every_part() -> None:
    played = lost(zones(budget("web", minAvailable=5)), "zone=a")
    text = "\n".join(LossReport(width=200).loss(played))
    for part in ("Lose zone=a: 2 nodes (n0, n1)", "Evicted and moved", "Pending", "Budgets below what they demand"):
        assert part in text
    assert any("| Deployment default/web |" in line for line in loss_markdown(played.loss))
