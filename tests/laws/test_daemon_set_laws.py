"""DaemonSets, whatever happens: once it is quiet, every node that fits has exactly one pod, of the newest template, and
no pod is where none may be; the status says so. On the way no node ever gets a pod too many.

Each law is also run with controllers that are wrong in one place.
"""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from tests.controller_context import controller_context
from tests.laws.daemon_story import GATES, STORIES, Story, play, real_controllers
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples

from moorage.client.protocol import Object
from moorage.control.daemon_set.controller import DaemonSetController
from moorage.control.daemon_set.tracker import Tracker
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))


def _one_on_each(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> None:
    outcome = play(story, make)
    for found in outcome.nodes.values():
        if found.should_run:
            assert found.images == ["quick"]
        else:
            assert len(found.images) <= found.should_continue
    assert outcome.elsewhere == 0
    desired = sum(found.should_run for found in outcome.nodes.values())
    left = sum(bool(found.images) and not found.should_run for found in outcome.nodes.values())
    status = outcome.status
    assert (status.desiredNumberScheduled, status.numberMisscheduled) == (desired, left)
    assert (status.currentNumberScheduled, status.updatedNumberScheduled) == (desired, desired)
    assert (status.numberReady, status.numberAvailable, status.numberUnavailable) == (desired, desired, 0)
    assert outcome.stays


def _never_too_many(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> None:
    assert not play(story, make).complaints


@_SETTINGS
@given(STORIES)
def test_exactly_one_pod_on_each_node_that_fits(story: Story) -> None:
    _one_on_each(story)


@_SETTINGS
@given(STORIES)
def test_no_node_gets_a_pod_too_many(story: Story) -> None:
    _never_too_many(story)


class _Blind(DaemonSetController):
    """Sees new nodes, and not what becomes of them."""

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return () if kind is KINDS.NODE and old is not None else super().concerns(kind, old, new, world)


class _Deaf(DaemonSetController):
    """Hears of new pods, and not that they go."""

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return () if kind is KINDS.POD and new is None else super().concerns(kind, old, new, world)


@pytest.mark.parametrize("broken", [_Blind, _Deaf])
def test_the_law_notices_controllers_that_miss_something(broken: type[DaemonSetController]) -> None:
    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        _one_on_each(story, lambda: (broken(controller_context(GATES)),))

    assert_notices(law)


def _nodes_where_none_runs(tracker: Tracker) -> list[str]:
    """Counts pods only once they have a node."""
    bound = {pod.node for pod in tracker.pods() if pod.is_bound}
    return [node for node, fit in tracker._fits.items() if fit.should_run and node not in bound]


def test_the_law_notices_who_does_not_count_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tracker, "nodes_without_pod", property(_nodes_where_none_runs))

    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        _never_too_many(story)

    assert_notices(law)
