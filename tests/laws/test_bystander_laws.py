"""Laws of what-ifs beside which something happens anyway: only what the change does is its answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import changed
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload

from moorage.plan import what_if
from moorage.plan.difference import comparison
from moorage.plan.difference.counterfactual import Counterfactual
from moorage.plan.difference.difference import Difference, happens_anyway
from moorage.plan.outcome import Outcome
from moorage.plan.what_if import Changes

pytestmark = pytest.mark.usefixtures("_gives_up_early")

GATES = {"AllAlpha": True, "AllBeta": True}
SIDE = "side"
_BESIDE = {"nodeSelector": {SIDE: "b"}}
_SECONDS = (0, 20, 30, 300)
_KINDS = ("Deployment", "Deployment", "StatefulSet")
URGENT: Raw = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}


def tolerated(wear: Raw | None) -> Raw:
    """What lets a pod be on the nodes beside: for ever, or on those that wear off for a while."""
    return {"tolerations": [{"key": SIDE, "operator": "Exists"}, *([wear] if wear is not None else [])]}


@st.composite
def wearing(draw: st.DrawFn) -> Raw | None:
    wear: Raw = {"key": "wear", "operator": "Exists", "effect": "NoExecute"}
    seconds = draw(st.sampled_from((None, None, *_SECONDS)))
    return draw(st.sampled_from([None, wear])) if seconds is None else {**wear, "tolerationSeconds": seconds}


@st.composite
def bystanders(draw: st.DrawFn) -> list[Raw]:
    """Nodes of their own, with pods that are evicted, again and again, preempted or Pending without any change."""
    only, wear = {"key": SIDE, "effect": "NoExecute"}, {"key": "wear", "effect": "NoExecute"}
    cpus = [draw(st.sampled_from("124")) for _ in range(2)]
    nodes = [node("b0", cpus[0], taints=[only, wear], side="b"), node("b1", cpus[1], taints=[only], side="b")]
    fields = [tolerated(draw(wearing())) | _BESIDE for _ in range(3)]
    placed = [running("b-run", "b0", cpu="500m", **fields[0]), pod("b-wait", "9", **fields[1])]
    loads = []
    for number in range(draw(st.integers(1, 3))):
        pods = tolerated(draw(wearing())) | _BESIDE
        if draw(st.booleans()):
            pods |= {"priorityClassName": "urgent"}
        cpu, replicas = draw(st.sampled_from(["100m", "500m", "1"])), draw(st.integers(1, 3))
        loads.append(workload(draw(st.sampled_from(_KINDS)), f"b-w{number}", cpu, pods, replicas=replicas))
    return [*nodes, URGENT, *placed, *loads]


def is_beside(name: str) -> bool:
    return name.rpartition("/")[2].startswith("b-")


def is_endless(plan: Plan) -> bool:
    return bool(plan.simulation.stopped)


def law_of_bystanders(most: int = examples(60)) -> None:
    """Whatever happens on nodes that have nothing to do with the change is no part of what differs."""

    @settings(LAW_SETTINGS, max_examples=most)
    @given(changed(), bystanders())
    def law(scene: tuple[list[Raw], Changes], beside: list[Raw]) -> None:
        documents, changes = scene
        plan = Plan(*documents, *beside, gates=GATES)
        before = plan.outcome
        if not changes or is_endless(plan):
            return
        difference = plan.what_if(changes)
        if is_endless(plan):
            return
        named = [
            *((one.becomes, one.workload or one.pod) for one in difference.differences),
            *((one.cause, one.workload or one.pod) for one in difference.departures),
            *((line.state, line.workload or line.key) for line in (*difference.placed, *difference.pending)),
            *((line.state, line.workload or line.key) for line in difference.failed),
        ]
        assert [row for row in named if is_beside(row[1])] == []
        told = happens_anyway(difference, before)
        waiting = [line for line in difference.after.pending if is_beside(line.workload or line.key)]
        assert Counter(
            row.pod for row in told if row.what == "waits" and is_beside(row.workload or row.pod)
        ) == Counter(line.key for line in waiting)
        assert_apart(difference, told)

    law()


def assert_apart(difference: Difference, told: list[Any]) -> None:
    """What happens anyway and what the change does have no pod in common, but one that leaves in both and differs."""
    caused = {(one.pod, one.after_seconds) for one in difference.departures}
    assert not caused & {(row.pod, row.after_seconds) for row in told if row.what == "leaves"}
    got = {line.key for line in (*difference.placed, *difference.pending)}
    assert not got & {row.pod for row in told if row.what in ("waits", "lands")}


def test_what_happens_beside_a_change_is_no_part_of_it() -> None:
    law_of_bystanders()


def test_a_cluster_that_does_not_go_on_alone_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counterfactual, "at", lambda *_: None)
    assert_notices(lambda: law_of_bystanders(300))


def test_successors_that_are_matched_by_name_only_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("match_successors", "match_nodes"):
        monkeypatch.setattr(comparison._Places, name, lambda *_: None)
    assert_notices(lambda: law_of_bystanders(300))


def test_names_of_one_random_source_that_are_matched_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_name(before: Outcome, after: Outcome, successors: Any, updated: Any, first_new: int) -> Any:
        return comparison.compare(before, after, successors, updated)

    monkeypatch.setattr(what_if, "compare", by_name)
    assert_notices(lambda: law_of_bystanders(300))
