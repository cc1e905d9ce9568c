"""The questions `curve` and `pools`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, workload

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.capacity import curve as curve_question

GATES = {"AllAlpha": True, "AllBeta": True}
RISK = {"key": "risk", "value": "3", "effect": "NoExecute"}


def base(*more: Raw) -> Base:
    tolerations = [{"key": "risk", "operator": "Lt", "value": "5", "effect": "NoExecute"}]
    web = workload("Deployment", "web", "1", {"tolerations": tolerations}, replicas=2)
    plan = Plan(node("n0", "2", taints=[RISK]), web, *more, gates=GATES)
    return Base(plan.planner, plan.simulation, plan.outcome)


def asked(question: str, about: Base, **arguments: Any) -> list[dict[str, Any]]:
    return list(parts_of(QUESTIONS[question], about, arguments))


def test_points_come_after_the_cluster_as_it_is() -> None:
    axis, before, *points, end = asked("curve", base(), key="risk")
    assert (axis["steps"], axis["priced"]) == (2, False)
    assert (before["part"], before["range"]) == ("before", "as it is (3)")
    assert [(point["value"], point["evicted"]) for point in points] == [("3", 0), ("5", 2)]
    assert end == {"part": "end", "complete": True, "done": True}


def test_threshold_and_share_are_curves_of_workloads() -> None:
    axis, *_ = asked("curve", base(), form="threshold", key="risk", workload="deployment/default/web")
    assert axis["what"] == "threshold Lt of Deployment default/web for risk"
    *_, last, _ = asked("curve", base(), form="share", key="risk")
    assert (last["value"], last["placed"]) == ("100 %", 2)


def test_values_that_take_too_long_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curve_question, "MAX_SECONDS", 0.0)
    parts = asked("curve", base(), key="risk")
    assert [part["part"] for part in parts] == ["axis", "end"]
    assert parts[-1]["complete"] is False


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "curve takes"),
        ({"key": "risk", "form": "x"}, "curve takes"),
        ({"key": "other"}, "no node has a taint 'other'"),
        ({"key": "risk", "nodes": [["zone"]]}, "nodes: must be a list"),
        ({"key": "risk", "form": "threshold", "workload": 3}, "curve takes"),
        ({"key": "risk", "form": "threshold", "workload": "deployment/none"}, "there is no Deployment"),
    ],
)
def test_bad_arguments_are_one_line(arguments: dict[str, Any], complaint: str) -> None:
    [part] = asked("curve", base(), **arguments)
    assert part["error"].startswith(complaint)
    assert part["done"]


def test_pools_have_their_nodes_and_prices() -> None:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    group: Raw = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": "spot"}}
    group["spec"] = {"price": 0.03, "maxSize": 3, "template": {"status": {"capacity": capacity}}}
    [part] = asked("pools", base(node("p0", "4", pool="spot"), group))
    [pool] = part["pools"]
    assert (pool["name"], pool["nodes"], pool["cost"], pool["more"]) == ("spot", ["p0"], 0.03, 2)
    assert pool["cheapest"]["price"] == 0.03
    assert (part["others"], part["cost"], part["unpriced"]) == (["n0"], 0.03, 1)
    assert json.dumps(part)


def group(name: str = "spot", **fields: Any) -> Raw:
    template = {"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "20"}}}
    about = {"apiVersion": "capacity.moorage.dev/v1", "kind": "NodeGroup", "metadata": {"name": name}}
    return {**about, "spec": {"price": 0.03, "template": template, **fields}}


def test_a_pool_has_the_node_that_it_could_start_next_or_the_reason_why_it_starts_none() -> None:
    [part] = asked("pools", base(node("p0", "4", pool="spot"), group(maxSize=3), group("full", maxSize=0)))
    spot, full = (pool["next"] for pool in part["pools"])
    assert (spot["price"], spot["kinds"], spot["capacity"]["cpu"]) == (0.03, 1, "4")
    assert full == {"why": "maxSize is 0, and it has 0"}


def test_an_autoscaler_works_in_a_fork() -> None:
    huge = workload("Deployment", "huge", "99")
    about = Plan(node("n0", "2"), workload("Deployment", "web", "1500m", replicas=4), huge, group(maxSize=9)).planner
    [part] = asked("autoscaling", Base(about, about.build()))
    assert part["autoscalers"] == [part["autoscaler"]] == ["cluster-autoscaler"]
    assert part["summary"].startswith("cluster-autoscaler in 30m0s: 2 nodes added")
    [step] = part["steps"]
    assert (step["did"], step["nodes"]) == ("added", ("spot-1", "spot-2"))
    [helpless] = part["notHelped"]
    assert (helpless["pools"], helpless["reason"]) == ("spot", "Insufficient cpu")
    assert json.dumps(part)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"autoscaler": "karpenter"}, "autoscaler must be one of cluster-autoscaler"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": True}, "seconds must be"),
    ],
)
def test_bad_questions_about_autoscaling(arguments: dict[str, Any], complaint: str) -> None:
    about = Plan(group(maxSize=9)).planner
    [part] = asked("autoscaling", Base(about, about.build()), **arguments)
    assert part["error"].startswith(complaint)


def test_without_pools_nothing_scales() -> None:
    about = Plan(node("n0")).planner
    assert asked("autoscaling", Base(about, about.build()))[0]["autoscalers"] == []


def test_horizontal_autoscalers_have_scaled_where_their_status_is_not_known() -> None:
    web = workload("Deployment", "web", replicas=2)
    web["metadata"]["annotations"] = {"simulate.moorage.dev/load": "cpu=4"}
    metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "maxReplicas": 3, "metrics": [{"type": "Resource", "resource": metric}]}
    scaler: Raw = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    about = Plan(node("n0", "16"), web, {**scaler, "spec": spec}).planner
    [part] = asked("horizontal", Base(about, about.build()))
    [row] = part["rows"]
    assert part["played"]
    assert (row["target"], row["desired"], row["most"]) == ("Deployment default/web", 3, 3)
    assert {one["type"] for one in row["conditions"]} == {"AbleToScale", "ScalingActive", "ScalingLimited"}
    assert row["scalings"][0]["text"].endswith("2 → 3")
    status = {"currentReplicas": 2, "desiredReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True"}]}
    scaler["metadata"] |= {"uid": "3c2ec2bd", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}
    known = Plan(node("n0", "16"), web, {**scaler, "spec": spec, "status": status}).planner
    [part] = asked("horizontal", Base(known, known.build()))
    assert (part["played"], part["rows"][0]["desired"]) == (False, 2)
