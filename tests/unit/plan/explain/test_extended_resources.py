"""Suggestions for pods whose extended resources are served by devices, and what `--headroom` says of claims."""

from __future__ import annotations

import pytest
import yaml
from tests.unit.plan.device_worlds import DRIVER, deployment, device_class, gpu, of_template, template, with_gpus
from tests.unit.plan.explaining import explained, told
from tests.unit.plan.planning import Plan, Raw, pod, workload

from moorage.plan.headroom import headroom
from moorage.plan.planner import Planner
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import plain
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

RESOURCE = "example.com/gpu"


def served() -> Raw:
    made = device_class()
    made["spec"]["extendedResourceName"] = RESOURCE
    return made


def asking(name: str, *counts: str) -> Raw:
    made = pod(name)
    made["spec"]["containers"] = [
        {"name": f"c{number}", "image": "i", "resources": {"limits": {RESOURCE: count}}}
        for number, count in enumerate(counts)
    ]
    return made


def test_as_many_as_a_node_has_left_and_the_limit_is_printed() -> None:
    world = (served(), *with_gpus("a", gpu("g0"), gpu("g1")), *with_gpus("b", gpu("g0")))
    explanation = explained(*world, asking("p", "4"))
    assert told(explanation) == {
        f"{RESOURCE} 4 → at most 2 (lower by 2)": ["a"],
        f"{RESOURCE} 4 → at most 1 (lower by 3)": ["a", "b"],
    }
    written = yaml.safe_load(explanation.suggestions[0].change.yaml)["containers"][0]["resources"]
    assert written["requests"] == written["limits"]


@pytest.mark.parametrize("counts", [("2", "2"), ("1", "3"), ("3", "3")])
def test_several_containers_together(counts: tuple[str, ...]) -> None:
    found = told(explained(served(), *with_gpus("a", gpu("g0"), gpu("g1"), gpu("g2")), asking("p", *counts)))
    assert [summary for summary in found if summary.endswith(")") and "at most" in summary]


def test_another_pod_that_has_the_devices_could_leave() -> None:
    world = (served(), *with_gpus("a", gpu("g0"), gpu("g1"), gpu("g2")))
    found = told(explained(*world, asking("holder", "2"), asking("p", "2")))
    assert found[f"{RESOURCE} 2 → at most 1 (lower by 1)"] == ["a"]
    assert any(summary.startswith("move pod default/holder (priority 0) away from node a") for summary in found)


def test_a_rule_that_taints_the_devices_could_go() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "bad"},
        "spec": {"deviceSelector": {"driver": DRIVER}, "taint": {"key": "bad", "value": "1", "effect": "NoSchedule"}},
    }
    gates = {"DRADeviceTaintRules": True}
    found = told(explained(served(), *with_gpus("a", gpu("g0")), rule, asking("p", "1"), gates=gates))
    assert found == {"delete DeviceTaintRule bad (taint bad=1:NoSchedule)": ["a"]}


def test_workloads_with_claims_are_said_not_to_be_counted() -> None:
    extended = workload("Deployment", "extended", replicas=1)
    extended["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
    stateful = workload("StatefulSet", "db", replicas=1)
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    stateful["spec"] |= {"serviceName": "db", "volumeClaimTemplates": [claim]}
    plan = Plan(
        *(served(), *with_gpus("a", gpu("g0"), gpu("g1"), gpu("g2"), cpu="9")),
        *(template("t"), deployment("claims", 1, of_template("t")), extended, stateful),
        workload("Deployment", "plain", "3", replicas=1),
    )
    counted, untold = headroom(plan.simulation)
    assert list(counted) == ["Deployment default/plain"]
    assert {name.rpartition("/")[2]: why.split(",")[0] for name, why in untold.items()} == {
        "claims": "its pods claim devices",
        "extended": "its pods claim devices",
        "db": "its pods claim volumes",
    }
    outcome = plan.outcome
    outcome.headroom, outcome.no_headroom = counted, untold
    text = " ".join("\n".join(TextReport().lines(outcome)).split())
    assert "Deployment default/claims not counted: its pods claim devices, and each further pod" in text
    assert "not counted: its pods claim volumes" in "\n".join(MarkdownReport().lines(outcome))
    assert plain(outcome)["headroomUnknown"] == untold


def test_headroom_of_a_plan_says_so() -> None:
    plan = Plan(served(), *with_gpus("a", gpu("g0")), template("t"), deployment("claims", 1, of_template("t")))
    planner: Planner = plan.planner
    outcome, _, _ = planner.answer(planner.build(), Changes(), (), headroom=True)
    assert (outcome.headroom, list(outcome.no_headroom)) == ({}, ["Deployment default/claims"])
