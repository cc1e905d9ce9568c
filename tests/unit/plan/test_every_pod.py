"""Every pod of a plan has exactly one line, whatever becomes of it: refused, failed, evicted, ended, not created."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload, written

from moorage.model.gates import gates_from
from moorage.plan.difference.difference import Difference
from moorage.plan.node_changes import TaintChange
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import plain
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

GATES = {"AllAlpha": True, "AllBeta": True}


def risk(value: str) -> Raw:
    return {"key": "risk", "value": value, "effect": "NoExecute"}


def below(value: str, seconds: int | None = None) -> Raw:
    made = {"key": "risk", "operator": "Lt", "value": value, "effect": "NoExecute"}
    return made if seconds is None else {**made, "tolerationSeconds": seconds}


def not_ready(name: str) -> Raw:
    made = node(name)
    made["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "7"}
    made["status"]["allocatable"] = made["status"]["capacity"]
    made["status"]["conditions"] = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    return made


def quota(pods: int) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": str(pods)}},
    }


def answered(*documents: Raw, changes: Changes | None = None, until: float | None = None) -> tuple[Outcome, Any]:
    """What the command prints: the outcome and the difference."""
    planner = Planner(Settings(gates_from(GATES)))
    planner.load(written(*documents))
    simulation = planner.build(lives=until is not None)
    outcome, difference, _ = planner.answer(simulation, changes or Changes(), (), until=until)
    return outcome, difference


def states(outcome: Outcome) -> dict[str, str]:
    return {line.name: line.state.value for line in outcome.pods}


def line_of(outcome: Outcome, name: str) -> PodLine:
    (line,) = [line for line in outcome.pods if line.name == name]
    return line


def text(outcome: Outcome, difference: Difference | None = None) -> str:
    return "\n".join(TextReport(width=200).lines(outcome, difference))


def markdown(outcome: Outcome) -> str:
    return "\n".join(MarkdownReport().lines(outcome))


def test_a_pod_that_its_kubelet_refuses_has_failed_with_the_reason_of_its_status() -> None:
    outcome, _ = answered(node("n1"), pod("big", "9", nodeName="n1"))
    line = line_of(outcome, "big")
    assert (line.state, line.node, line.last_node) == (State.FAILED, "", "n1")
    assert line.reason == "OutOfcpu"
    assert line.message == (
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 9000, used: 0, capacity: 4000"
    )
    assert not outcome.is_complete
    assert "1 pod on 1 node: 0 placed, 1 failed." in text(outcome)
    assert "default/big on n1" in text(outcome)
    assert line.message in text(outcome)
    assert "| default/big | n1 | OutOfcpu:" in markdown(outcome)
    document = plain(outcome)
    assert document["summary"]["failed"] == document["summary"]["pods"] == 1
    assert document["pods"][0]["lastNode"] == "n1"


def test_pods_on_a_node_that_is_not_ready_stay_until_their_time_is_over() -> None:
    seconds = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    late, forever = [{**seconds, "tolerationSeconds": 300}], [seconds]
    documents = (
        node("n1"),
        not_ready("n2"),
        running("bare", "n2", tolerations=late),
        running("r0", "n2", ("ReplicaSet", "rs"), labels={"app": "rs"}, tolerations=late),
        running("stays", "n2", tolerations=forever),
    )
    outcome, _ = answered(*documents)
    bare = line_of(outcome, "bare")
    assert (bare.state, bare.last_node, bare.evicted_after_seconds) == (State.EVICTED, "n2", 300)
    assert bare.message == ("evicted after 300 s: node.kubernetes.io/not-ready is tolerated for 300 s")
    assert line_of(outcome, "r0").state is State.EVICTED
    (successor,) = [line for line in outcome.pods if line.state is State.PLACED]
    assert (successor.workload, successor.node) == ("ReplicaSet default/rs", "n1")
    stays = line_of(outcome, "stays")
    assert (stays.state, stays.node, stays.reason) == (State.BOUND, "n2", "NodeNotReady")
    assert [(one.pod, one.after_seconds, one.new_node) for one in outcome.evicted] == [
        ("default/bare", 300, ""),
        ("default/r0", 300, "n1"),
    ]
    assert "4 pods on 2 nodes: 1 placed, 1 already there, 2 evicted." in text(outcome)
    assert "default/bare leaves n2 after 300 s → not replaced: no controller" in text(outcome)
    assert "On nodes that are not ready\n  default/stays" in text(outcome)
    soon, _ = answered(*documents, until=100.0)
    assert line_of(soon, "bare").state is State.EVICTING
    assert (line_of(soon, "bare").node, line_of(soon, "bare").evicted_after_seconds) == ("n2", 300)
    assert "leaves in 200 s: node.kubernetes.io/not-ready is tolerated for 300 s" in text(soon)


def test_a_kubelet_that_has_been_silent_makes_its_node_unreachable() -> None:
    tolerated = [
        {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for name in ("not-ready", "unreachable")
    ]
    silent = not_ready("n1")
    silent["status"]["conditions"][0]["lastHeartbeatTime"] = "2025-01-01T00:00:00Z"
    outcome, _ = answered(silent, node("n2"), running("bare", "n1", tolerations=tolerated))
    line = line_of(outcome, "bare")
    assert line.message.endswith("node.kubernetes.io/unreachable is tolerated for 300 s")
    assert line.evicted_after_seconds is not None
    assert line.evicted_after_seconds > 300


def test_a_taint_that_is_not_tolerated_evicts_running_pods_at_once() -> None:
    outcome, _ = answered(node("n1", taints=[risk("30")]), node("n2"), running("r", "n1", tolerations=[below("5")]))
    line = line_of(outcome, "r")
    assert (line.state, line.reason, line.evicted_after_seconds) == (State.EVICTED, "TaintEviction", 0)
    assert line.message == "evicted at once: 30 < 5 is false (taint risk=30, toleration Lt 5)"
    assert not outcome.is_complete
    assert "## Evicted" in markdown(outcome)
    assert plain(outcome)["evicted"][0]["because"].startswith("30 < 5 is false (taint risk=30")


def test_a_workload_that_is_evicted_again_and_again_is_named_once() -> None:
    web = workload("Deployment", "web", "100m", {"tolerations": [below("5", 30)]}, replicas=2)
    outcome, _ = answered(node("n1", taints=[risk("3")]), web)
    (loop,) = outcome.loops
    assert (loop.workload, loop.every_seconds) == ("Deployment default/web", 30)
    assert sorted(line.state for line in outcome.pods) == [State.EVICTED] * 2 + [State.EVICTING] * 2
    assert not outcome.is_complete
    assert text(outcome).count("evicted again every 30 s") == 1
    assert "## Evicted again and again" in markdown(outcome)
    assert plain(outcome)["evictionLoops"][0]["everySeconds"] == 30
    later, _ = answered(node("n1", taints=[risk("3")]), web, until=300.0)
    assert later.count()[State.EVICTED] == 20
    assert later.count()[State.EVICTING] == 2
    assert text(later).count("2 pods leave n1 after 30 s → 2 on n1") == 1
    assert text(later).count("evicted again every 30 s") == 1


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_evicted_pods_of_other_workloads_are_followed_by_their_successors(kind: str) -> None:
    fields = {} if kind == "DaemonSet" else {"replicas": 1, "serviceName": "s"}
    db = workload(kind, "db", "100m", {"tolerations": [below("5", 30)]}, **fields)
    outcome, _ = answered(node("n1", taints=[risk("3")]), db)
    (loop,) = outcome.loops
    assert (loop.workload, loop.every_seconds) == (f"{kind} default/db", 30)
    (first, *_) = outcome.evicted
    assert (first.node, first.new_node) == ("n1", "n1")
    assert first.replaced_by


def test_a_successor_that_finds_another_node_ends_the_evictions() -> None:
    old = running("old", "n1", ("ReplicaSet", "rs"), labels={"app": "rs"}, tolerations=[below("5", 30)])
    outcome, _ = answered(node("n1", taints=[risk("3")]), node("n2", "16"), old)
    assert not outcome.loops
    assert [(line.state, line.evicted_after_seconds, line.node) for line in outcome.pods] == [
        (State.EVICTED, 30, ""),
        (State.PLACED, None, "n2"),
    ]


def test_the_retries_of_another_workload_do_not_delay_an_eviction() -> None:
    refused = workload("Deployment", "refused", "100m", replicas=2)
    refused["metadata"]["namespace"] = "full"
    limit = quota(0)
    limit["metadata"]["namespace"] = "full"
    web = workload("Deployment", "web", "100m", {"tolerations": [below("5", 30)]}, replicas=1)
    outcome, _ = answered(node("n1", taints=[risk("3")]), limit, refused, web)
    assert all(one.after_seconds % 30 == 0 for one in outcome.evicted)
    assert outcome.evicted[0].after_seconds == 30
    assert [loop.every_seconds for loop in outcome.loops] == [30]


def test_pods_that_a_quota_refuses_are_counted() -> None:
    outcome, _ = answered(node("n1"), quota(1), workload("Deployment", "web", "100m", replicas=3))
    (failed,) = outcome.failed
    assert (failed.existing, failed.refused, failed.wanted) == (1, 2, 3)
    assert "1 of 3 pods exists; 2 are refused" in text(outcome)
    assert "3 pods on 1 node: 1 placed, 2 refused." in text(outcome)
    assert "| 1 of 3 pods exists; 2 are refused |" in markdown(outcome)
    assert plain(outcome)["summary"]["pods"] == 3


def test_pods_of_a_deployment_whose_update_a_quota_refuses_are_counted_together() -> None:
    plan = Plan(node("n1"), quota(3), workload("Deployment", "web", "100m", replicas=3))
    plan.what_if(Changes(), workload("Deployment", "web", "200m", replicas=3))
    (failed,) = plan.outcome.failed
    assert failed.counts == "3 of 4 pods exist; 1 is refused"


PARALLEL = {"replicas": 3, "podManagementPolicy": "Parallel"}


@pytest.mark.parametrize(
    ("kind", "fields", "counts"),
    [
        ("Deployment", {"replicas": 3}, "1 of 3 pods exists; 2 are refused"),
        ("ReplicaSet", {"replicas": 3}, "1 of 3 pods exists; 2 are refused"),
        ("StatefulSet", PARALLEL, "1 of 3 pods exists; 2 are refused"),
        ("StatefulSet", {"replicas": 3}, "1 of 3 pods exists; 1 is refused, 1 waits for its turn"),
        ("StatefulSet", {"replicas": 5}, "1 of 5 pods exists; 1 is refused, 3 wait for their turn"),
        ("Job", {"parallelism": 3}, "1 of 3 pods exists; 2 are refused"),
        ("Job", {"parallelism": 5, "completions": 3}, "1 of 3 pods exists; 2 are refused"),
        ("DaemonSet", {}, "1 of 3 pods exists; 2 are refused"),
    ],
)
def test_pods_that_workloads_lack_are_counted(kind: str, fields: Raw, counts: str) -> None:
    outcome, _ = answered(node("n1"), node("n2"), node("n3"), quota(1), workload(kind, "w", "100m", **fields))
    (failed,) = outcome.failed
    assert failed.counts == counts
    assert sum(outcome.count().values()) == failed.wanted


def test_a_pod_of_the_input_that_the_api_server_refuses_has_a_line() -> None:
    outcome, _ = answered(node("n1"), pod("bad", "-1"), pod("good"))
    assert states(outcome) == {"good": "Placed", "bad": "Refused"}
    assert "must be greater than or equal to 0" in line_of(outcome, "bad").message
    assert "2 pods on 1 node: 1 placed, 1 refused." in text(outcome)


def test_pods_that_have_ended_or_are_being_deleted_are_counted() -> None:
    ended = [running("done", "n1"), running("broken", "n1")]
    ended[0]["status"]["phase"], ended[1]["status"]["phase"] = "Succeeded", "Failed"
    leaving = running("leaving", "n1")
    leaving["metadata"] |= {"deletionTimestamp": "2025-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    outcome, _ = answered(node("n1"), *ended, leaving, running("lost", "gone"), pod("new"))
    assert states(outcome) == {
        "done": "Ended",
        "broken": "Ended",
        "leaving": "Terminating",
        "lost": "Bound",
        "new": "Placed",
    }
    assert line_of(outcome, "lost").reason == "NodeNotFound"
    assert outcome.is_complete
    assert "1 placed, 1 already there, 1 terminating, 2 ended before." in text(outcome)


def test_pods_that_finish_while_time_passes_are_counted() -> None:
    job = workload("Job", "job", "100m")
    job["spec"]["template"]["metadata"]["annotations"] = {"moorage.dev/completes-after": "5s"}
    outcome, _ = answered(node("n1"), job, until=60.0)
    assert [line.state for line in outcome.pods] == [State.SUCCEEDED]


def test_a_stateful_set_has_lines_for_pods_that_are_not_created_yet() -> None:
    outcome, _ = answered(node("n1", "1"), workload("StatefulSet", "db", "2", replicas=3, serviceName="s"))
    assert [line.reason for line in outcome.pods] == ["Unschedulable", "NotCreated", "NotCreated"]


def test_a_node_is_drained_before_it_is_removed() -> None:
    changes = Changes(drains=("n1",), removes=("n1",))
    outcome, difference = answered(node("n1"), node("n2"), running("r", "n1", ("ReplicaSet", "rs")), changes=changes)
    (left,) = difference.evicted
    assert (left.pod, left.cause, left.new_node) == ("default/r", "drain", "n2")
    assert [line.name for line in outcome.nodes] == ["n2"]
    assert states(outcome)["r"] == "Evicted"


def test_what_if_keeps_the_lines_of_pods_that_left() -> None:
    plan = Plan(node("n1"), node("n2"), workload("Deployment", "web", replicas=2), pod("bare"))
    before = plan.outcome.count()
    plan.what_if(Changes(taints=(TaintChange("*", "x", "", "NoExecute"),)))
    after = plan.outcome.count()
    assert (before[State.PLACED], after[State.EVICTED], after[State.PENDING]) == (3, 3, 2)
    assert sum(after.values()) == sum(before.values()) + 2


def test_a_what_if_says_which_pods_kubelets_refuse() -> None:
    plan = Plan(node("n1"))
    difference = plan.what_if(None, pod("big", "9", nodeName="n1"))
    assert [line.name for line in difference.failed] == ["big"]
    assert not difference.is_empty
    assert "Newly failed\n  default/big on n1" in text(plan.outcome, difference)
