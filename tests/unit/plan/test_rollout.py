"""Rolling updates, step by step, to the end or to where they stop."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, running, workload

from moorage.model.schema.conversion import convert_view
from moorage.model.types.workload import StatefulSet
from moorage.plan.node_changes import ChangeError
from moorage.plan.rollout import update_limits
from moorage.plan.what_if import Changes

HOST, ZONE = "kubernetes.io/hostname", "zone"


def apart(**fields: Any) -> Raw:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "web"}}, **fields}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(**fields: Any) -> Raw:
    constraint = {
        "topologyKey": HOST,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    return {"topologySpreadConstraints": [constraint | fields]}


def web(replicas: int, surge: object = 1, unavailable: object = 0, cpu: str = "1", pods: Raw | None = None) -> Raw:
    strategy = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return workload("Deployment", "web", cpu, pods, replicas=replicas, strategy=strategy)


NODES = (node("n1"), node("n2"))


def test_with_room_for_one_more_it_completes_one_by_one() -> None:
    rollout = Plan(*NODES, web(2)).rollout("deployment/web")
    assert rollout.completes
    assert [(step.old, step.new, step.available) for step in rollout.steps] == [
        (2, 1, 3),
        (1, 1, 2),
        (1, 2, 3),
        (0, 2, 2),
    ]
    assert not rollout.fix


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "resolved"),
    [
        (4, "25%", "25%", (1, 1)),
        (3, "25%", "25%", (1, 0)),
        (2, 0, 1, (0, 1)),
        (4, "50%", 0, (2, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailable_down(
    replicas: int, surge: object, unavailable: object, resolved: tuple[int, int]
) -> None:
    rollout = Plan(*NODES, web(replicas, surge, unavailable)).rollout("web")
    assert (rollout.max_surge, rollout.max_unavailable) == resolved
    assert rollout.completes
    for step in rollout.steps:
        assert step.old + step.new <= replicas + resolved[0]
        assert step.available >= replicas - resolved[1]


def test_without_room_for_one_more_it_stops_and_says_why() -> None:
    rollout = Plan(node("n1", cpu="2"), web(2)).rollout("web")
    assert not rollout.completes
    assert len(rollout.steps) == 1
    assert "stays Pending: 0/1 nodes are available: 1 Insufficient cpu." in rollout.message
    assert not rollout.fix
    assert Plan(node("n1", cpu="2"), web(2, surge=0, unavailable=1)).rollout("web").completes


def test_anti_affinity_against_the_old_pods_stops_it_and_a_line_would_help() -> None:
    rollout = Plan(*NODES, web(2, pods=apart())).rollout("web")
    assert not rollout.completes
    assert "didn't match pod anti-affinity rules" in rollout.message
    assert rollout.fix == (
        "spec.template.spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]:\n"
        "  matchLabelKeys:\n  - pod-template-hash"
    )
    assert Plan(*NODES, web(2, pods=apart(matchLabelKeys=["pod-template-hash"]))).rollout("web").completes


def test_of_several_rules_only_the_one_that_matters_is_named() -> None:
    rules = apart() | spread(topologyKey=ZONE, maxSkew=9)
    nodes = (node("n1", zone="a"), node("n2", zone="b"))
    rollout = Plan(*nodes, web(2, pods=rules)).rollout("web")
    assert rollout.fix.startswith("spec.template.spec.affinity.podAntiAffinity")
    assert "topologySpread" not in rollout.fix


def test_spreading_over_old_and_new_pods_can_stop_it_too() -> None:
    taints = [{"key": "x", "effect": "NoSchedule"}]
    nodes = (node("n1", cpu="3"), node("n2", cpu="1"), node("n3", taints=taints))
    pods = spread(nodeTaintsPolicy="Honor")
    rollout = Plan(*nodes, web(2, pods=pods)).rollout("web")
    assert not rollout.completes or not rollout.fix


def test_pods_that_run_already_are_the_old_ones() -> None:
    labels = {"app": "web", "pod-template-hash": "abc"}
    there = [running(f"web-abc-{i}", f"n{i}", ("ReplicaSet", "web-abc"), labels=labels, **apart()) for i in (1, 2)]
    rollout = Plan(*NODES, web(2, pods=apart()), *there).rollout("web")
    assert not rollout.completes
    assert "matchLabelKeys" in rollout.fix


def test_recreate_frees_the_places_first() -> None:
    recreated = workload("Deployment", "web", "2", apart(), replicas=2, strategy={"type": "Recreate"})
    rollout = Plan(node("n1", cpu="2"), node("n2", cpu="2"), recreated).rollout("web")
    assert rollout.completes
    assert [step.action for step in rollout.steps] == [
        "remove all old pods (strategy Recreate)",
        "create 2 pods of the new template",
    ]


def test_the_new_template_is_that_of_the_change() -> None:
    plan = Plan(node("n1", cpu="3"), web(2))
    assert plan.rollout("web").completes
    larger = plan.rollout("web", web(2, cpu="2"))
    assert not larger.completes
    assert plan.where  # the plan itself is not touched
    assert all(plan.where.values())


def test_a_template_that_is_refused_stops_it_at_once() -> None:
    bad = web(
        1,
        pods=apart(
            matchLabelKeys=["app"],
            labelSelector={"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]},
        ),
    )
    rollout = Plan(node("n1"), web(1)).rollout("web", bad)
    assert not rollout.completes
    assert rollout.message.startswith("Error creating: Pod ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("deployment/wbe", "there is no Deployment 'wbe' in the input; is it web?"),
        ("deployment/other/web", "there is no Deployment 'other/web' in the input; is it web?"),
        ("job/web", "there is no Deployment, StatefulSet or DaemonSet 'job/web' in the input; is it web?"),
    ],
)
def test_names_that_are_not_there(name: str, reason: str) -> None:
    with pytest.raises(ChangeError) as error:
        Plan(node("n1"), web(1)).rollout(name)
    assert str(error.value) == reason


def test_the_namespace_decides_between_equal_names() -> None:
    other = web(1)
    other["metadata"]["namespace"] = "other"
    plan = Plan(node("n1"), web(1), other)
    assert plan.rollout("deploy/other/web").deployment == "Deployment other/web"
    with pytest.raises(ChangeError, match="several Deployments 'web'"):
        plan.rollout("deployment/web")


def test_pods_that_a_scaling_adds_to_the_old_template_count_as_old() -> None:
    """The Deployment controller scales the ReplicaSet that is there first, and then rolls out."""
    changed = web(9)
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    rollout = Plan(node("n1", "3"), web(2)).rollout("deployment/web", changed)
    assert [(step.old, step.new, step.available) for step in rollout.steps] == [(9, 1, 3)]
    assert not rollout.completes


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
def test_a_rollout_that_is_stuck_can_go_back(kind: str) -> None:
    size: dict[str, Any] = {} if kind == "DaemonSet" else {"replicas": 2}
    good, bad = workload(kind, "web", **size), workload(kind, "web", "99", **size)
    plan = Plan(*NODES, good)
    plan.what_if(Changes(), bad)
    assert plan.why
    back = plan.rollout(f"{kind.lower()}/web", good)
    assert kind == "StatefulSet" or back.completes  # a StatefulSet waits for its stuck pod to be deleted
    assert all(step.old < 2 for step in back.steps)


@pytest.mark.parametrize(("value", "resolved"), [("50%", 1), ("67%", 2), ("10%", 1), (2, 2)])
def test_maxunavailable_of_a_statefulset_is_rounded_down_to_one_at_least(value: object, resolved: int) -> None:
    """As getStatefulSetMaxUnavailable does it, and the controller."""
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": value}}
    view = convert_view(workload("StatefulSet", "db", replicas=3, updateStrategy=strategy), StatefulSet)
    assert update_limits("StatefulSet", view) == (0, resolved)
