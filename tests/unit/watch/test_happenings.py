"""Changes of pods and nodes, told."""

from typing import Any

import pytest

from moorage.client.informer import Delta
from moorage.client.protocol import Object, Raw
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.watch.happenings import HappeningKind
from moorage.watch.state import Watched

NOW = 1000.0
UNSCHEDULABLE = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption "
    "victims found for incoming pod.",
}


def pod(name: str, node: str = "", *, owner: str = "web-7c", **fields: Any) -> Object:
    metadata: Raw = {"name": name, "namespace": "default", "uid": fields.pop("uid", f"uid-{name}")}
    if owner:
        metadata["labels"] = {"pod-template-hash": owner.rpartition("-")[2]}
        metadata["ownerReferences"] = [{"kind": "ReplicaSet", "name": owner, "uid": "u", "controller": True}]
    if "created" in fields:
        metadata["creationTimestamp"] = time_text(fields.pop("created"))
    if fields.pop("going", False):
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec: Raw = {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}],
        "tolerations": fields.pop("tolerations", []),
    }
    if node:
        spec["nodeName"] = node
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": fields}
    return Object(KINDS.POD, f"default/{name}", 1, raw=raw)


def target(reason: str) -> Raw:
    return {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "m"}


def node(name: str, *taints: Raw, cordoned: bool = False, ready: str = "True") -> Object:
    spec: Raw = {"taints": list(taints), **({"unschedulable": True} if cordoned else {})}
    status = {
        "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10", "nvidia.com/gpu": "4"},
        "conditions": [{"type": "Ready", "status": ready}],
    }
    raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec, "status": status}
    return Object(KINDS.NODE, name, 1, raw=raw)


def watched(*nodes: Object) -> Watched:
    made = Watched()
    made.nodes_changed([Delta(None, one) for one in nodes], NOW)
    made.is_complete = True
    return made


def told(state: Watched) -> list[tuple[str, str, str]]:
    return [(one.kind.value, one.subject, one.detail) for one in state.happenings]


def test_the_first_list_is_no_news() -> None:
    state = Watched()
    state.pods_changed([Delta(None, pod("a", "n1"))], NOW)
    assert told(state) == []
    assert state.placed == 1


def test_a_pod_waits_and_is_placed() -> None:
    state = watched(node("n1"))
    waiting = pod("a", conditions=[UNSCHEDULABLE])
    state.pods_changed([Delta(None, pod("a"))], NOW)
    assert [line.reason for line in state.pending] == ["NotTried"]
    state.pods_changed([Delta(pod("a"), waiting), Delta(waiting, waiting)], NOW)
    assert [line.reason for line in state.pending] == ["Unschedulable"]
    state.pods_changed([Delta(waiting, pod("a", "n1"))], NOW)
    assert told(state) == [
        ("pending", "default/a", "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu."),
        ("placed", "default/a", "on n1"),
    ]
    assert state.pending == []


@pytest.mark.parametrize(
    ("reason", "verb", "detail"),
    [
        (
            "DeletionByTaintManager",
            "evicted",
            "from n1 by taint sla=900:NoExecute: 900 > 950 is false (taint sla=900, toleration Gt 950)",
        ),
        ("DeletionByDeviceTaintManager", "evicted", "from n1 by a taint of its device"),
        ("EvictionByEvictionAPI", "evicted", "from n1 by the eviction API (a drain)"),
        ("PreemptionByScheduler", "preempted", "from n1 by a pod of higher priority"),
        ("SomethingNew", "evicted", "from n1 by m"),
        ("", "deleted", "from n1"),
    ],
)
def test_who_made_a_pod_leave(reason: str, verb: str, detail: str) -> None:
    taints = [{"key": "sla", "value": "900", "effect": "NoExecute"}, {"key": "ok", "effect": "NoExecute"}]
    state = watched(node("n1", *taints))
    tolerating = [{"key": "sla", "operator": "Gt", "value": "950"}, {"key": "ok", "operator": "Exists"}]
    conditions = [target(reason)] if reason else []
    going = pod("a", "n1", going=True, conditions=conditions, tolerations=tolerating)
    state.pods_changed([Delta(pod("a", "n1"), going), Delta(going, None)], NOW)
    assert told(state) == [(verb, "default/a", detail)]


def test_a_taint_that_is_tolerated_for_a_time_is_blamed_too() -> None:
    state = watched(node("n1", {"key": "b", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}))
    tolerating = [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}, {"key": "b", "operator": "Exists"}]
    going = pod("a", "n1", going=True, conditions=[target("DeletionByTaintManager")], tolerations=tolerating)
    state.pods_changed([Delta(pod("a", "n1"), going)], NOW)
    assert told(state) == [("evicted", "default/a", "from n1 by taint a:NoExecute: a is tolerated for 3 s")]


def test_a_replacement_is_a_move() -> None:
    state = watched(node("n1"), node("n2"))
    drained = pod("a", "n1", going=True, conditions=[target("EvictionByEvictionAPI")])
    state.pods_changed([Delta(pod("a", "n1"), drained)], NOW)
    state.pods_changed([Delta(None, pod("b")), Delta(pod("b"), pod("b", "n2")), Delta(None, pod("c", "n2"))], NOW)
    assert told(state)[1:] == [
        ("moved", "default/b", "from n1 to n2, instead of a"),
        ("placed", "default/c", "on n2"),
    ]
    assert state.happenings[-1].workload == "Deployment default/web"


def test_a_pod_of_the_same_name_is_another_one() -> None:
    state = watched(node("n1"), node("n2"))
    state.pods_changed([Delta(pod("a", "n1", uid="1"), pod("a", "n2", uid="2"))], NOW)
    assert told(state) == [("deleted", "default/a", "from n1"), ("placed", "default/a", "on n2")]


def test_ends() -> None:
    state = watched()
    failed = pod("a", "n1", phase="Failed", reason="NodeAffinity", message="no")
    done = pod("b", "n1", owner="", phase="Succeeded")
    state.pods_changed([Delta(pod("a", "n1"), failed), Delta(failed, None)], NOW)
    state.pods_changed([Delta(pod("b", "n1", owner=""), done), Delta(done, None)], NOW)
    assert told(state) == [("failed", "default/a", "on n1: NodeAffinity: no"), ("completed", "default/b", "on n1")]
    assert state.placed == 0


def test_nodes() -> None:
    state = watched()
    tainted = node("n1", {"key": "a", "value": "b", "effect": "NoSchedule"}, cordoned=True, ready="Unknown")
    state.nodes_changed([Delta(None, node("n1")), Delta(node("n1"), tainted), Delta(tainted, node("n1"))], NOW)
    state.nodes_changed([Delta(node("n1"), None)], NOW)
    assert {verb for verb, _, _ in told(state)} == {HappeningKind.NODE.value}
    assert [detail for _, _, detail in told(state)] == [
        "joined",
        "is cordoned",
        "has a new taint a=b:NoSchedule",
        "is not ready",
        "is schedulable again",
        "lost the taint a=b:NoSchedule",
        "is ready",
        "is gone",
    ]


def test_the_server_is_gone_once_and_back_once() -> None:
    state = watched()
    for problem in ("refused", "refused", "", ""):
        state.server_changed(problem, NOW)
    assert [detail for _, _, detail in told(state)] == ["cannot be reached: refused; trying again", "answers again"]


def test_nodes_fill_and_empty() -> None:
    state = watched(node("n1"), node("n2"))
    state.pods_changed([Delta(None, pod(name, "n2")) for name in "abc"], NOW)
    assert [(line.name, line.fullest, line.pods) for line in state.node_lines(9)] == [("n2", 75, 3), ("n1", 0, 0)]
    assert [line.name for line in state.node_lines(1)] == ["n2"]
    state.pods_changed([Delta(pod("a", "n2"), None), Delta(pod("b", "n2"), pod("b", "n2", phase="Succeeded"))], NOW)
    assert [(line.name, line.fullest, line.pods) for line in state.node_lines(9)] == [("n2", 25, 1), ("n1", 0, 0)]


def test_what_is_remembered_is_bounded() -> None:
    state = watched()
    for number in range(700):
        state.pods_changed([Delta(pod(f"p{number}"), pod(f"p{number}", "n1"))], NOW)
    assert (len(state.happenings), state.total) == (500, 700)


GATE = "TaintTolerationComparisonOperators"
FP = {"key": "fp", "value": "3", "effect": "NoExecute"}
REFUSED = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
HEAD = "makes pods again and again that are"


@pytest.mark.parametrize(
    ("toleration", "hint"),
    [
        ({"key": "fp", "operator": "Lt", "value": "5"}, f"; the feature gate {GATE} is off in the kubelet"),
        ({"expression": "int(taint.value) < 5"}, "; the feature gate TaintTolerationCEL is off in the kubelet"),
        ({"key": "fp", "operator": "Lt", "value": "2"}, ""),
        ({"key": "fp", "operator": "Exists"}, ""),
    ],
)
def test_a_workload_whose_pods_are_refused_again_and_again_is_named_once(toleration: Raw, hint: str) -> None:
    state = watched(node("n1", FP))
    for number in range(12):
        now = NOW + 2 * number
        before = pod(f"p{number}", "n1", tolerations=[toleration], created=now - 1)
        refused = {"phase": "Failed", "reason": "TaintToleration", "message": f"Pod was rejected: {REFUSED}"}
        after = pod(f"p{number}", "n1", tolerations=[toleration], created=now - 1, **refused)
        state.pods_changed([Delta(None, before), Delta(before, after)], now)
    loops = [one for one in state.happenings if one.kind is HappeningKind.LOOP]
    text = f"{HEAD} refused by their kubelet, 4 within 6 s: TaintToleration: {REFUSED}{hint}"
    assert [(one.subject, one.workload, one.detail) for one in loops] == [("Deployment default/web",) * 2 + (text,)]


@pytest.mark.parametrize(
    ("toleration", "why"),
    [
        (
            {"key": "fp", "operator": "Lt", "value": "5"},
            f"taint fp=3:NoExecute; the feature gate {GATE} is off in the controller manager",
        ),
        ({"key": "fp", "operator": "Lt", "value": "2"}, "3 < 2 is false (taint fp=3, toleration Lt 2)"),
        ({"key": "fp", "operator": "Lt", "value": "5", "tolerationSeconds": 2}, "fp=3 is tolerated for 2 s"),
    ],
)
def test_a_workload_whose_pods_are_evicted_again_and_again_is_named_once(toleration: Raw, why: str) -> None:
    state = watched(node("n1", FP))
    for number in range(12):
        now = NOW + 2 * number
        about: dict[str, Any] = {"tolerations": [toleration], "created": now - 1}
        there = pod(f"p{number}", "n1", **about)
        going = pod(f"p{number}", "n1", **about, going=True, conditions=[target("DeletionByTaintManager")])
        state.pods_changed([Delta(None, there), Delta(there, going)], now)
    (loop,) = (one for one in state.happenings if one.kind is HappeningKind.LOOP)
    assert loop.detail == f"evicted again every 2 s: {why}"


def test_pods_that_fail_or_are_drained_are_no_loop() -> None:
    state = watched(node("n1"))
    for number in range(12):
        now = NOW + 2 * number
        there = pod(f"p{number}", "n1", created=now - 1)
        failed = pod(f"p{number}", "n1", created=now - 1, phase="Failed", reason="Error", message="exit 1")
        drained = pod(f"q{number}", "n1", created=now - 1, going=True, conditions=[target("EvictionByEvictionAPI")])
        state.pods_changed([Delta(there, failed), Delta(pod(f"q{number}", "n1"), drained)], now)
    assert not [one for one in state.happenings if one.kind is HappeningKind.LOOP]


EXISTS_30 = [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]


def leaves_in(state: Watched, now: float) -> dict[str, str]:
    return {line.name: line.deadline.text for line in state.leaving(now) if line.deadline is not None}


def test_the_time_of_a_pod_begins_with_a_taint_that_was_seen_without_a_time() -> None:
    """As `kubectl taint` adds it. Later changes of the pod and the node leave its time alone."""
    state = watched(node("n1"))
    state.pods_changed([Delta(None, pod("a", "n1", tolerations=EXISTS_30)), Delta(None, pod("b", "n1"))], NOW)
    tainted = node("n1", {"key": "a", "effect": "NoExecute"})
    state.nodes_changed([Delta(node("n1"), tainted)], NOW + 5)
    why = "a is tolerated for 30 s"
    assert told(state)[-1] == ("leaving", "default/a", f"on n1 leaves in 30 s: {why}")
    state.pods_changed([Delta(pod("a", "n1"), pod("a", "n1", tolerations=EXISTS_30, phase="Running"))], NOW + 10)
    state.nodes_changed([Delta(tainted, node("n1", {"key": "a", "effect": "NoExecute"}, ready="False"))], NOW + 10)
    assert leaves_in(state, NOW + 12) == {
        "a": f"leaves in 23 s: {why}",
        "b": "evicted at once: a is not tolerated: no toleration is for its key and effect",
    }
    assert [one for one in told(state) if one[0] == "leaving"] == [
        ("leaving", "default/a", f"on n1 leaves in 30 s: {why}")
    ]
    assert state.to_be_evicted == 2


def test_a_deadline_ends_with_the_taint_the_pod_or_its_deletion() -> None:
    taint = {"key": "a", "effect": "NoExecute", "timeAdded": time_text(NOW - 7)}
    state = watched(node("n1", taint))
    pods = [pod(name, "n1", tolerations=EXISTS_30) for name in ("a", "b", "c")]
    state.pods_changed([Delta(None, one) for one in pods], NOW)
    assert set(leaves_in(state, NOW).values()) == {"leaves in 23 s: a is tolerated for 30 s"}
    state.pods_changed([Delta(pods[0], None), Delta(pods[1], pod("b", "n1", tolerations=EXISTS_30, going=True))], NOW)
    assert list(leaves_in(state, NOW)) == ["c"]
    state.nodes_changed([Delta(node("n1", taint), node("n1"))], NOW)
    assert leaves_in(state, NOW) == {}
    assert told(state)[-1] == ("leaving", "default/c", "on n1 stays: no NoExecute taint is left")
