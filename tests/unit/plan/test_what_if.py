"""Changes and everything that follows from them."""

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload

from moorage.plan.departures import Cause, Departure
from moorage.plan.node_changes import (
    ChangeError,
    ScaleChange,
    TaintChange,
    UntaintChange,
    parse_taint,
    parse_untaint,
)
from moorage.plan.pod_lines import State
from moorage.plan.simulation import loading
from moorage.plan.what_if import Changes

TAINT = TaintChange("n1", "maintenance", "soon", "NoExecute")


def tolerated_for(seconds: int | None) -> Raw:
    toleration: Raw = {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}
    return {"tolerations": [toleration | ({} if seconds is None else {"tolerationSeconds": seconds})]}


def only(departures: list[Departure]) -> Departure:
    (departure,) = departures
    return departure


def test_nothing_changes_nothing() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=2), pod("a", "9"))
    before = plan.where
    assert plan.what_if().is_empty
    assert plan.where == before


def test_a_taint_evicts_and_the_controller_makes_the_pod_anew_elsewhere() -> None:
    plan = Plan(node("n1"), workload("Deployment", "web"), pod("stays", **tolerated_for(None)))
    difference = plan.what_if(Changes(taints=(TAINT,)), node("n2"))
    gone = only(difference.departures)
    assert (gone.node, gone.cause, gone.after_seconds, gone.new_node) == ("n1", Cause.TAINT, 0, "n2")
    assert gone.because == "maintenance=soon is not tolerated: no toleration is for its key and effect"
    assert gone.replaced_by != gone.pod
    assert plan.where["stays"] == "n1"


def test_evictions_come_in_the_order_of_time() -> None:
    plan = Plan(node("n1"), node("n2", cpu="1"), pod("now"), *(pod(f"s{s}", **tolerated_for(s)) for s in (60, 10)))
    placed = {name for name, where in plan.where.items() if where == "n1"}
    difference = plan.what_if(Changes(taints=(TAINT,)))
    assert [(gone.pod.removeprefix("default/"), gone.after_seconds) for gone in difference.departures] == [
        (name, seconds) for name, seconds in (("now", 0), ("s10", 10), ("s60", 60)) if name in placed
    ]
    assert all(not gone.replaced_by for gone in difference.departures)  # nobody makes bare pods anew


def test_whoever_goes_first_gets_the_room_there_is() -> None:
    plan = Plan(
        node("n1", cpu="4"),
        workload("Deployment", "patient", "2", pods=tolerated_for(60)),
        workload("Deployment", "hasty", "2"),
    )
    difference = plan.what_if(Changes(taints=(TAINT,)), node("n2", cpu="2"))
    first, second = difference.departures
    assert (first.workload, first.after_seconds, first.new_node) == ("Deployment default/hasty", 0, "n2")
    assert (second.workload, second.after_seconds, second.new_node) == ("Deployment default/patient", 60, "n1")


def test_a_successor_that_has_to_leave_in_its_turn_was_not_pending() -> None:
    plan = Plan(
        node("n1"), workload("Deployment", "patient", pods=tolerated_for(60)), pod("slow", **tolerated_for(150))
    )
    difference = plan.what_if(Changes(taints=(TAINT,)))
    first, second, _ = difference.departures
    assert (first.after_seconds, first.new_node, first.replaced_by) == (60, "n1", second.pod)
    assert (second.after_seconds, second.new_node) == (120, "n1")


def test_untaint_lets_pending_pods_in() -> None:
    plan = Plan(node("n1", taints=[{"key": "gpu", "effect": "NoSchedule"}]), pod("a"), workload("DaemonSet", "agent"))
    assert plan.where == {"a": ""}
    difference = plan.what_if(Changes(untaints=(UntaintChange("n1", "gpu", ""),)))
    assert sorted(one.name[:5] for one in difference.placed) == ["a", "agent"]
    assert not difference.departures


def test_drain_moves_what_has_a_controller_and_leaves_daemons() -> None:
    plan = Plan(
        node("n1"), workload("Deployment", "web", replicas=2), workload("DaemonSet", "agent", "100m"), pod("bare")
    )
    difference = plan.what_if(Changes(drains=("n1",)), node("n2"))
    by_workload = {gone.workload: gone for gone in difference.departures}
    assert by_workload["Deployment default/web"].new_node == "n2"
    assert by_workload[""].replaced_by == ""
    assert "DaemonSet default/agent" not in by_workload
    assert plan.nodes_of("agent") == ["n1", "n2"]
    assert not plan.outcome.nodes[0].schedulable


def budget(least: int) -> Raw:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}},
    }


def test_a_blocked_drain_does_not_wait_for_pods_that_are_evicted_again_and_again() -> None:
    spot = [{"key": "maintenance", "value": "soon", "effect": "NoExecute"}]
    plan = Plan(
        node("n1", pool="web"),
        node("n2", taints=spot),
        workload("Deployment", "web", replicas=2, pods={"nodeSelector": {"pool": "web"}}),
        budget(2),
        workload("Deployment", "loop", pods=tolerated_for(60) | {"nodeSelector": {"kubernetes.io/hostname": "n2"}}),
    )
    difference = plan.what_if(Changes(drains=("n1",)))
    assert len(difference.blocked) == 2
    assert difference.departures == []
    assert len(plan.states) < 10


@pytest.mark.parametrize(("least", "room", "moved", "blocked"), [(1, "4", 2, 0), (1, "0", 1, 1), (2, "4", 0, 2)])
def test_a_drain_respects_budgets_and_waits_for_what_it_moved(least: int, room: str, moved: int, blocked: int) -> None:
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=2), budget(least))
    difference = plan.what_if(Changes(drains=("n1",)), node("n2", cpu=room))
    assert len(difference.departures) == moved
    assert len(difference.blocked) == blocked
    assert all("disruption budget" in one.message for one in difference.blocked)


def test_an_eviction_moves_one_pod_and_its_node_may_take_the_next_one_unless_it_is_cordoned() -> None:
    plan = Plan(node("n1"), node("n2"), workload("Deployment", "web", replicas=1))
    name, where = next(iter(plan.where.items()))
    other = "n2" if where == "n1" else "n1"
    difference = plan.what_if(Changes(evicts=(name,), cordons=(where,)))
    assert difference.changes == (f"cordon node {where}", f"evict pod {name}")
    (left,) = difference.evicted
    assert (left.pod, left.node, left.cause, left.because) == (f"default/{name}", where, Cause.EVICTION, "is evicted")
    assert left.new_node == other
    line = next(pod for pod in plan.outcome.pods if pod.name == name)
    assert (line.state, line.reason) == (State.EVICTED, "EvictionByEvictionAPI")


def test_an_eviction_that_a_budget_refuses_is_told_and_not_tried_again() -> None:
    plan = Plan(node("n1"), node("n2"), workload("Deployment", "web", replicas=2), budget(2))
    name = next(iter(plan.where))
    difference = plan.what_if(Changes(evicts=(f"default/{name}",)))
    assert difference.evicted == []
    (refused,) = difference.blocked
    assert refused.message.startswith("the eviction is refused: Cannot evict pod as it would violate")
    assert "PodDisruptionBudget default/web" in refused.message
    assert difference.sentence == "1 eviction refused"
    assert difference.is_worse


def test_a_pod_without_a_controller_is_not_made_again_after_its_eviction() -> None:
    plan = Plan(node("n1"), pod("alone"))
    difference = plan.what_if(Changes(evicts=("alone",)))
    (left,) = difference.evicted
    assert (left.replaced_by, left.new_node) == ("", "")


def test_a_lost_node_takes_its_pods_with_it() -> None:
    plan = Plan(node("n1"), workload("StatefulSet", "db"), workload("DaemonSet", "agent", "100m"))
    difference = plan.what_if(Changes(removes=("n1",)), node("n2"))
    moved = {gone.workload: gone for gone in difference.departures}
    database = moved["StatefulSet default/db"]
    assert (database.replaced_by, database.new_node, database.cause) == ("default/db-0", "n2", Cause.NODE_REMOVED)
    assert moved["DaemonSet default/agent"].node == "n1"
    assert [line.name for line in plan.outcome.nodes] == ["n2"]


def test_pods_of_a_removed_node_are_gone_with_it_and_did_not_fail() -> None:
    plan = Plan(node("n1"), node("n2"), workload("DaemonSet", "agent", "100m"), running("bare", "n1"))
    difference = plan.what_if(Changes(removes=("n1",)))
    assert difference.failed == []
    assert difference.sentence == "1 pod is lost with its node, 1 is removed"
    assert difference.is_worse  # no controller makes the bare pod again
    gone = {line.workload: (line.state, line.message) for line in plan.outcome.pods if line.last_node == "n1"}
    assert gone == {
        "": (State.DELETED, "its node n1 is gone"),
        "DaemonSet default/agent": (State.DELETED, "its node n1 is gone"),
    }


def test_manifests_on_top_scale_add_and_replace() -> None:
    web, api = workload("Deployment", "web", replicas=3), workload("Deployment", "api", replicas=1)
    plan = Plan(node("n1", cpu="5"), web, api)
    difference = plan.what_if(
        Changes(files=("new.yaml",)),
        workload("Deployment", "web", replicas=1),
        workload("Deployment", "api", "2"),
        pod("new"),
    )
    causes = sorted(gone.cause.value for gone in difference.departures)
    assert causes == ["new template", "removed by its controller", "removed by its controller"]
    replaced = next(gone for gone in difference.departures if gone.cause is Cause.NEW_TEMPLATE)
    assert replaced.new_node == "n1"
    assert replaced.replaced_by.rpartition("-")[0] != replaced.pod.rpartition("-")[0]  # another template hash
    assert [one.name for one in difference.placed] == ["new"]


def test_a_larger_node_and_a_changed_pod_on_top() -> None:
    plan = Plan(node("n1", cpu="1"), pod("a", "2"), running("b", "n1", cpu="0"))
    labelled = running("b", "n1", cpu="0", labels={"new": "label"})
    difference = plan.what_if(Changes(files=("new.yaml",)), node("n1", cpu="4"), labelled)
    assert [one.name for one in difference.placed] == ["a"]
    assert plan.pod("b").metadata.labels == {"new": "label"}
    assert plan.where["b"] == "n1"


def test_pods_of_a_controller_that_is_not_in_the_input_are_made_anew_too() -> None:
    plan = Plan(node("n1"), running("api-1-x", "n1", ("ReplicaSet", "api-1")), running("d", "n1", ("DaemonSet", "ds")))
    difference = plan.what_if(Changes(removes=("n1",)), node("n2"))
    moved = {gone.pod: gone.new_node for gone in difference.departures}
    assert moved == {"default/api-1-x": "n2", "default/d": ""}


def test_mirror_pods_are_left_alone() -> None:
    tolerations = [{"operator": "Exists", "effect": "NoExecute"}]  # which kubelets give to static pods
    annotations = {"kubernetes.io/config.mirror": "x"}
    mirror = running("kube-proxy-n1", "n1", metadata={"annotations": annotations}, tolerations=tolerations)
    plan = Plan(node("n1"), mirror)
    assert plan.what_if(Changes(taints=(TAINT,), drains=("n1",))).is_empty


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (Changes(drains=("worker-9",)), "there is no node 'worker-9' in the input; is it worker-1?"),
        (Changes(removes=("elsewhere",)), "there is no node 'elsewhere' in the input"),
        (Changes(evicts=("shop/web",)), "there is no pod 'shop/web' in the input"),
        (Changes(evicts=("web",)), "there is no pod 'default/web' in the input"),
        (Changes(evicts=("large",)), "pod 'default/large' is not on a node"),
        (Changes(untaints=(UntaintChange("n1", "x", ""),)), "node n1 has no taint x"),
        (
            Changes(taints=(TaintChange("n1", "no key", "", "NoExecute"),)),
            'Node "n1" is invalid: metadata.taints[0].key',
        ),
    ],
)
def test_changes_that_cannot_be_made(changes: Changes, reason: str) -> None:
    with pytest.raises(ChangeError) as error:
        Plan(node("n1"), node("worker-1"), pod("large", "100")).what_if(changes)
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("n1=a=b:NoExecute", TaintChange("n1", "a", "b", "NoExecute")),
        ("n1=a:NoSchedule", TaintChange("n1", "a", "", "NoSchedule")),
        ("n1=example.com/a=1.2.3:NoSchedule", TaintChange("n1", "example.com/a", "1.2.3", "NoSchedule")),
        ("n1", None),
        ("n1=a=b", None),
        ("n1=a=b:Never", None),
        ("=a=b:NoExecute", None),
    ],
)
def test_taints_as_they_are_written(text: str, change: TaintChange | None) -> None:
    if change is None:
        with pytest.raises(ChangeError):
            parse_taint(text)
    else:
        assert parse_taint(text) == change


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("n1=a", UntaintChange("n1", "a", "")),
        ("n1=a:NoExecute", UntaintChange("n1", "a", "NoExecute")),
        ("n1", None),
        ("n1=a:Never", None),
    ],
)
def test_untaints_as_they_are_written(text: str, change: UntaintChange | None) -> None:
    if change is None:
        with pytest.raises(ChangeError):
            parse_untaint(text)
    else:
        assert parse_untaint(text) == change


def test_a_change_may_not_ask_for_endless_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_PODS", 40)
    monkeypatch.setattr(loading, "MAX_WRITES", 10)
    plan = Plan(node("n1"), workload("Deployment", "web", replicas=1))
    plan.what_if(Changes(), workload("Deployment", "many", replicas=999_999_999))
    assert any("asks for 999,999,999 pods; 40 are planned" in note for note in plan.notes)
    assert len(plan.nodes_of("many")) == 40
    plan.what_if(Changes(scales=(ScaleChange("web", 90),)))
    assert len(plan.nodes_of("web")) == 90
    assert not any("does not come to rest" in note for note in plan.notes)


def test_a_replication_controller_is_planned_scaled_and_drained_like_a_replica_set() -> None:
    template = workload("ReplicaSet", "web")["spec"]["template"]
    spec = {"replicas": 2, "template": template}
    controller = {"apiVersion": "v1", "kind": "ReplicationController", "metadata": {"name": "web"}, "spec": spec}
    plan = Plan(node("n1"), controller)
    assert plan.nodes_of("web") == ["n1", "n1"]
    plan.what_if(Changes(scales=(ScaleChange("rc/web", 3),), drains=("n1",)), node("n2"))
    assert plan.nodes_of("web") == ["n2", "n2", "n2"]


def test_a_manifest_of_a_pod_that_runs_changes_nothing() -> None:
    live = running(
        "p", "n1", serviceAccountName="default", schedulingGates=[], volumes=[{"name": "token", "emptyDir": {}}]
    )
    plan = Plan(node("n1"), live)
    difference = plan.what_if(Changes(), pod("p"))
    assert difference.is_empty
    assert plan.where == {"p": "n1"}
    assert not [str(note) for note in plan.planner.inventory.notes if note.level == "error"]


def test_a_larger_quota_lets_a_refused_pod_be_made() -> None:
    """The StatefulSet tries again long after the plan came to rest, and it does not give up."""

    def quota(cpu: str) -> Raw:
        spec = {"hard": {"requests.cpu": cpu}}
        return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}

    plan = Plan(node("a"), quota("500m"), workload("StatefulSet", "web", replicas=1))
    assert plan.where == {}
    plan.what_if(Changes(("quota",)), quota("1"))
    assert plan.where == {"web-0": "a"}
