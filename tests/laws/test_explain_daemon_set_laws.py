"""What explain says of a DaemonSet is what a cluster makes of it: its counts, and the nodes on which its pods are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import Dimension, World, worlds
from tests.laws.world_in_cluster import objects_in_cluster

from moorage.match.daemon_pods import pinned_to
from moorage.plan.explain.daemon_set import DaemonExplanation, DaemonState, explain_daemon_set
from moorage.plan.explain.target import TargetError, daemon_set_named
from moorage.plan.planner import Planner, Settings

SECONDS = 400.0
DIMENSIONS = frozenset({Dimension.LIMIT_RANGES, Dimension.POD_SECURITY, Dimension.RUNNING_PODS, Dimension.NODE_NAMES})


class Picture(NamedTuple):
    """DESIRED, CURRENT and READY, the nodes with a pod, and those for which a pod waits."""

    counts: tuple[int, int, int]
    running: frozenset[str]
    waiting: frozenset[str]


Pictures = dict[str, Picture]


def explained(world: World, *, alone: bool = False) -> Pictures:
    """Explain each DaemonSet in a simulation of its own."""
    names = [one["metadata"] for one in world.documents if one["kind"] == "DaemonSet"]
    return {
        f"{at.get('namespace', 'default')}/{at['name']}": found
        for at in names
        if (found := _explained(world, at, alone))
    }


def _explained(world: World, metadata: dict[str, str], alone: bool) -> Picture | None:
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects(world.documents)
    simulation = planner.build()
    name = f"daemonset/{metadata.get('namespace', 'default')}/{metadata['name']}"
    try:
        item = daemon_set_named(planner.inventory, name)
    except TargetError:
        return None  # the API server refuses it
    assert item is not None
    told = explain_daemon_set(simulation, planner.inventory, item, alone=alone)
    lacking = told.of_state(DaemonState.RUNNING, DaemonState.PENDING, DaemonState.REFUSED, DaemonState.MISSING)
    assert sum(len(group.nodes) for group in lacking) == told.desired
    assert sum(len(group.nodes) for group in told.groups) == told.nodes
    assert all(group.refused.refusals or group.state is DaemonState.RUNNING for group in told.groups)
    return Picture(
        (told.desired, told.current, told.ready),
        _nodes(told, DaemonState.RUNNING, DaemonState.STAYS),
        _nodes(told, DaemonState.PENDING),
    )


def _nodes(told: DaemonExplanation, *states: DaemonState) -> frozenset[str]:
    return frozenset(name for group in told.of_state(*states) for name in group.nodes)


def happened(world: World) -> Pictures:
    found = objects_in_cluster(world, SECONDS, ("DaemonSet", "Pod"))
    pictures = {}
    for one in found["DaemonSet"]:
        pods = [
            pod.view for pod in found["Pod"] if any(ref.uid == one.uid for ref in pod.view.metadata.ownerReferences)
        ]
        status = one.view.status
        pictures[one.key] = Picture(
            (status.desiredNumberScheduled, status.currentNumberScheduled, status.numberReady),
            frozenset(pod.spec.nodeName for pod in pods if pod.spec.nodeName),
            frozenset(pinned_to(pod.spec) for pod in pods if not pod.spec.nodeName),
        )
    return pictures


def law_of_daemon_sets(explain: Callable[[World], Pictures]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(40))
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        assert explain(world) == happened(world)

    law()


def test_explain_says_what_a_cluster_makes_of_a_daemon_set() -> None:
    law_of_daemon_sets(explained)


def test_explanations_from_before_pods_are_placed_are_noticed() -> None:
    assert_notices(lambda: law_of_daemon_sets(partial(explained, alone=True)))
