"""Which pods take the place that a stopped rollout waits for."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, running, workload

from moorage.plan import taken_places

HOST, ZONE = "kubernetes.io/hostname", "zone"
WITHOUT_SURGE = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
WITH_SURGE = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}


def web(cpu: str = "1500m", strategy: Raw = WITH_SURGE, pods: Raw | None = None, **spec: Any) -> Raw:
    return workload("Deployment", "web", cpu, pods, **{"replicas": 1, "strategy": strategy, **spec})


def away_from(app: str, key: str) -> Raw:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def with_port(pods: Raw) -> Raw:
    containers = [{**pods["containers"][0], "ports": [{"containerPort": 80, "hostPort": 80}]}]
    return {**pods, "containers": containers}


def placed_port(kind: str, name: str, cpu: str = "100m", **spec: Any) -> Raw:
    made = workload(kind, name, cpu, **spec)
    template = made["spec"]["template"]
    template["spec"] = with_port(template["spec"])
    return made


def room(name: str, *documents: Raw) -> str:
    rollout = Plan(*documents).rollout(name)
    assert not rollout.completes
    assert rollout.waits_for or not rollout.taken_by
    return rollout.room


def test_own_old_pods_are_not_called_strangers() -> None:
    assert room("web", node("n1", cpu="2"), web()) == (
        "It waits for room on n1: taken by its own old pod, which it may not remove: maxUnavailable 0."
    )


def test_others_are_counted_by_workload_and_pods_without_one_by_name() -> None:
    other = workload("Deployment", "cache", "300m", replicas=3)
    bare = running("bare", "n1", cpu="100m")
    assert room("web", node("n1", cpu="3"), web(), other, bare) == (
        "It waits for room on n1: taken by Deployment default/cache (3 pods); Pod default/bare (1 pod); "
        "its own old pod, which it may not remove: maxUnavailable 0."
    )


def test_pods_that_ask_for_nothing_that_is_scarce_are_left_out() -> None:
    light = workload("Deployment", "light", replicas=2)
    del light["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert "light" not in room("web", node("n1", cpu="2"), web(), light)


def test_pod_that_took_a_freed_place_is_named_with_the_step() -> None:
    labels = {"app": "web", "pod-template-hash": "abc"}
    there = [running(f"web-{i}", f"n{i}", ("ReplicaSet", "web-abc"), cpu="1500m", labels=labels) for i in (1, 2)]
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10}
    cache = workload("Deployment", "cache", "1", {"priorityClassName": "high"}, replicas=1)
    nodes = (node("n1", cpu="2"), node("n2", cpu="2"))
    never = {**high, "preemptionPolicy": "Never"}
    rollout = Plan(*nodes, never, web(strategy=WITHOUT_SURGE, replicas=2), *there, cache).rollout("web")
    assert not rollout.completes
    first = rollout.taken_by[0]
    assert (first.workload, first.pods, first.is_own) == ("Deployment default/cache", 1, False)
    assert first.after_step > 0
    assert f"Deployment default/cache (1 pod, placed after step {first.after_step})" in rollout.room
    assert "its own old pod, which it may not remove: maxUnavailable 1" in rollout.room


def test_host_port_names_its_user_alone() -> None:
    user, other = placed_port("Deployment", "proxy", replicas=1), workload("Deployment", "cache", "1", replicas=2)
    new = placed_port("Deployment", "web", replicas=1, strategy={"type": "Recreate"})
    plan = Plan(node("n1"), workload("Deployment", "web", "100m", replicas=1), user, other)
    rollout = plan.rollout("web", new)
    assert not rollout.completes
    assert [(one.workload, one.pods) for one in rollout.taken_by if not one.is_own] == [("Deployment default/proxy", 1)]


def test_anti_affinity_names_the_pods_of_the_whole_domain() -> None:
    nodes = (node("n1", cpu="1", zone="a"), node("n2", zone="a"))
    cache = workload("Deployment", "cache", "1", {"nodeSelector": {HOST: "n1"}}, replicas=1)
    new = web("100m", pods=away_from("cache", ZONE))
    rollout = Plan(*nodes, workload("Deployment", "web", "100m", replicas=1), cache).rollout("web", new)
    assert not rollout.completes
    assert "Deployment default/cache" in [one.workload for one in rollout.taken_by]
    assert next(one.nodes for one in rollout.taken_by if one.workload == "Deployment default/cache") == ("n1",)


def test_anti_affinity_of_others_counts_too() -> None:
    guard = workload("Deployment", "guard", "100m", away_from("web", HOST), replicas=1)
    changed = web("200m")
    guarded = (*(node("n1", cpu="4"),), guard)
    plan = Plan(*guarded, workload("Deployment", "web", "100m", replicas=0))
    rollout = plan.rollout("web", {**changed, "spec": {**changed["spec"], "replicas": 1}})
    assert not rollout.completes
    assert rollout.room == "It waits for room on n1: taken by Deployment default/guard (1 pod)."


def test_statefulset_replaces_its_pods_one_after_the_other() -> None:
    strategy = {"type": "RollingUpdate"}
    old = workload("StatefulSet", "db", "1", replicas=2, updateStrategy=strategy)
    new = workload("StatefulSet", "db", "1500m", replicas=2, updateStrategy=strategy)
    rollout = Plan(node("n1", cpu="2"), old).rollout("statefulset/db", new)
    assert not rollout.completes
    assert rollout.room == ("It waits for room on n1: taken by its own old pod, which it replaces one after the other.")


@pytest.mark.parametrize(
    "refused",
    [
        {"nodeSelector": {"pool": "gone"}},
        {"schedulerName": "other"},
        {"schedulingGates": [{"name": "example.com/wait"}]},
    ],
)
def test_no_place_is_named_where_no_pod_is_in_the_way(refused: Raw) -> None:
    rollout = Plan(node("n1", cpu="4"), web("100m")).rollout("web", web("100m", pods=refused))
    assert not rollout.completes
    assert (rollout.waits_for, rollout.taken_by, rollout.room) == ((), (), "")


def test_pod_that_is_too_large_for_an_empty_node_waits_for_none() -> None:
    assert Plan(node("n1", cpu="2"), web()).rollout("web", web("9")).room == ""


def test_trials_are_bounded_and_the_text_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken_places, "_MAX_NODES", 2)
    nodes = [node(f"n{number}", cpu="2") for number in range(9)]
    fill = workload("Deployment", "fill", "1", replicas=8)
    text = room("web", *nodes, web(), fill)
    assert text.startswith("It waits for room on 9 nodes, such as ")
    assert "(2 nodes looked at)" in text


def test_cluster_is_unchanged_afterwards() -> None:
    plan = Plan(node("n1", cpu="2"), web())
    plan.rollout("web")
    nodes = plan.simulation.cluster.nodes
    assert int(nodes.free("cpu")[nodes.slot_of["n1"]]) == 500
