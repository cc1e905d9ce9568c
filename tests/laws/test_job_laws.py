"""Jobs, whatever happens: they end with exactly as many successes as they want, and never count more than their pods
know of.

Each law is also run with a controller that is wrong in one place.
"""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.job_story import STORIES, Story, play

from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.control.job import controller as job_controller
from moorage.control.job import situation as job_situation
from moorage.control.job.accounting import Books, keep_books
from moorage.control.job.controller import JobController
from moorage.control.job.pods import is_tracked
from moorage.control.job.situation import Situation
from moorage.model.kinds import KINDS, Kind

_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
#: Any counterexample will do: nobody wants to read it.
_TWIN_SETTINGS = settings(_SETTINGS, max_examples=150, phases=(Phase.generate,))


def _ends_with_what_it_wants(story: Story, make: type[JobController] = JobController) -> None:
    outcome = play(story, make)
    status = outcome.status
    assert (status.succeeded, status.active, status.ready, status.terminating) == (story.completions, 0, 0, 0)
    told = {condition.type for condition in status.conditions if condition.status == "True"}
    assert told == {"SuccessCriteriaMet", "Complete"}
    if story.is_indexed and story.completions:
        assert status.completedIndexes in ("0", "0,1", f"0-{story.completions - 1}")
    assert not any(is_tracked(pod.view) for pod in outcome.pods)
    assert outcome.stays


def _counts_no_more_than_there_is(story: Story, make: type[JobController] = JobController) -> None:
    assert not play(story, make).complaints


@_SETTINGS
@given(STORIES)
def test_a_job_ends_with_exactly_what_it_wants(story: Story) -> None:
    _ends_with_what_it_wants(story)


@_SETTINGS
@given(STORIES)
def test_a_job_counts_no_more_than_there_is(story: Story) -> None:
    _counts_no_more_than_there_is(story)


class _Deaf(JobController):
    """Hears of new pods, and not of what becomes of them."""

    def concerns(self, facts: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return () if facts is KINDS.POD and old is not None else super().concerns(facts, old, new, world)


def test_the_law_notices_who_does_not_hear_of_pods() -> None:
    @_TWIN_SETTINGS
    @given(STORIES)
    def law(story: Story) -> None:
        _ends_with_what_it_wants(story, _Deaf)

    assert_notices(law)


def _count_at_once(*arguments: Any) -> Books:
    """Counts who ended in the same breath as it names them: whoever is interrupted then counts them again."""
    books = keep_books(*arguments)
    named = books.status["uncountedTerminatedPods"]
    for kind in ("succeeded", "failed"):
        if named.get(kind):
            books.status[kind] = books.status.get(kind, 0) + len(named[kind])
    books.status["uncountedTerminatedPods"] = {}
    return books


def _four_until_the_end(seen: Situation) -> int:
    """More than are still needed."""
    return 4 if seen.succeeded < (seen.completions or 0) else 0


@pytest.mark.parametrize(
    ("module", "place", "broken"),
    [(job_controller, "keep_books", _count_at_once), (job_situation, "_wanted", _four_until_the_end)],
)
def test_the_law_notices_who_counts_twice_and_who_makes_too_many(
    module: ModuleType, place: str, broken: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, place, broken)

    @_TWIN_SETTINGS
    @given(STORIES)
    def law(story: Story) -> None:
        _counts_no_more_than_there_is(story)

    assert_notices(law)
