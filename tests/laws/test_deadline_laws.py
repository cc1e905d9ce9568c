"""When plan, explain and watch say that a running pod leaves its node, it leaves it in a cluster, to the second.

Taints are in the input from the beginning, with and without the time when they were added; pods were bound before or
after that, and tolerate several taints for different times, so that the shortest time need not decide.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_worlds import Dimension, World, is_existing, worlds
from tests.laws.world_in_cluster import picture_of_cluster
from tests.laws.world_in_plan import planned
from tests.laws.world_picture import ENDLESS, EVICTED, ON_NODE, subject_of
from tests.unit.plan.planning import Raw
from tests.virtual_time import BASE

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.match import eviction_clock
from moorage.match.eviction_clock import Countdown
from moorage.match.taint_eviction import Eviction
from moorage.model.kinds import KINDS
from moorage.plan.explain.explanation import explain_pod
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.target import find_target
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import State
from moorage.watch.state import Watched

#: Longer than any time for which a taint is tolerated.
SECONDS = 400.0
#: The plan is shown at this time: some pods have left by then.
AT = 7.0
DIMENSIONS = frozenset({Dimension.EVICTING_TAINTS, Dimension.RUNNING_PODS, Dimension.TIMED_PODS})
#: Kind, namespace and name of a pod → after how many seconds it leaves; None if it stays.
Deadlines = dict[str, int | None]
View = Callable[[World], Deadlines]


def running(world: World) -> list[str]:
    return [subject_of(one) for one in world.documents if one["kind"] == "Pod" and is_existing(one)]


def in_cluster(world: World) -> Deadlines | None:
    """When pods that run at the beginning leave; those that end otherwise are left out. None if it never ends."""
    picture = picture_of_cluster(world, SECONDS)
    if picture == ENDLESS:
        return None
    found = {line.workload: line for line in picture.lines}
    return {pod: found[pod].seconds for pod in running(world) if found[pod].state in (EVICTED, ON_NODE)}


def in_plan(world: World) -> Deadlines:
    _, outcome = planned(world, AT)
    told: Deadlines = {}
    for line in outcome.pods:
        if line.state is State.EVICTED:
            told[f"Pod {line.key}"] = line.evicted_after_seconds
        elif line.is_on_node:
            left = line.deadline.seconds if line.deadline is not None else None
            told[f"Pod {line.key}"] = None if left is None else round(AT) + left
            assert line.evicted_after_seconds == told[f"Pod {line.key}"]
    return told


def in_explanations(world: World) -> Deadlines:
    told: Deadlines = {}
    for pod in running(world):
        planner = Planner(Settings(world.gates, others=world.others))
        planner.load_objects(world.documents)
        simulation = planner.build()
        target = find_target(simulation, planner.inventory, pod.removeprefix("Pod "))
        explanation = explain_pod(simulation, planner.inventory, target)
        if explanation.standing in (Standing.BOUND, Standing.EVICTED):
            told[pod] = explanation.deadline.seconds if explanation.deadline is not None else None
    return told


def in_watch(world: World) -> Deadlines:
    watched = Watched()
    nodes = [one for one in world.documents if one["kind"] == "Node"]
    pods = [one for one in world.documents if one["kind"] == "Pod" and is_existing(one)]
    watched.pods_changed([Delta(None, _object(one)) for one in pods], BASE)
    watched.nodes_changed([Delta(None, _object(one)) for one in nodes], BASE)
    told: Deadlines = dict.fromkeys(running(world))
    for line in watched.leaving(BASE):
        assert line.deadline is not None
        told[f"Pod {line.key}"] = line.deadline.seconds
    return told


def _object(document: Raw) -> Object:
    metadata = document["metadata"]
    if document["kind"] == "Node":
        return Object(KINDS.NODE, metadata["name"], 1, raw=document)
    return Object(KINDS.POD, f"{metadata['namespace']}/{metadata['name']}", 1, raw=document)


VIEWS = {"plan": in_plan, "explain": in_explanations, "watch": in_watch}


def law_of_deadlines(view: View) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(60))
    @given(worlds(DIMENSIONS))
    def law(world: World) -> None:
        happens = in_cluster(world)
        if happens:
            told = view(world)
            assert {pod: told[pod] for pod in happens} == happens

    law()


@pytest.mark.parametrize("name", VIEWS)
def test_a_pod_leaves_when_it_is_said_to(name: str) -> None:
    law_of_deadlines(VIEWS[name])


def shortest(taints: object, eviction: Eviction, pod: object, now: float, **more: object) -> Countdown:
    """Let the taint decide that is tolerated for the shortest time, whenever it was added."""
    return Countdown(now + eviction.seconds, {}, eviction.because)


@pytest.mark.parametrize("name", VIEWS)
def test_a_clock_by_the_shortest_time_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eviction_clock, "countdown", shortest)
    assert_notices(lambda: law_of_deadlines(VIEWS[name]))


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_ignores_when_taints_were_added_is_noticed(name: str) -> None:
    def careless(world: World) -> Deadlines:
        documents = [_without_times(one) if one["kind"] == "Node" else one for one in world.documents]
        return VIEWS[name](world._replace(documents=documents))

    assert_notices(lambda: law_of_deadlines(careless))


def _without_times(node: Raw) -> Raw:
    taints = [
        {key: value for key, value in one.items() if key != "timeAdded"} for one in node["spec"].get("taints", ())
    ]
    return {**node, "spec": {**node["spec"], "taints": taints}}
