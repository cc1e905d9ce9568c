"""The text of a pod without a node is one: event of a cluster, plan and explain, also what it says of preemption."""

from __future__ import annotations

from typing import Any

import pytest
from tests.laws.random_worlds import World
from tests.laws.world_in_cluster import failed_scheduling_in_cluster
from tests.objects import taint
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Plan, Raw, node, pod, running

from moorage.model.gates import gates_from
from moorage.plan.explain.explanation import plain
from moorage.plan.explain.text import ExplanationText
from moorage.plan.report.plain import plain as plain_plan
from moorage.plan.report.text import TextReport
from moorage.schedule.diagnosis import event_note


def claiming(name: str) -> Raw:
    made = pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": "training"}])
    made["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    return made


CLAIM: Raw = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "training"},
    "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
}
CLASS: Raw = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}


def urgent(**fields: Any) -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 9,
        **fields,
    }


CASES = {
    "not helpful": [node("a", taints=[taint("k", "1")]), node("b", "1"), pod("p", "2")],
    "no victims": [node("a", "2"), node("b", taints=[taint("k", "1")]), running("q", "a", cpu="2"), pod("p", "2")],
    "never": [
        node("a", "2"),
        running("q", "a", cpu="2"),
        urgent(preemptionPolicy="Never"),
        pod("p", "2", priorityClassName="urgent"),
    ],
    "devices": [node("a"), CLASS, CLAIM, claiming("p")],
    "long": [*(node(f"n{i}", taints=[taint(f"a-long-key-of-a-taint-{i}", str(i))]) for i in range(40)), pod("p")],
}
HALVES = {
    "not helpful": "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.",
    "no victims": (
        "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not "
        "helpful for scheduling."
    ),
    "never": "preemption: not eligible due to preemptionPolicy=Never.",
    "devices": (
        "still not schedulable, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
    ),
    "long": "preemption: 0/40 nodes are available: 40 Preemption is not helpful for scheduling.",
}


@pytest.mark.parametrize("case", CASES)
def test_event_plan_and_explain_have_the_same_text(case: str) -> None:
    documents = CASES[case]
    event = failed_scheduling_in_cluster(World(documents, gates_from({}), {}), 60.0)["default/p"]
    told = explained(*documents, pod="p", gates={})
    outcome = Plan(*documents).outcome
    (line,) = outcome.pending
    assert (told.message, event_note(told.message)) == (line.message, event)
    assert told.message.endswith(f" {HALVES[case]}")
    assert told.preemption is not None
    assert told.preemption.message == plain(told)["preemption"]["message"] == HALVES[case]
    assert next(one for one in plain_plan(outcome)["pods"] if one["name"] == "p")["message"] == told.message
    in_full = "\n".join(TextReport(width=10_000, everything=True).lines(outcome))
    assert told.message in in_full
    assert told.message in "\n".join(ExplanationText(width=10_000, everything=True).lines(told))
    assert event in "\n".join(ExplanationText(width=10_000).lines(told))
