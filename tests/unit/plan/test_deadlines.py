"""Every pod that a NoExecute taint evicts has its deadline and what follows, in every form of a plan."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

from moorage.model.gates import gates_from
from moorage.plan.input.live_cluster import LiveCluster, load_live
from moorage.plan.node_changes import ScaleChange, TaintChange
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodDeadline, State
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import plain
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

GATES = {"AllAlpha": True, "AllBeta": True}
#: When the plan begins; the taint is seven seconds old.
_BOUND, _ADDED = "2026-03-01T12:00:07Z", "2026-03-01T12:00:00Z"
FP_3 = {"key": "fp", "value": "3", "effect": "NoExecute"}
WHY = "fp=3 is tolerated for 30 s"
UNREPLACED = "it is not replaced: it has no controller"


def below(value: str, seconds: int | None = None) -> Raw:
    made = {"key": "fp", "operator": "Lt", "value": value, "effect": "NoExecute"}
    return made if seconds is None else {**made, "tolerationSeconds": seconds}


def bound(name: str, on: str, *tolerations: Raw, owner: tuple[str, str] | None = None, at: str = _ADDED) -> Raw:
    made = running(name, on, owner, labels={"app": name}, tolerations=list(tolerations))
    made["metadata"]["creationTimestamp"] = at
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]
    return made


def planner_of(*documents: Raw) -> Planner:
    planner = Planner(Settings(gates_from(GATES)))
    planner.load(written(*documents))
    return planner


def planned(*documents: Raw, changes: Changes | None = None, until: float | None = None) -> Outcome:
    planner = planner_of(*documents)
    simulation = planner.build(lives=until is not None)
    return planner.answer(simulation, changes or Changes(), (), until=until)[0]


def deadlines(outcome: Outcome) -> dict[str, tuple[Any, ...]]:
    """The state and deadline of each pod that has one, by name."""
    return {
        line.name: (line.state.value, line.deadline.text, line.deadline.seconds, line.deadline.then)
        for line in outcome.pods
        if line.deadline is not None
    }


def text(outcome: Outcome) -> str:
    return "\n".join(TextReport(width=200).lines(outcome))


OLD = node("spot", taints=[{**FP_3, "timeAdded": _ADDED}])


def test_the_deadline_of_a_pod_counts_from_the_moment_that_is_shown() -> None:
    documents = (
        OLD,
        bound("a", "spot", below("5", 30)),
        bound("b", "spot", below("5")),
        bound("c", "spot", below("2")),
        bound("young", "spot", below("5", 300), at=_BOUND),
    )
    gone = ("Evicted", "evicted at once: 3 < 2 is false (taint fp=3, toleration Lt 2)", 0, UNREPLACED)
    for until, left in ((0.0, 23), (10.0, 13)):
        outcome = planned(*documents, until=until)
        assert deadlines(outcome) == {
            "a": ("Evicting", f"leaves in {left} s: {WHY}", left, UNREPLACED),
            "c": gone,
            "young": (
                "Evicting",
                f"leaves in {300 - until:.0f} s: fp=3 is tolerated for 300 s",
                300 - until,
                UNREPLACED,
            ),
        }
        assert not outcome.is_complete  # which --strict asks
    later = planned(*documents, until=24.0)
    assert deadlines(later)["a"] == ("Evicted", f"evicted after 23 s: {WHY}", 0, UNREPLACED)
    assert [(one.pod, one.after_seconds, one.because) for one in later.evicted] == [
        ("default/c", 0, "3 < 2 is false (taint fp=3, toleration Lt 2)"),
        ("default/a", 23, WHY),
    ]
    assert "b" not in deadlines(later)


def test_every_form_of_a_plan_shows_deadlines_and_what_follows() -> None:
    spare = node("spare", "1", taints=[{"key": "spare", "effect": "NoSchedule"}])
    owner = workload("Deployment", "web", pods={"tolerations": [below("5", 30)]}, replicas=1)
    outcome = planned(OLD, spare, owner, until=10.0)
    (line,) = outcome.pods
    assert line.deadline is not None
    (loop,) = outcome.loops
    assert (loop.workload, loop.text, loop.because) == ("Deployment default/web", "evicted again every 30 s", WHY)
    assert line.deadline.text == f"leaves in 20 s: {WHY}"
    assert line.deadline.then.endswith("replaces it on spot, evicted again every 30 s")
    assert text(outcome).split("\n\n")[:2] == [
        f"Placements\n  Deployment default/web  1 to be evicted\n    spot  {line.name} (leaves in 20 s: {WHY})",
        f"Evicted\n  Deployment default/web  evicted again every 30 s\n    {WHY}\n"
        f"  Deployment default/web  1 pod: {line.name} on spot\n    leaves in 20 s: {WHY}\n"
        f"    then: {line.deadline.then}",
    ]
    printed = "\n".join(MarkdownReport().lines(outcome))
    assert f"| {line.name} (leaves in 20 s: {WHY}) |" in printed
    assert f"| default/{line.name} | spot | leaves in 20 s: {WHY} | {line.deadline.then} |" in printed
    document = plain(outcome)
    assert document["pods"][0]["deadline"] == {
        "text": f"leaves in 20 s: {WHY}",
        "seconds": 20,
        "because": WHY,
        "then": line.deadline.then,
    }
    assert document["evictionLoops"] == [
        {"workload": "Deployment default/web", "everySeconds": 30, "because": WHY, "evictions": 1}
    ]


@pytest.mark.parametrize(
    ("nodes", "then"),
    [
        ([node("other")], "{} replaces it on other"),
        (
            [node("other", taints=[{"key": "x", "effect": "NoSchedule"}])],
            "{} replaces it and is Pending: 0/2 nodes are available: 1 node(s) had untolerated taint {{fp: 3}}, "
            "1 node(s) had untolerated taint {{x: }}.",
        ),
    ],
)
def test_what_follows_is_where_the_replacement_lands_or_why_it_waits(nodes: list[Raw], then: str) -> None:
    """The taint is not tolerated any more: its value has risen since the pod was placed."""
    evicted = bound("r0", "spot", below("3"), owner=("ReplicaSet", "rs"))
    outcome = planned(OLD, *nodes, evicted)
    (successor,) = [line for line in outcome.pods if line.is_present]
    state, _, _, told = deadlines(outcome)["r0"]
    assert (state, told) == ("Evicted", then.format(successor.key))
    (departure,) = outcome.evicted
    assert bool(departure.message) == (not departure.new_node)
    assert departure.message == ("" if successor.node else successor.message)


def test_only_a_replacement_that_has_to_leave_in_its_turn_is_evicted_again() -> None:
    """Two pods leave; the other node is the better one, and takes one pod only."""
    other = node("other", "64")
    other["status"]["capacity"]["pods"] = "1"
    pods = [bound(name, "spot", below("5", 30), owner=("ReplicaSet", "rs")) for name in ("r0", "r1")]
    outcome = planned(OLD, other, *pods, until=0.0)
    assert [(loop.workload, loop.text) for loop in outcome.loops] == [
        ("ReplicaSet default/rs", "evicted again every 30 s")
    ]
    leaving = [line.deadline.then.partition(" ")[2] for line in outcome.pods if line.deadline is not None]
    assert leaving == ["replaces it on other", "replaces it on spot, evicted again every 30 s"]


def test_a_pod_of_a_stateful_set_comes_again_under_its_name() -> None:
    owner = workload("StatefulSet", "db", pods={"tolerations": [below("5", 30)]}, replicas=1, serviceName="db")
    outcome = planned(OLD, owner, until=65.0)
    then = "it comes again on spot, evicted again every 30 s"
    assert [(line.deadline.text, line.deadline.then) for line in outcome.pods if line.deadline is not None] == [
        (f"evicted after 30 s: {WHY}", then),
        (f"evicted after 60 s: {WHY}", then),
        (f"leaves in 25 s: {WHY}", then),
    ]


def test_taints_of_the_input_count_like_those_that_a_change_adds() -> None:
    pods = (bound("a", "n1", below("5", 30)), bound("c", "n1", below("2")))
    before = planned(node("n1", taints=[FP_3]), *pods, until=10.0)
    change = Changes(taints=(TaintChange("n1", "fp", "3", "NoExecute"),))
    after = planned(node("n1"), *pods, changes=change, until=10.0)
    assert deadlines(before) == deadlines(after)
    assert deadlines(after)["a"] == ("Evicting", f"leaves in 20 s: {WHY}", 20, UNREPLACED)


def test_newly_placed_pods_have_their_deadlines() -> None:
    change = Changes(scales=(ScaleChange("deployment/web", 1),))
    owner = workload("Deployment", "web", pods={"tolerations": [below("5", 30)]}, replicas=0)
    planner = planner_of(OLD, owner)
    outcome, difference, _ = planner.answer(planner.build(lives=True), change, (), until=10.0)
    assert difference is not None
    assert len(difference.placed) == 1
    shown = f"(leaves in 20 s: {WHY})"
    assert f"Deployment default/web  1 pod → spot {shown}" in "\n".join(
        TextReport(width=200).lines(outcome, difference)
    )
    assert f"| Deployment default/web | 1 | spot {shown} |" in "\n".join(MarkdownReport().lines(outcome, difference))


def test_the_taint_that_decides_need_not_be_tolerated_for_the_shortest_time() -> None:
    old = {"key": "old", "effect": "NoExecute", "timeAdded": "2026-03-01T11:56:00Z"}
    exists = {"operator": "Exists", "effect": "NoExecute"}
    pods = bound(
        "p",
        "n1",
        {"key": "old", **exists, "tolerationSeconds": 300},
        {"key": "fp", **exists, "tolerationSeconds": 90},
        at="2026-03-01T11:50:00Z",
    )
    outcome = planned(node("n1", taints=[old, {**FP_3, "timeAdded": _ADDED}]), pods, until=0.0)
    assert deadlines(outcome)["p"][1] == "leaves in 60 s: old is tolerated for 300 s"


def test_a_live_cluster_is_planned_from_the_moment_when_it_was_read() -> None:
    documents = [OLD, bound("a", "spot", below("5", 30)), pod("waits", "9")]
    planner = Planner(Settings(gates_from(GATES)))
    read_at = 1_772_366_420.0  # 2026-03-01T12:00:20Z
    load_live(planner, LiveCluster("https://x", "default", documents, [], read_at=read_at))
    outcome = planner.plan(planner.build())
    assert deadlines(outcome)["a"][1] == f"leaves in 10 s: {WHY}"


def test_pods_without_a_deadline_have_none() -> None:
    outcome = planned(OLD, node("n1"), bound("stays", "spot", below("5")), bound("other", "n1"), pod("waits", "9"))
    assert deadlines(outcome) == {}
    assert all("deadline" not in one for one in plain(outcome)["pods"])
    assert PodDeadline("x").seconds is None
    assert outcome.of_state(State.EVICTED) == []
