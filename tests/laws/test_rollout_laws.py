"""Deployments, whatever happens: they get the pods they want and keep them, and on the way there are never more than
the surge allows, nor do their controllers ever leave fewer available than they may.

Each law is also run with controllers that are wrong in one place.
"""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import example, given, settings
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.laws.rollout_story import STORIES, Story, play, real_controllers

from moorage.client.protocol import Object
from moorage.control.deployment.controller import DeploymentController
from moorage.control.deployment.rollout import Family
from moorage.control.framework.actions import Action
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.control.replica_set import ReplicaSetController
from moorage.model.kinds import KINDS, Kind

_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
#: Rarely found: it takes an old ReplicaSet that is still to shrink when the new one has to grow.
SCALED_WHILE_ROLLING = Story(0, 0, 0, 0, 0.0, 0, [("image", "slow"), ("scale", 4), ("time", 0.0)])


def _converges(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> None:
    outcome = play(story, make)
    assert len(outcome.pods) == outcome.replicas
    assert outcome.images <= {"quick"}
    status = outcome.status
    counts = (status.replicas, status.updatedReplicas, status.availableReplicas)
    assert counts == (outcome.replicas,) * 3
    assert outcome.stays


def _stays_within_bounds(story: Story, make: Callable[[], Iterable[Controller]] = real_controllers) -> None:
    assert not play(story, make).complaints


@_SETTINGS
@given(STORIES)
def test_replicas_converge_and_stay(story: Story) -> None:
    _converges(story)


@_SETTINGS
@given(STORIES)
@example(SCALED_WHILE_ROLLING)
def test_a_rolling_update_stays_within_its_bounds(story: Story) -> None:
    _stays_within_bounds(story)


class _Deaf(ReplicaSetController):
    """Hears of new pods, and not of what becomes of them."""

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return () if kind is KINDS.POD and old is not None else super().concerns(kind, old, new, world)


class _Generous(ReplicaSetController):
    """Makes one more than it should."""

    def _creates(self, replica_set: Object, count: int) -> list[Action]:
        return super()._creates(replica_set, count + 1)


@pytest.mark.parametrize(("broken", "holds"), [(_Deaf, _converges), (_Generous, _stays_within_bounds)])
def test_the_laws_notice_replica_sets_that_are_wrong(
    broken: type[ReplicaSetController], holds: Callable[..., None]
) -> None:
    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        holds(story, lambda: (broken(controller_context()), DeploymentController(controller_context())))

    assert_notices(law)


def _grow_regardless(family: Family, new: Object) -> bool:
    return family.resize(new, family.replicas)


def _stop_regardless(family: Family, new: Object) -> bool:
    changed = [family.resize(found, 0) for found in family.active_old]
    return any(changed)


@pytest.mark.parametrize(
    ("place", "broken"),
    [("grow_new", _grow_regardless), ("shrink_old", _stop_regardless)],
)
def test_the_law_notices_rollouts_that_hurry(
    place: str, broken: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Family, place, broken)

    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        _stays_within_bounds(story)

    assert_notices(law)


def test_the_law_notices_who_grows_before_others_have_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Family, "may_grow", lambda family, grows: True)

    @UNTIL_NOTICED
    @given(STORIES)
    @example(SCALED_WHILE_ROLLING)
    def law(story: Story) -> None:
        _stays_within_bounds(story)

    assert_notices(law)
