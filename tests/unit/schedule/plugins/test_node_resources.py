"""NodeResourcesFit and NodeResourcesBalancedAllocation: what fits, by how much it does not, and where it fits best."""

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place, pod, requests, scores, verdicts

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.schedule.plugins.node_resources_fit import (
    NodeResourcesFit,
    most_allocated,
    requested_to_capacity_ratio,
    shown,
)


def has(**allocatable: str) -> dict[str, dict[str, str]]:
    named = {name.replace("__", "/").replace("_", "-"): value for name, value in allocatable.items()}
    return {"allocatable": {"pods": "10", **named}}


def cluster() -> Cluster:
    return cluster_of(
        node("small", status=has(cpu="1", memory="1Gi")),
        node("large", status=has(cpu="8", memory="32Gi")),
        node("gpu", status={"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "10", "nvidia.com/gpu": "2"}}),
        node("full", status={"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "0"}}),
        node("empty", status={"allocatable": {}}),
    )


def test_a_node_without_room_says_how_much_is_missing() -> None:
    asked = alone(NodeResourcesFit(), cluster(), pod(containers=requests(cpu="1500m", memory="2Gi")))
    assert passing(asked) == {"large", "gpu"}
    found = verdicts(asked)
    assert found["small"].reasons == ("Insufficient cpu", "Insufficient memory")
    assert found["small"].code is Code.UNRESOLVABLE
    assert found["small"].details[0] == "cpu: 1500m <= 1 is false (allocatable 1, requested 0)"
    assert found["full"].reasons == ("Too many pods",)
    assert found["full"].code is Code.UNSCHEDULABLE
    assert found["empty"].reasons == ("Too many pods", "Insufficient cpu", "Insufficient memory")


def test_what_others_use_is_counted_and_eviction_would_help() -> None:
    used = cluster_of(node("a"))
    place(used, pod("there", containers=requests(cpu="3")), "a")
    asked = alone(NodeResourcesFit(), used, pod(containers=requests(cpu="2")))
    verdict = verdicts(asked)["a"]
    assert (verdict.code, verdict.reasons) == (Code.UNSCHEDULABLE, ("Insufficient cpu",))
    used.remove_pod(used.pods["default/there"])
    assert passing(asked) == {"a"}


def test_a_pod_that_asks_for_nothing_needs_only_its_place() -> None:
    assert passing(alone(NodeResourcesFit(), cluster(), pod())) == {"small", "large", "gpu"}


def test_extended_resources_and_ignored_ones() -> None:
    asking = pod(containers=[{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"}}}])
    assert passing(alone(NodeResourcesFit(), cluster(), asking)) == {"gpu"}
    everywhere = {"small", "large", "gpu"}
    by_name = NodeResourcesFit(ignored=frozenset({"nvidia.com/gpu"}))
    assert passing(alone(by_name, cluster(), asking)) == everywhere
    by_group = NodeResourcesFit(ignored_groups=frozenset({"nvidia.com"}))
    assert passing(alone(by_group, cluster(), asking)) == everywhere


def test_strategies() -> None:
    two = cluster_of(node("half", status=has(cpu="2", memory="2Gi")), node("roomy", status=has(cpu="4", memory="4Gi")))
    asking = pod(containers=requests(cpu="1", memory="1Gi"))
    assert scores(alone(NodeResourcesFit(), two, asking)) == {"half": 50, "roomy": 75}
    assert scores(alone(NodeResourcesFit(most_allocated()), two, asking)) == {"half": 50, "roomy": 25}
    ratio = requested_to_capacity_ratio([(0, 0), (50, 10), (100, 0)])
    assert scores(alone(NodeResourcesFit(ratio), two, asking)) == {"half": 100, "roomy": 50}
    weighted = NodeResourcesFit(weights=(("cpu", 3), ("nvidia.com/gpu", 5)))
    assert scores(alone(weighted, two, asking)) == {"half": 50, "roomy": 75}


@pytest.mark.parametrize("strategy", [most_allocated(), requested_to_capacity_ratio([(0, 10), (100, 0)])])
def test_a_node_without_capacity_scores_nothing(strategy: object) -> None:
    nothing = cluster_of(node("none", status=has()))
    plugin = NodeResourcesFit(strategy)  # type: ignore[arg-type]
    assert scores(alone(plugin, nothing, pod())) == {"none": 0}


def test_balance_is_preferred() -> None:
    two = cluster_of(
        node("even", status=has(cpu="4", memory="4Gi")), node("skewed", status=has(cpu="4", memory="64Gi"))
    )
    asking = pod(containers=requests(cpu="2", memory="2Gi"))
    found = scores(alone(NodeResourcesBalancedAllocation(), two, asking))
    assert found["even"] > found["skewed"]
    assert not alone(NodeResourcesBalancedAllocation(), two, pod()).scores


def test_balance_of_three_resources() -> None:
    status = {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10", "nvidia.com/gpu": "4"}}
    two = cluster_of(node("all", status=status), node("some", status=has(cpu="4", memory="4Gi")))
    plugin = NodeResourcesBalancedAllocation(("cpu", "memory", "nvidia.com/gpu"))
    asked = alone(plugin, two, pod(containers=requests(cpu="2", memory="1Gi", **{"nvidia.com/gpu": "1"})))
    score = asked.scores[0]
    every = score.plugin.score(score.prepared.want, two, two.nodes.alive)
    assert [score.plugin.score_slot(score.prepared.want, two, slot) for slot in (0, 1)] == every[:2].tolist()


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 3 * 2**30, "3Gi"),
        ("memory", 5 * 2**20, "5Mi"),
        ("memory", 2048, "2Ki"),
        ("memory", 1000, "1000"),
        ("pods", 0, "0"),
    ],
)
def test_amounts_are_shown_as_people_write_them(resource: str, value: int, text: str) -> None:
    assert shown(resource, value) == text
