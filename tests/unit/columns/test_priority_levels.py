"""Sums by priority follow the cluster."""

from tests.unit.schedule.clusters import cluster_of, node, pod, requests

from moorage.columns.cluster import Cluster
from moorage.columns.priority_levels import PriorityLevels
from moorage.columns.resources import CPU, PODS


def put(cluster: Cluster, name: str, priority: int, cpu: str, slot: int) -> None:
    record = cluster.record(name, pod(name, priority=priority, containers=requests(cpu=cpu)))
    cluster.add_pod(record, slot)


def sums(levels: PriorityLevels, priority: int, resource: str = CPU) -> dict[int, list[int]]:
    return {level: arrays[resource].values[:2].tolist() for level, arrays in levels.below(priority)}


def test_levels_below_a_priority_lowest_first() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "a", 5, "1", 0)
    put(cluster, "b", 0, "2", 0)
    put(cluster, "c", 0, "3", 1)
    put(cluster, "d", 9, "1", 1)
    levels = PriorityLevels(cluster)
    assert list(sums(levels, 9).items()) == [(0, [2000, 3000]), (5, [1000, 0])]
    assert levels.pods_below(9)[:2].tolist() == [2, 1]
    assert sums(levels, 0) == {}


def test_pods_come_and_go() -> None:
    cluster = cluster_of(node("n"), node("m"))
    put(cluster, "a", 5, "1", 0)
    levels = PriorityLevels(cluster)
    assert sums(levels, 9, PODS) == {5: [1, 0]}
    put(cluster, "b", 5, "2", 1)
    cluster.remove_pod(cluster.pods["a"])
    put(cluster, "c", 7, "2", 1)
    assert sums(levels, 9, PODS) == {5: [0, 1], 7: [0, 1]}


def test_many_changes_at_once() -> None:
    cluster = cluster_of(*(node(f"n{i}") for i in range(200)))
    levels = PriorityLevels(cluster)
    for slot in range(200):
        put(cluster, f"p{slot}", 0, "1", slot)
    assert levels.pods_below(1)[:200].tolist() == [1] * 200
    for slot in range(100):
        cluster.remove_pod(cluster.pods[f"p{slot}"])
    assert levels.pods_below(1)[:200].tolist() == [0] * 100 + [1] * 100


def test_more_nodes_than_before() -> None:
    cluster = cluster_of(node("n"))
    levels = PriorityLevels(cluster)
    put(cluster, "a", 0, "1", 0)
    assert levels.pods_below(1)[0] == 1
    for index in range(200):
        cluster.add_node(node(f"more{index}"))
    put(cluster, "b", 0, "1", 150)
    assert levels.pods_below(1).sum() == 2


def test_priorities_and_resources_that_no_pod_has_any_more_are_forgotten() -> None:
    cluster = cluster_of(node("n"), node("m"))
    levels = PriorityLevels(cluster)
    put(cluster, "stays", 1, "1", 1)
    for number in range(500):
        name, amounts = f"p{number}", {"cpu": "1", f"example.com/r{number}": "1"}
        containers = [{"name": "c", "image": "i", "resources": {"requests": amounts}}]
        cluster.add_pod(cluster.record(name, pod(name, priority=number, containers=containers)), 0)
        assert levels.pods_below(1000)[:2].tolist() == [1, 1]
        cluster.remove_pod(cluster.pods[name])
    assert sums(levels, 1000)[1] == [0, 1000]
    assert sum(map(len, levels._levels.values())) < 150
    assert len(levels._largest) < 50
