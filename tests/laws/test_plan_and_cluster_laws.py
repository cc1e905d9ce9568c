"""What a plan says is what a cluster does: the same objects, placements, reasons, refusals and eviction times.

The cluster is the API server in memory with all controllers, the live scheduler and the kubelets, in virtual time; the
plan is `moorage plan --at` of the same manifests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import ALL_ON, SHUTDOWN, TEAM, Dimension, World, namespace, worlds
from tests.laws.world_in_cluster import picture_of_cluster
from tests.laws.world_in_plan import picture_of_plan
from tests.laws.world_picture import Picture
from tests.unit.plan.planning import Raw, node, workload
from tests.virtual_time import NEVER_ENDS

from moorage.model.gates import gates_from

#: Long enough for every pod that waits to be tried again.
SECONDS = 400.0
#: What is interesting together.
GROUPS = {
    "nodes and workloads": (),
    "what namespaces refuse": (Dimension.LIMIT_RANGES, Dimension.POD_SECURITY, Dimension.CUSTOM_KINDS),
    "namespaces that are missing": (Dimension.ABSENT_NAMESPACES, Dimension.QUOTAS),
    "quotas": (Dimension.QUOTAS, Dimension.LIMIT_RANGES, Dimension.JOBS),
    "priorities": (Dimension.PRIORITIES, Dimension.RUNNING_PODS, Dimension.BUDGETS, Dimension.NODE_NAMES),
    "evictions": (Dimension.EVICTING_TAINTS, Dimension.RUNNING_PODS, Dimension.JOBS),
    "pods whose time runs": (Dimension.TIMED_PODS,),
    "skewed gates": (Dimension.EVICTING_TAINTS, Dimension.SKEWED_GATES, Dimension.NODE_NAMES),
    "nodes that are not ready": (Dimension.UNREADY_NODES, Dimension.RUNNING_PODS),
    "nodes that shut down": (Dimension.SHUTDOWNS, Dimension.RUNNING_PODS, Dimension.NODE_NAMES),
    "nodes that shut down or are not ready": (Dimension.SHUTDOWNS, Dimension.UNREADY_NODES, Dimension.RUNNING_PODS),
    "declared features": (Dimension.DECLARED_FEATURES, Dimension.NODE_NAMES),
    "everything": tuple(Dimension),
}


def of_group(group: tuple[Dimension, ...]) -> frozenset[Dimension]:
    return frozenset(group)


def law_of_one_truth(group: tuple[Dimension, ...], plan: Callable[[World, float], Picture]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(40))
    @given(worlds(of_group(group)))
    def law(world: World) -> None:
        assert plan(world, SECONDS) == picture_of_cluster(world, SECONDS)

    law()


@pytest.mark.parametrize("group", GROUPS)
def test_a_plan_says_what_a_cluster_does(group: str) -> None:
    law_of_one_truth(GROUPS[group], picture_of_plan)


def shutting_down(name: str, periods: str) -> Raw:
    drawn = node(name, "4")
    drawn["metadata"]["annotations"] = {SHUTDOWN: periods}
    return drawn


@pytest.mark.parametrize("slice_seconds", [NEVER_ENDS, 0.0])
def test_daemon_pods_are_not_created_for_nodes_that_shut_down_from_the_beginning(slice_seconds: float) -> None:
    # Kubernetes: addNotReadyTaint in plugin/pkg/admission/nodetaint, NodeShouldRunDaemonPod
    nodes = [shutting_down("n0", "5=0s"), node("n1", "4"), shutting_down("n2", "true")]
    documents = [namespace(TEAM, {}), *nodes, workload("DaemonSet", "w0", "100m", {})]
    world = World(documents, gates_from(ALL_ON), {})
    cluster = picture_of_cluster(world, SECONDS, slice_seconds)
    assert [(pod.node, pod.phase) for pod in cluster.pods.elements()] == [("n1", "Running")]
    assert picture_of_plan(world, SECONDS) == cluster


def test_a_plan_that_ignores_taints_is_noticed() -> None:
    def careless(world: World, seconds: float) -> Picture:
        documents = [{**one, "spec": {}} if one["kind"] == "Node" else one for one in world.documents]
        return picture_of_plan(world._replace(documents=documents), seconds)

    assert_notices(lambda: law_of_one_truth((), careless))


def test_a_plan_in_which_all_nodes_declare_everything_is_noticed() -> None:
    def careless(world: World, seconds: float) -> Picture:
        documents = [
            {**one, "status": {"capacity": one["status"]["capacity"]}} if one["kind"] == "Node" else one
            for one in world.documents
        ]
        return picture_of_plan(world._replace(documents=documents), seconds)

    assert_notices(lambda: law_of_one_truth((Dimension.DECLARED_FEATURES,), careless))


def test_a_plan_that_ignores_shutdowns_is_noticed() -> None:
    def careless(world: World, seconds: float) -> Picture:
        documents = [
            {**one, "metadata": {**one["metadata"], "annotations": {}}} if one["kind"] == "Node" else one
            for one in world.documents
        ]
        return picture_of_plan(world._replace(documents=documents), seconds)

    assert_notices(lambda: law_of_one_truth((Dimension.SHUTDOWNS, Dimension.RUNNING_PODS), careless))


def without(*kinds: str) -> Callable[[World, float], Picture]:
    """Return plans that do not see the objects of these kinds."""

    def careless(world: World, seconds: float) -> Picture:
        documents = [one for one in world.documents if one["kind"] not in kinds]
        return picture_of_plan(world._replace(documents=documents), seconds)

    return careless


@pytest.mark.parametrize(
    ("kind", "dimension"),
    [
        ("LimitRange", Dimension.LIMIT_RANGES),
        ("ResourceQuota", Dimension.QUOTAS),
        ("PriorityClass", Dimension.PRIORITIES),
        ("Job", Dimension.JOBS),
    ],
)
def test_a_plan_that_ignores_a_kind_is_noticed(kind: str, dimension: Dimension) -> None:
    assert_notices(lambda: law_of_one_truth((dimension,), without(kind)))


@pytest.mark.parametrize(
    ("state", "dimensions"),
    [
        ("Evicted", (Dimension.EVICTING_TAINTS, Dimension.RUNNING_PODS)),
        ("Failed", (Dimension.NODE_NAMES,)),
        ("Preempted", (Dimension.PRIORITIES, Dimension.RUNNING_PODS)),
        ("Refused", (Dimension.LIMIT_RANGES,)),
    ],
)
def test_an_outcome_without_pods_of_some_state_is_noticed(state: str, dimensions: tuple[Dimension, ...]) -> None:
    def careless(world: World, seconds: float) -> Picture:
        picture = picture_of_plan(world, seconds)
        picture.lines = Counter({line: count for line, count in picture.lines.items() if line.state != state})
        return picture

    assert_notices(lambda: law_of_one_truth(dimensions, careless))


def test_a_plan_that_does_not_note_a_missing_priority_class_is_noticed() -> None:
    def careless(world: World, seconds: float) -> Picture:
        picture = picture_of_plan(world, seconds)
        picture.absent = Counter()
        return picture

    assert_notices(lambda: law_of_one_truth((Dimension.PRIORITIES,), careless))


@pytest.mark.parametrize("dimension", [Dimension.EVICTING_TAINTS, Dimension.SHUTDOWNS])
def test_evictions_at_other_times_are_noticed(dimension: Dimension) -> None:
    def careless(world: World, seconds: float) -> Picture:
        picture = picture_of_plan(world, seconds)
        late = [
            line._replace(seconds=None if line.seconds is None else line.seconds + 1)
            for line in picture.lines.elements()
        ]
        picture.lines = Counter(late)
        return picture

    assert_notices(lambda: law_of_one_truth((dimension, Dimension.RUNNING_PODS), careless))
