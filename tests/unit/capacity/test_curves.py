"""Capacity curves on small clusters: values of a taint, thresholds, shares of pods; prices, forms."""

from __future__ import annotations

import csv
import json
from xml.etree import ElementTree

import pytest
from tests.unit.plan.planning import Plan, Raw, node, workload
from tests.unit.pools.inputs import TYPES, node_pool, read

from moorage.capacity.curving.curve import Curve, play_curve
from moorage.capacity.curving.files import curve_csv, curve_markdown, curve_svg
from moorage.capacity.curving.steps import MAX_STEPS, Axis, CurveStep, bounded
from moorage.capacity.curving.taint_axis import taint_axis
from moorage.capacity.curving.text import CurveReport, summary
from moorage.capacity.curving.workload_axes import share_axis, threshold_axis
from moorage.capacity.node_choice import NoSuchNodes, parse_choice
from moorage.plan.node_changes import ChangeError
from moorage.pools.prices import Prices

GATES = {"AllAlpha": True, "AllBeta": True}
_RISK_8 = "taints: [{key: risk, value: '8', effect: NoExecute}]"


def spot(name: str, risk: str, **labels: str) -> Raw:
    taint = {"key": "risk", "value": risk, "effect": "NoExecute"}
    made = node(name, "2", taints=[taint])
    made["metadata"]["labels"] |= {"pool": "spot", **labels}
    return made


def accepting(limit: str, name: str = "web", replicas: int = 2) -> Raw:
    toleration = {"key": "risk", "operator": "Lt", "value": limit, "effect": "NoExecute"}
    return workload("Deployment", name, "1", {"tolerations": [toleration]}, replicas=replicas)


def world() -> Plan:
    return Plan(
        spot("s1", "3"), spot("s2", "15"), node("od", "1"), accepting("5"), accepting("20", "batch"), gates=GATES
    )


def play(plan: Plan, axis: Axis, prices: Prices | None = None) -> Curve:
    return play_curve(plan.planner, plan.simulation, plan.outcome, axis, prices, workers=1)


def table(curve: Curve) -> list[tuple[str, int, int, int]]:
    return [(point.value, point.placed, point.waiting, point.evicted) for point in curve.points]


def test_taint_is_played_once_for_each_range_of_values() -> None:
    plan = world()
    curve = play(plan, taint_axis(plan.simulation, "risk", []))
    assert [(point.range, point.value) for point in curve.points] == [
        ("< 5", "3"),
        ("> 4 and < 20", "15"),
        ("> 19", "20"),
    ]
    assert curve.before.range == "as it is (3, 15)"
    assert next(point.placed for point in curve.points) == 4
    worst = curve.points[-1]
    assert (worst.placed, worst.waiting, worst.evicted) == (1, 3, 4 - curve.before.waiting - _on(plan, "od"))
    assert sum(worst.pending.values()) == 3


def _on(plan: Plan, name: str) -> int:
    return sum(found == name for found in plan.where.values())


def test_wanted_values_are_played_besides_and_nodes_are_chosen() -> None:
    plan = world()
    axis = taint_axis(plan.simulation, "risk", [parse_choice("node=s1")], values=["1", "4"])
    assert [step.value for step in axis.steps] == ["1", "4", "15", "20"] or axis.steps[2].range == "> 4 and < 20"
    assert all(change.node == "s1" for step in axis.steps for change in step.taints)


def test_new_taint_is_played_on_chosen_nodes() -> None:
    plan = Plan(node("n1"), accepting("5"), gates=GATES)
    axis = taint_axis(plan.simulation, "risk", [parse_choice("node=n1")], "NoExecute")
    assert table(play(plan, axis)) == [("4", 2, 0, 0), ("5", 0, 2, 2)]


def test_threshold_is_cut_at_the_values_of_nodes_and_pools() -> None:
    plan = world()
    axis = threshold_axis(plan.simulation, plan.planner.inventory, "risk", ["deployment/web"])
    assert [(step.value, step.range, step.is_now) for step in axis.steps] == [
        ("Lt 3", "< 4", False),
        ("Lt 5", "> 3 and < 16", True),
        ("Lt 16", "> 15", False),
    ]
    pools = read(TYPES, node_pool(more="taints: [{key: risk, value: '8', effect: NoExecute}]")).pools
    axis = threshold_axis(plan.simulation, plan.planner.inventory, "risk", ["deployment/web"], "", pools, ["7"])
    assert [step.value for step in axis.steps] == ["Lt 3", "Lt 7", "Lt 9", "Lt 16"]
    curve = play(plan, axis)
    assert curve.before.placed == curve.points[1].placed


def test_shares_split_workloads_in_proportion() -> None:
    plan = world()
    axis = share_axis(plan.simulation, plan.planner.inventory, "risk", [], "Lt 20")
    assert [step.value for step in axis.steps] == ["0 %", "25 %", "50 %", "75 %", "100 %"]
    halves = {one["metadata"]["name"]: one["spec"]["replicas"] for one in axis.steps[2].manifests}
    assert halves == {"web": 1, "web-accepts": 1, "batch": 1, "batch-accepts": 1}
    curve = play(plan, axis)
    assert [point.placed for point in curve.points] == [1, 2, 3, 4, 4]
    assert [point.placed + point.waiting for point in curve.points] == [4] * 5


def test_cost_is_that_of_nodes_in_use() -> None:
    labels = {"karpenter.sh/nodepool": "pool", "node.kubernetes.io/instance-type": "c.large"}
    labels |= {"topology.kubernetes.io/zone": "b", "karpenter.sh/capacity-type": "spot"}
    plan = Plan(spot("s1", "3", **labels), node("od", "2"), accepting("5"), gates=GATES)
    prices = Prices(read(TYPES, node_pool()).pools)
    curve = play(plan, taint_axis(plan.simulation, "risk", []), prices)
    assert [point.cost for point in curve.points] == [0.04 if _on(plan, "s1") else 0.0, 0.0]
    assert {point.unpriced for point in curve.points} <= {0, 1}
    assert "cost/h" in "\n".join(CurveReport(colour=False, width=120, everything=True).curve(curve))


def test_mix_says_what_a_threshold_costs() -> None:
    """A pod that takes risk 8 runs on the spot pool; one that demands less needs the dear pool."""
    risky = node_pool("[{key: karpenter.sh/capacity-type, operator: In, values: [spot]}]", "risky", _RISK_8)
    steady = node_pool("[{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]", "steady")
    pools = read(TYPES, risky, steady)
    plan = Plan(accepting("5"), gates=GATES)
    axis = threshold_axis(plan.simulation, plan.planner.inventory, "risk", ["deployment/web"], "", pools.pools)
    curve = play_curve(plan.planner, plan.simulation, plan.outcome, axis, workers=1, mixed=pools)
    assert [(point.value, point.mix) for point in curve.points] == [("Lt 5", 0.1), ("Lt 9", 0.02)]
    assert "costs 0.02 an hour at Lt 9, 0.1 at Lt 5" in summary(curve)
    assert [row["mix"] for row in csv.DictReader(curve_csv(curve))] == ["0.1", "0.1", "0.02"]


@pytest.mark.parametrize(
    ("workloads", "operator", "complaint"),
    [
        (["deployment/none"], "", "there is no Deployment"),
        (["deployment/plain"], "", "no toleration compares 'risk'"),
        (["deployment/web"], "Gt", "none of the workloads has a toleration Gt"),
    ],
)
def test_thresholds_that_are_not_there_are_refused(workloads: list[str], operator: str, complaint: str) -> None:
    plan = Plan(node("n"), accepting("5"), workload("Deployment", "plain", replicas=1), gates=GATES)
    with pytest.raises(ChangeError, match=complaint):
        threshold_axis(plan.simulation, plan.planner.inventory, "risk", workloads, operator)


def test_keys_that_no_node_has_need_nodes() -> None:
    plan = world()
    with pytest.raises(NoSuchNodes, match="no node has a taint 'other'; there are risk"):
        taint_axis(plan.simulation, "other", [])
    with pytest.raises(ChangeError, match="cannot be the value of a taint"):
        taint_axis(plan.simulation, "risk", [], values=["not a value"])


def test_refused_values_are_told() -> None:
    plan = world()
    axis = threshold_axis(plan.simulation, plan.planner.inventory, "risk", ["deployment/web"])
    manifest = json.loads(json.dumps(axis.steps[0].manifests[0]))
    manifest["spec"]["template"]["spec"]["tolerations"][0]["value"] = "007"
    [point] = play(
        plan, Axis("threshold", "risk", "w", "", "t", (CurveStep("Lt 007", "", manifests=(manifest,)),))
    ).points
    assert "007" in point.refused


def test_long_axes_keep_their_ends_and_what_is_now() -> None:
    steps = [CurveStep(str(number), "", is_now=number == 777) for number in range(1000)]
    kept, left_out = bounded(steps)
    assert kept[0].value == "0"
    assert kept[-1].value == "999"
    assert any(step.is_now for step in kept)
    assert len(kept) + left_out == 1000
    assert len(kept) <= MAX_STEPS + 1


def test_forms_have_every_point() -> None:
    plan = world()
    curve = play(plan, taint_axis(plan.simulation, "risk", []))
    rows = list(csv.DictReader(curve_csv(curve)))
    assert [row["value"] for row in rows] == ["", "3", "15", "20"]
    assert [int(row["placed"]) for row in rows[1:]] == [point.placed for point in curve.points]
    markdown = "\n".join(curve_markdown(curve))
    assert all(f"| {point.value} |" in markdown for point in curve.points)
    picture = ElementTree.fromstring("\n".join(curve_svg(curve)))
    texts = [one.text for one in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"3", "15", "20", "risk"} <= set(texts)
    assert summary(curve).startswith("No pod is evicted and none waits that does not wait now at 3")
