"""An explanation tells for how long a pod stays on its node, why, and what follows."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running, workload, written

from moorage.match.eviction_clock import STAYS
from moorage.model.gates import gates_from
from moorage.plan.explain.daemon_set import explain_daemon_set, plain_daemon_set
from moorage.plan.explain.daemon_text import DaemonText
from moorage.plan.explain.explanation import Explanation, plain
from moorage.plan.explain.node import explain_node, plain_node
from moorage.plan.explain.node_text import NodeText
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.text import ExplanationText
from moorage.plan.planner import Planner, Settings

_ADDED, _NOW = "2026-03-01T12:00:00Z", "2026-03-01T12:00:07Z"
FP_3 = {"key": "fp", "value": "3", "effect": "NoExecute", "timeAdded": _ADDED}
SPOT = node("spot", taints=[FP_3])
WHY = "fp=3 is tolerated for 30 s"
UNREPLACED = "it is not replaced: it has no controller"
#: A node that is not ready is looked at again and again: time passes while the cluster comes to rest.
DOWN = node("down")
DOWN["metadata"] |= {"uid": "uid-of-down", "resourceVersion": "7"}
DOWN["status"]["allocatable"] = DOWN["status"]["capacity"]
DOWN["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
BUSY = [node("other", "1"), DOWN]


def below(value: str, seconds: int | None = None) -> Raw:
    made = {"key": "fp", "operator": "Lt", "value": value, "effect": "NoExecute"}
    return made if seconds is None else {**made, "tolerationSeconds": seconds}


def bound(name: str, *tolerations: Raw, on: str = "spot", owner: tuple[str, str] | None = None) -> Raw:
    made = running(name, on, owner, labels={"app": "rs"}, tolerations=list(tolerations))
    made["metadata"]["creationTimestamp"] = _ADDED
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": _ADDED}]
    return made


#: The latest thing that the input has seen.
CLOCK = {**bound("clock", on="other"), "metadata": {**bound("clock")["metadata"], "creationTimestamp": _NOW}}


def lines(told: Explanation) -> list[str]:
    """What is printed about the pod itself."""
    return "\n".join(ExplanationText(width=200).lines(told)).split("\n\n")[0].split("\n")[1:]


@pytest.mark.parametrize(
    ("toleration", "standing", "text", "seconds", "then"),
    [
        (below("5", 30), Standing.BOUND, f"leaves in 23 s: {WHY}", 23, UNREPLACED),
        (below("5"), Standing.BOUND, STAYS, None, ""),
        (
            below("2"),
            Standing.EVICTED,
            "evicted at once: 3 < 2 is false (taint fp=3, toleration Lt 2)",
            0,
            UNREPLACED,
        ),
    ],
)
def test_a_running_pod_tells_its_deadline_or_that_it_stays(
    toleration: Raw, standing: Standing, text: str, seconds: int | None, then: str
) -> None:
    told = explained(SPOT, *BUSY, CLOCK, bound("p", toleration))
    assert told.standing is standing
    assert told.deadline is not None
    assert (told.deadline.text, told.deadline.seconds, told.deadline.then) == (text, seconds, then)
    document = plain(told)
    assert document["deadline"]["text"] == text
    assert document["evictionLoop"] is None
    printed = lines(told)
    assert any(text in line for line in printed)
    assert (f"  Then {then}" in printed) is bool(then)
    assert (f"  But it {text}" in printed) is (standing is Standing.BOUND and seconds is not None)
    assert (f"  It {STAYS}" in printed) is (seconds is None)


def test_a_pod_on_a_node_without_such_taints_has_no_deadline() -> None:
    told = explained(SPOT, *BUSY, bound("p", on="other"))
    assert told.deadline is None
    assert plain(told)["deadline"] is None
    assert told.troubles == ()


def test_a_replacement_that_lands_elsewhere_is_named() -> None:
    told = explained(SPOT, node("other"), CLOCK, bound("p", below("5", 30), owner=("ReplicaSet", "rs")))
    assert told.deadline is not None
    assert told.deadline.then.endswith(" replaces it on other")
    assert told.eviction_loop is None


@pytest.mark.parametrize(
    ("seconds", "text", "trouble"),
    [
        (30, f"leaves in 30 s: {WHY}", f"there it leaves in 30 s: {WHY}"),
        (0, "evicted at once: fp=3 is tolerated for 0 s", "there it is evicted at once: fp=3 is tolerated for 0 s"),
    ],
)
def test_a_pod_that_fits_tells_how_long_it_would_stay(seconds: int, text: str, trouble: str) -> None:
    waits = pod("p", tolerations=[below("5", seconds)], metadata={"creationTimestamp": _ADDED})
    told = explained(SPOT, CLOCK, waits)
    assert (told.standing, told.node, told.troubles) == (Standing.FITS, "spot", (trouble,))
    assert told.deadline is not None
    assert (told.deadline.text, told.deadline.seconds, told.deadline.then) == (text, seconds, UNREPLACED)
    assert f"  But {trouble}" in lines(told)


def test_a_pod_that_fits_and_tolerates_the_taint_for_ever_stays() -> None:
    told = explained(SPOT, pod("p", tolerations=[below("5")]))
    assert told.troubles == ()
    assert told.deadline is not None
    assert (told.deadline.text, told.deadline.seconds) == (STAYS, None)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_workload_whose_pods_are_evicted_again_and_again_says_so_once(kind: str) -> None:
    fields: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": 2}
    fields |= {"serviceName": "s"} if kind == "StatefulSet" else {}
    owner = workload(kind, "web", pods={"tolerations": [below("5", 30)]}, **fields)
    told = explained(SPOT, owner, pod=f"{kind.lower()}/web")
    assert told.eviction_loop is not None
    assert (told.eviction_loop.workload, told.eviction_loop.text, told.eviction_loop.because) == (
        f"{kind} default/web",
        "evicted again every 30 s",
        WHY,
    )
    assert told.deadline is not None
    assert told.deadline.then.endswith(" on spot, evicted again every 30 s")
    assert lines(told).count(f"  {kind} default/web: evicted again every 30 s: {WHY}") == 1
    assert plain(told)["evictionLoop"]["everySeconds"] == 30


def test_a_loop_is_told_also_where_the_next_pod_would_be_elsewhere() -> None:
    """The node with the taint is full: the next pod goes to the other one, where it stays."""
    owner = workload("Deployment", "web", "2", {"tolerations": [below("5", 30)]}, replicas=3)
    full = node("spot", "4", taints=[FP_3])
    told = explained(full, node("other", "2"), owner, pod="deployment/web")
    assert told.eviction_loop is not None
    assert told.eviction_loop.text == "evicted again every 30 s"


def test_a_node_tells_which_pods_have_to_leave_it() -> None:
    planner = Planner(Settings(gates_from({"AllAlpha": True})))
    documents = [bound("p", below("5", 30)), bound("now", below("2")), bound("stays", below("5"))]
    planner.load(written(SPOT, *BUSY, CLOCK, *documents))
    told = explain_node(planner.build(), planner.inventory, "spot")
    gone = "3 < 2 is false (taint fp=3, toleration Lt 2)"
    assert plain_node(told)["deadlines"] == [
        {
            "pod": "default/now",
            "text": f"evicted at once: {gone}",
            "seconds": 0,
            "because": gone,
            "then": UNREPLACED,
        },
        {"pod": "default/p", "text": f"leaves in 23 s: {WHY}", "seconds": 23, "because": WHY, "then": UNREPLACED},
    ]
    text = "\n".join(NodeText(width=200).lines(told))
    assert f"\n\nPods that have to leave\n  default/now\n    evicted at once: {gone}\n    then: {UNREPLACED}\n" in text
    assert f"\n  default/p\n    leaves in 23 s: {WHY}\n    then: {UNREPLACED}\n\n" in text


def test_a_daemon_set_tells_which_of_its_pods_have_to_leave() -> None:
    planner = Planner(Settings(gates_from({"AllAlpha": True})))
    owner = workload("DaemonSet", "agent", pods={"tolerations": [below("5", 30)]})
    planner.load(written(SPOT, node("other"), owner))
    (item,) = planner.inventory.of_kind("DaemonSet")
    told = explain_daemon_set(planner.build(), planner.inventory, item)
    document = plain_daemon_set(told)
    (leaves,) = document["deadlines"]
    pod_there = leaves["pod"]
    assert pod_there in [pod for group in told.groups for pod in group.pods]
    assert (leaves["text"], leaves["seconds"]) == (f"leaves in 30 s: {WHY}", 30)
    assert leaves["then"].endswith(" replaces it on spot, evicted again every 30 s")
    assert document["evictionLoop"]["everySeconds"] == 30
    text = "\n".join(DaemonText(width=200).daemon_lines(told))
    assert text.count(f"  DaemonSet default/agent: evicted again every 30 s: {WHY}\n") == 1
    assert f"Pods that have to leave\n  {pod_there}\n    leaves in 30 s: {WHY}\n    then: {leaves['then']}\n" in text
