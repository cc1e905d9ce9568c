"""Taints that change again and again evict the same pods in a what-if as in a cluster, in the same seconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import taints
from tests.laws.random_worlds import NODES, Dimension, World, worlds
from tests.laws.world_in_cluster import REST_SECONDS, Story, evictions_in_cluster
from tests.laws.world_picture import EVICTED, Line

from moorage.plan.departures import Cause
from moorage.plan.node_changes import TaintChange, UntaintChange
from moorage.plan.planner import Planner, Settings
from moorage.plan.what_if import Changes

#: No sum of a few of them is the time that a pod tolerates a taint.
WAITS = st.sampled_from([7.0, 13.0, 41.0])
#: A change of one taint (None removes it), and how many seconds pass then.
Step = tuple[str, dict[str, Any], bool, float]
_STEPS = st.tuples(st.sampled_from(NODES), taints(), st.booleans(), WAITS)
_WORLDS = worlds(frozenset({Dimension.RUNNING_PODS, Dimension.EVICTING_TAINTS}))


def untainted(world: World) -> World:
    """Return the world before the story: its nodes have no taints."""
    return world._replace(documents=[{**one, "spec": {}} if one["kind"] == "Node" else one for one in world.documents])


def story_of(steps: list[Step]) -> list[tuple[Step, list[dict[str, Any]]]]:
    """Return the steps that change something, with the taints of the node after each."""
    by_node: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    story = []
    for step in steps:
        node, taint, is_added, _ = step
        known = by_node.setdefault(node, {})
        key = taint["key"], taint["effect"]
        if is_added:
            known[key] = taint
        elif known.pop(key, None) is None:
            continue
        story.append((step, list(known.values())))
    return story


def evictions_in_plan(world: World, steps: list[Step]) -> Counter[Line] | None:
    """Play the changes one after the other on one simulation; None if pods are evicted without end."""
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects(world.documents)
    simulation = planner.build(lives=True)
    outcome = planner.plan(simulation, until=REST_SECONDS)
    evicted: Counter[Line] = Counter()
    for node, taint, is_added, wait in steps:
        began = simulation.clock.elapsed
        if is_added:
            changes = Changes(taints=(TaintChange(node, taint["key"], taint["value"], taint["effect"]),))
        else:
            changes = Changes(untaints=(UntaintChange(node, taint["key"], taint["effect"]),))
        outcome, difference, _ = planner.what_if(simulation, outcome, changes, (), until=wait)
        for departure in difference.departures:
            if departure.cause is Cause.TAINT:
                whose = departure.workload or f"Pod {departure.pod}"
                evicted[Line(whose, EVICTED, departure.node, round(began + departure.after_seconds))] += 1
    return None if simulation.stopped else evicted


def law_of_stories(plan: Callable[[World, list[Step]], Counter[Line] | None]) -> None:
    @settings(LAW_SETTINGS, max_examples=examples(60))
    @given(_WORLDS, st.lists(_STEPS, min_size=1, max_size=5))
    def law(drawn: World, steps: list[Step]) -> None:
        world, story = untainted(drawn), story_of(steps)
        happens: Story = [(step[0], taints_after, step[3]) for step, taints_after in story]
        assert plan(world, [step for step, _ in story]) == evictions_in_cluster(world, happens)

    law()


def test_what_ifs_one_after_the_other_evict_as_a_cluster_does() -> None:
    law_of_stories(evictions_in_plan)


def test_a_what_if_that_forgets_a_change_is_noticed() -> None:
    assert_notices(lambda: law_of_stories(lambda world, steps: evictions_in_plan(world, steps[:-1])))
