"""What Karpenter does in small clusters: provisioning, limits, weights, consolidation, budgets, and its words."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.unit.autoscale.autoscaled import (
    KARPENTER,
    ON_DEMAND,
    SMALL_ONLY,
    Autoscaled,
    budget,
    deployment,
    node_of_pool,
    node_pool,
)
from tests.unit.plan.planning import running
from tests.unit.plan.pools.pool_worlds import daemon_set

QUICK: dict[str, Any] = {"consolidateAfter": "30s", "budgets": [{"nodes": "100%"}]}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def on_demand(name: str = "od", **fields: Any) -> str:
    return node_pool(name, requirements=ON_DEMAND, **{"disruption": QUICK, **fields})


def small(name: str = "small", **fields: Any) -> str:
    return node_pool(name, requirements=SMALL_ONLY, **{"disruption": QUICK, **fields})


def test_a_node_comes_for_a_batch_of_pods_and_after_the_delay_of_the_cloud() -> None:
    world = Autoscaled(KARPENTER, [on_demand()], deployment("web", 3), words=["provisioning-delay=40s"]).until(60)
    assert world.kinds() == ["c.large/a/on-demand"]
    assert world.added() == [(41, "od-1")]
    assert not world.waiting()
    assert world.events("Nominated") == ["Pod should schedule on: nodeclaim/od-1"] * 3


def test_the_cheapest_kind_that_holds_all_pods_is_started() -> None:
    world = Autoscaled(KARPENTER, [on_demand()], deployment("web", 10)).until(100)
    assert world.kinds() == ["m.2xlarge/a/on-demand"]
    assert not world.waiting()


def test_room_for_daemon_sets_is_kept() -> None:
    """Three pods and a daemon of one CPU do not fit into 3.9 CPUs."""
    world = Autoscaled(KARPENTER, [on_demand()], deployment("web", 3), daemon_set(cpu="1")).until(100)
    assert world.kinds() == ["m.2xlarge/a/on-demand"]


def test_the_pool_of_the_highest_weight_is_tried_first() -> None:
    pools = [small("light"), small("heavy", weight=10), small("tainted", weight=90, taints=[TAINT])]
    world = Autoscaled(KARPENTER, pools, deployment("web", 2)).until(100)
    assert world.nodes == ["heavy-1"]


@pytest.mark.parametrize("limits", [{"cpu": "8"}, {"nodes": "2"}, {"memory": "16Gi"}])
def test_limits_are_never_exceeded(limits: dict[str, str]) -> None:
    world = Autoscaled(KARPENTER, [small(limits=limits)], deployment("web", 12)).until(200)
    assert len(world.nodes) == 2
    assert len(world.waiting()) == 6
    [text] = set(world.events("FailedScheduling"))
    reason = "node limits have been exhausted" if "nodes" in limits else "all available instance types exceed limits"
    assert text == f"Failed to schedule pod, {reason} for nodepool (NodePool=small)"


def test_a_pool_behind_its_limits_gives_way_to_a_lighter_one() -> None:
    pools = [small("first", weight=5, limits={"cpu": "4"}), small("second")]
    world = Autoscaled(KARPENTER, pools, deployment("web", 6)).until(200)
    assert world.nodes == ["first-1", "second-1"]


def test_why_no_node_is_started_pool_by_pool() -> None:
    pools = [small("a", taints=[TAINT]), small("b"), small("c", replicas=1)]
    world = Autoscaled(KARPENTER, pools, deployment("web", 1, "9"), deployment("arm", 1, nodeSelector={"x": "y"}))
    world.until(100)
    refused = {one.pod.split("-")[0]: one.pools for one in world.attached.controller.timeline.refused.values()}
    assert refused["default/web"] == {
        "a": "did not tolerate taint (taint=team=a:NoSchedule)",
        "b": 'no instance type has enough resources, resources={"cpu":"9","pods":"1"}',
        "c": "static nodepools start no nodes for pods (NodePool=c)",
    }
    assert refused["default/arm"]["b"] == 'no instance type met all requirements, resources={"cpu":"1","pods":"1"}'


def test_startup_taints_keep_pods_off_until_they_are_removed() -> None:
    taint = {"key": "cni", "effect": "NoSchedule"}
    text = small().replace('"taints": []', '"taints": [], "startupTaints": [{"key": "cni", "effect": "NoSchedule"}]')
    assert taint["key"] in text
    world = Autoscaled(KARPENTER, [text], deployment("web", 1), words=["startup-taints-delay=30s"])
    assert world.until(80).waiting()
    assert world.nodes == ["small-1"], "no second node is started meanwhile"
    assert not world.until(95).waiting()


def test_pods_that_are_spread_over_zones_get_nodes_in_each() -> None:
    rule = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = {"matchLabels": {"app": "web"}}
    world = Autoscaled(KARPENTER, [node_pool("any")], deployment("web", 4, "3", topologySpreadConstraints=[rule]))
    world.until(120)
    assert not world.waiting()
    assert {kind.split("/")[1] for kind in world.kinds()} == {"a", "b"}


def test_pods_that_exclude_each_other_get_a_node_each() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    world = Autoscaled(KARPENTER, [small()], deployment("web", 3, "100m", affinity=apart)).until(120)
    assert len(world.nodes) == 3
    assert not world.waiting()


# -- consolidation ----------------------------------------------------------------------------------------------------


def test_an_empty_node_goes_after_its_time_a_look_and_a_second_look() -> None:
    world = Autoscaled(KARPENTER, [small()], deployment("web", 2)).until(300).scale("web", 0).until(400)
    assert world.removed() == [(345, "small-1")]
    assert not world.nodes
    step = world.attached.controller.timeline.steps[-1]
    assert step.reason == "Empty: delete, saves 0.1/h"


@pytest.mark.parametrize("policy", ["WhenEmpty", "WhenEmptyOrUnderutilized"])
def test_used_nodes_are_left_alone_when_only_empty_ones_go(policy: str) -> None:
    pool = small(disruption={**QUICK, "consolidationPolicy": policy})
    world = Autoscaled(KARPENTER, [pool], deployment("web", 4)).until(200).scale("web", 2).until(600)
    assert len(world.nodes) == (2 if policy == "WhenEmpty" else 1)
    assert not world.waiting()


def test_never_is_never() -> None:
    pool = small(disruption={"consolidateAfter": "Never"})
    world = Autoscaled(KARPENTER, [pool], deployment("web", 2)).until(200).scale("web", 0).until(3600)
    assert world.nodes == ["small-1"]


def test_a_node_is_replaced_by_a_cheaper_one_which_is_there_first() -> None:
    world = Autoscaled(KARPENTER, [on_demand()], deployment("web", 10)).until(200).scale("web", 2).until(400)
    assert world.kinds() == ["m.2xlarge/a/on-demand", "c.large/a/on-demand"]
    assert world.nodes == ["od-2"]
    [(came, _)] = world.added()[1:]
    [(left, _)] = world.removed()
    assert came < left
    assert not world.waiting()
    assert world.events("DisruptionTerminating") == ["Disrupting Node: Underutilized"]


def test_spot_nodes_are_not_replaced_by_spot_nodes_unless_that_is_switched_on() -> None:
    spot = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]}]
    pool = node_pool("spot", requirements=spot, disruption=QUICK)
    world = Autoscaled(KARPENTER, [pool], deployment("web", 10)).until(200).scale("web", 1).until(600)
    assert world.nodes == ["spot-1"]
    said = "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
    assert said in world.events("Unconsolidatable")
    on = ["spot-to-spot-consolidation=true"]
    world = Autoscaled(KARPENTER, [pool], deployment("web", 10), words=on).until(200).scale("web", 1).until(600)
    assert any(
        text.startswith("SpotToSpotConsolidation requires 15 cheaper") for text in world.events("Unconsolidatable")
    )


def test_several_nodes_become_one() -> None:
    nodes = [node_of_pool(f"n{number}", "od") for number in range(4)]
    pods = [running(f"p{number}", f"n{number}", ("ReplicaSet", "web"), cpu="500m") for number in range(4)]
    world = Autoscaled(KARPENTER, [on_demand()], *nodes, *pods).until(200)
    assert len(world.nodes) == 1
    moments = {time for time, _ in world.removed()}
    assert len(moments) == 1, "they go together"


@pytest.mark.parametrize(("share", "most"), [("0", 0), ("1", 1), ("50%", 2), ("100%", 4)])
def test_budgets_bound_how_many_go_at_a_time(share: str, most: int) -> None:
    nodes = [node_of_pool(f"n{number}", "small") for number in range(4)]
    pool = small(disruption={"consolidateAfter": "0s", "budgets": [{"nodes": share}]})
    world = Autoscaled(KARPENTER, [pool], *nodes)
    world.until(300)
    moments = Counter(time for time, _ in world.removed())
    assert max(moments.values(), default=0) == most
    assert len(world.nodes) == (4 if not most else 0)


def test_a_budget_with_a_schedule_holds_disruption_up_until_it_ends() -> None:
    """The plan begins at midnight: nothing may be disrupted in the first hour of a day."""
    budgets = [{"nodes": "0", "schedule": "0 0 * * *", "duration": "1h"}]
    pool = small(disruption={"consolidateAfter": "0s", "budgets": budgets})
    world = Autoscaled(KARPENTER, [pool], node_of_pool("n", "small")).until(2 * 3600)
    [(time, _)] = world.removed()
    assert 3600 <= time <= 3700


def test_a_budget_of_another_reason_does_not_bind() -> None:
    pool = small(disruption={"consolidateAfter": "0s", "budgets": [{"nodes": "0", "reasons": ["Underutilized"]}]})
    world = Autoscaled(KARPENTER, [pool], node_of_pool("n", "small")).until(100)
    assert not world.nodes


def consolidated(*more: dict[str, Any], **fields: Any) -> bool:
    """Whether two half-empty nodes become one."""
    nodes = [node_of_pool("n0", "small"), node_of_pool("n1", "small")]
    pods = [running(f"p{number}", f"n{number}", ("ReplicaSet", "web"), **fields) for number in range(2)]
    world = Autoscaled(KARPENTER, [small()], *nodes, *pods, *more).until(300)
    return len(world.nodes) == 1


def test_annotations_and_pod_disruption_budgets_protect_nodes() -> None:
    assert consolidated()
    assert not consolidated(metadata={"annotations": {"karpenter.sh/do-not-disrupt": "true"}})
    labels = {"app": "web"}
    assert not consolidated(budget("b", "web", minAvailable="100%"), labels=labels)
    assert not consolidated(budget("b", "web", minAvailable=0), budget("c", "web", minAvailable=0), labels=labels)


def test_an_annotation_with_a_duration_protects_for_that_long() -> None:
    pods = deployment("web", 1, annotations={"karpenter.sh/do-not-disrupt": "10m"})
    world = Autoscaled(KARPENTER, [on_demand()], pods, deployment("more", 8)).until(200).scale("more", 0)
    assert not world.until(600).removed()
    [(time, _)] = world.until(1000).removed()
    assert time > 660


def test_a_node_with_an_annotation_stays() -> None:
    kept = node_of_pool("n", "small")
    kept["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    assert Autoscaled(KARPENTER, [small()], kept).until(300).nodes == ["n"]


def test_nodes_of_no_pool_are_left_alone() -> None:
    other = node_of_pool("other", "unknown")
    assert Autoscaled(KARPENTER, [small()], other).until(300).nodes == ["other"]


def test_balanced_pools_leave_moves_alone_that_save_too_little() -> None:
    """Ten pods on a full node and one on another: moving one pod saves half of the price; the other way is too dear."""
    nodes = [node_of_pool("n0", "small"), node_of_pool("n1", "small")]
    pods = [running(f"p{number}", "n0", ("ReplicaSet", "web"), cpu="100m") for number in range(10)]
    pods += [running("q", "n1", ("ReplicaSet", "web"), cpu="100m")]
    pool = small(disruption={**QUICK, "consolidationPolicy": "Balanced"})
    world = Autoscaled(KARPENTER, [pool], *nodes, *pods).until(300)
    assert world.nodes == ["n0"]
