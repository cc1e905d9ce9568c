"""What Cluster Autoscaler does in small clusters: scale-up, expanders, delays, thresholds, blocked nodes, its words."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.autoscale.autoscaled import CLUSTER_AUTOSCALER, Autoscaled, budget, deployment, group, node_of_group
from tests.unit.plan.planning import running
from tests.unit.plan.pools.pool_worlds import daemon_set

TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"


def scaled(groups: list[str], *documents: dict[str, Any], words: tuple[str, ...] = ()) -> Autoscaled:
    return Autoscaled(CLUSTER_AUTOSCALER, groups, *documents, words=words)


# -- scaling up -------------------------------------------------------------------------------------------------------


def test_a_group_grows_at_the_second_look_for_pods_that_are_new_at_the_first() -> None:
    world = scaled([group("web", most=5)], deployment("web", 6)).until(100)
    assert world.added() == [(70, "web-1"), (70, "web-2")]
    assert not world.waiting()
    assert set(world.events("TriggeredScaleUp")) == {"pod triggered scale-up: [{web 0->2 (max: 5)}]"}


def test_the_next_group_grows_at_the_next_look_if_one_is_not_enough() -> None:
    groups = [group("a", most=1, priority=1), group("b", most=5)]
    world = scaled(groups, deployment("web", 8), words=("expander=priority",)).until(120)
    assert world.added() == [(70, "a-1"), (80, "b-1")]
    assert not world.waiting()


@pytest.mark.parametrize(
    ("expander", "chosen"),
    [("least-waste", "small"), ("price", "cheap"), ("priority", "first"), ("least-nodes", "large")],
)
def test_expanders_choose_the_group(expander: str, chosen: str) -> None:
    groups = [
        group("small", "2", memory="1Gi", price=0.9),
        group("cheap", "6", price=0.01),
        group("first", "6", price=0.9, priority=9),
        group("large", "16", price=0.9),
    ]
    world = scaled(groups, deployment("web", 8), words=(f"expander={expander}",)).until(100)
    assert {name.rpartition("-")[0] for name in world.nodes} == {chosen}


def test_the_config_map_of_the_priority_expander_wins() -> None:
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-autoscaler-priority-expander", "namespace": "kube-system"},
        "data": {"priorities": "10:\n  - ^b$\n1:\n  - .*\n"},
    }
    world = scaled([group("a", priority=5), group("b")], deployment("web", 1), config, words=("expander=priority",))
    assert world.until(100).nodes == ["b-1"]


def test_bounds_of_groups_and_of_the_cluster() -> None:
    world = scaled([group("a", most=2)], deployment("web", 12)).until(200)
    assert len(world.nodes) == 2
    assert "pod didn't trigger scale-up: 1 max node group size reached" in world.events("NotTriggerScaleUp")
    world = scaled([group("a", most=9)], deployment("web", 12), words=("max-nodes-total=1",)).until(200)
    assert len(world.nodes) == 1
    assert "pod didn't trigger scale-up: max total nodes in cluster reached" in world.events("NotTriggerScaleUp")


def test_why_no_group_grows() -> None:
    groups = [group("a", taints=[TAINT]), group("b"), group("c"), group("full", most=0)]
    world = scaled(groups, deployment("web", 1, "9")).until(100)
    [text] = set(world.events("NotTriggerScaleUp"))
    said = "1 max node group size reached, 1 node(s) had untolerated taint {team: a}, 2 Insufficient cpu"
    assert sorted(text.removeprefix("pod didn't trigger scale-up: ").split(", ")) == sorted(said.split(", "))
    [refused] = world.attached.controller.timeline.refused.values()
    assert refused.pools["b"] == "Insufficient cpu"


def test_pods_that_fit_on_nodes_there_are_or_that_come_start_nothing() -> None:
    world = scaled([group("a")], node_of_group("old", "a"), deployment("web", 4)).until(100)
    assert world.nodes == ["old"]
    world = scaled([group("a")], deployment("web", 3)).until(50)
    world.scale("web", 4).until(200)
    assert world.nodes == ["a-1"]


def test_nodes_of_a_group_are_spread_over_its_zones() -> None:
    world = scaled([group("a", zones=["x", "y", "z"])], deployment("web", 20)).until(100)
    zones = [kind.split("/")[1] for kind in world.kinds()]
    assert sorted(zones) == ["x", "x", "y", "y", "z"]


def test_groups_are_filled_up_to_their_least_size_if_that_is_asked_for() -> None:
    assert not scaled([group("a", least=2)]).until(100).nodes
    assert len(scaled([group("a", least=2)], words=("enforce-node-group-min-size=true",)).until(100).nodes) == 2


def test_expendable_pods_start_nothing() -> None:
    low = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "low"}, "value": -20}
    assert not scaled([group("a")], low, deployment("web", 1, priorityClassName="low")).until(100).nodes


def test_a_daemon_set_takes_its_room() -> None:
    world = scaled([group("a")], deployment("web", 4), daemon_set(cpu="1")).until(100)
    assert len(world.nodes) == 2


# -- scaling down -----------------------------------------------------------------------------------------------------


def test_an_empty_node_goes_when_it_was_unneeded_for_ten_minutes() -> None:
    world = scaled([group("a")], deployment("web", 4)).until(900).scale("web", 0).until(1800)
    [(time, name)] = world.removed()
    assert name == "a-1"
    assert 1500 <= time <= 1530
    assert world.events("ScaleDown")[0] == "marked the node as toBeDeleted/unschedulable"
    assert world.events("ScaleDown")[-1] == "nodes removed by cluster autoscaler"


def test_nothing_goes_for_ten_minutes_after_a_scale_up() -> None:
    words = ("scale-down-unneeded-time=1m",)
    world = scaled([group("a")], deployment("web", 4), words=words).until(120).scale("web", 0).until(1200)
    [(time, _)] = world.removed()
    assert 610 <= time <= 640
    world = scaled([group("a")], deployment("web", 4), words=(*words, "scale-down-delay-after-add=2m"))
    [(time, _)] = world.until(120).scale("web", 0).until(1200).removed()
    assert time <= 220


@pytest.mark.parametrize(
    ("cpu", "threshold", "goes"), [("2", "0.5", True), ("2100m", "0.5", False), ("2100m", "0.6", True)]
)
def test_the_threshold_of_utilization(cpu: str, threshold: str, goes: bool) -> None:
    nodes = [node_of_group("n", "a"), node_of_group("other", "b")]
    pod = running("p", "n", ("ReplicaSet", "web"), cpu=cpu)
    words = (f"scale-down-utilization-threshold={threshold}",)
    world = scaled([group("a"), group("b", least=1)], *nodes, pod, words=words).until(1000)
    assert ("n" not in world.nodes) is goes
    assert "other" in world.nodes


def kept(*more: dict[str, Any], owner: tuple[str, str] | None = ("ReplicaSet", "web"), **fields: Any) -> str:
    """Return why a node with one small pod stays beside an empty one that has to stay; empty if it goes."""
    nodes = [node_of_group("n", "a"), node_of_group("other", "b")]
    pod = running("p", "n", owner, **fields)
    world = scaled([group("a"), group("b", least=1)], *nodes, pod, *more).until(1000)
    needed: dict[str, str] = world.attached.controller.needed  # type: ignore[attr-defined]
    assert ("n" in world.nodes) is ("n" in needed)
    return needed.get("n", "")


def test_pods_that_keep_their_node() -> None:
    assert kept() == ""
    assert kept(owner=None) == "blocked by pod default/p is not replicated"
    assert (
        kept(metadata={"annotations": {SAFE: "false"}}) == "blocked by pod default/p is annotated safe-to-evict=false"
    )
    assert kept(owner=None, metadata={"annotations": {SAFE: "true"}}) == ""
    volumes = [{"name": "data", "emptyDir": {}}]
    assert kept(volumes=volumes) == "blocked by pod default/p has local storage"
    labels = {"app": "web"}
    said = "blocked by pod default/p not enough pod disruption budget: default/b"
    assert kept(budget("b", "web", minAvailable=1), labels=labels) == said
    assert kept(nodeSelector={"group": "a"}) == "no place to move its pods"


def test_a_node_with_an_annotation_stays() -> None:
    node = node_of_group("n", "a")
    node["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    assert scaled([group("a")], node).until(1000).nodes == ["n"]


def test_nodes_are_not_removed_below_the_least_size() -> None:
    nodes = [node_of_group(f"n{number}", "a") for number in range(3)]
    assert len(scaled([group("a", least=2)], *nodes).until(1000).nodes) == 2


def test_empty_nodes_go_together_and_drained_ones_one_at_a_time() -> None:
    nodes = [node_of_group(f"n{number}", "a") for number in range(5)]
    pods = [running(f"p{number}", f"n{number}", ("ReplicaSet", "web"), cpu="100m") for number in range(5)]
    world = scaled([group("a")], *nodes).until(1000)
    assert len({time for time, _ in world.removed()}) == 1
    world = scaled([group("a")], *nodes, *pods).until(1000)
    times = [time for time, _ in world.removed()]
    assert len(times) == len(set(times)) == 4
    world = scaled([group("a")], *nodes, *pods, words=("max-drain-parallelism=9",)).until(1000)
    assert len({time for time, _ in world.removed()}) == 1


def test_pods_are_moved_one_node_after_the_other_within_a_budget() -> None:
    nodes = [node_of_group(f"n{number}", "a") for number in range(3)]
    world = scaled([group("a")], *nodes, deployment("web", 3, "500m"), budget("b", "web", maxUnavailable=1))
    world.until(2000)
    assert len(world.nodes) == 1
    assert not world.waiting()


def test_scaling_down_can_be_switched_off() -> None:
    assert scaled([group("a")], node_of_group("n", "a"), words=("scale-down-enabled=false",)).until(2000).nodes == ["n"]


def test_nodes_of_no_group_are_left_alone() -> None:
    other = node_of_group("other", "unknown")
    other["metadata"]["labels"]["group"] = "unknown"
    assert scaled([group("a")], other).until(1000).nodes == ["other"]
