"""Plans of namespaces with LimitRanges, ResourceQuotas and RuntimeClasses."""

from typing import Any

from tests.unit.plan.planning import Plan, node, pod, running, workload

from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def quota(hard: Raw, **fields: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}, **fields}


def messages(plan: Plan) -> list[str]:
    return [note.message for note in plan.outcome.notes]


def test_a_workload_gets_what_the_quota_has_left() -> None:
    plan = Plan(
        node("n1"), running("old", "n1", cpu="500m"), workload("ReplicaSet", "web", replicas=4), quota({"cpu": "2500m"})
    )
    assert sum(name.startswith("web-") for name in plan.where) == 2
    (failed,) = plan.outcome.failed
    assert "exceeded quota: q, requested: cpu=1, used: cpu=2500m, limited: cpu=2500m" in failed.message


def test_new_pods_are_charged_in_their_order() -> None:
    plan = Plan(node("n1"), pod("a"), pod("b"), pod("c"), quota({"pods": "2"}))
    assert sorted(plan.where) == ["a", "b"]
    assert 'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2' in messages(
        plan
    )


def test_a_rollout_goes_on_when_old_pods_give_back_what_they_used() -> None:
    old = workload("Deployment", "web", replicas=2)
    old["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    plan = Plan(node("n1"), old, quota({"pods": "2"}))
    rollout = plan.rollout("web")
    assert rollout.completes, rollout.message


def test_limit_ranges_complete_and_refuse_pods() -> None:
    bounds = {"type": "Container", "max": {"cpu": "2", "memory": "1Gi"}, "defaultRequest": {"memory": "100Mi"}}
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [bounds]}}
    plan = Plan(
        node("n1", cpu="8"), pod("a"), pod("b", cpu="3"), workload("ReplicaSet", "web", replicas=2), limit_range
    )
    assert sorted(name[:3] for name in plan.where) == ["a", "web", "web"]
    (found,) = [one for one in plan.simulation.pods() if one.name == "a"]
    assert str(found.view.spec.containers[0].resources.requests["memory"]) == "100Mi"
    assert any("must be less than or equal to cpu limit of 2" in text for text in messages(plan))
    assert "LimitRanges set memory request for container c; cpu, memory limit for container c" in messages(plan)


def test_a_runtime_class_adds_overhead_and_a_node_selector() -> None:
    kata = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "kata"},
        "handler": "kata",
        "overhead": {"podFixed": {"cpu": "500m"}},
        "scheduling": {"nodeSelector": {"vm": "yes"}},
    }
    nodes = node("n1", "4"), node("n2", "4", vm="yes")
    assert Plan(*nodes, pod("a", "3500m", runtimeClassName="kata"), kata).where == {"a": "n2"}
    assert Plan(*nodes, pod("a", "3600m", runtimeClassName="kata"), kata).where == {"a": ""}


def test_the_defaults_of_a_limit_range_do_not_change_the_template_of_a_stateful_set() -> None:
    """Else the template is a new one after each pod, and the StatefulSet replaces its pods for ever."""
    limits = [{"type": "Container", "max": {"cpu": "2"}}]
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": limits}}
    plan = Plan(node("n1"), limit_range, workload("StatefulSet", "w", "100m", replicas=2, serviceName="s"))
    assert plan.where == {"w-0": "n1", "w-1": "n1"}
    assert len(list(plan.simulation.world.all(KINDS.CONTROLLER_REVISION))) == 1
