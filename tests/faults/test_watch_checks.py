"""The checker of watches accepts every watcher of a correct store, and finds what broken watches do."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faults.check.history import State, Version, Violation
from tests.faults.check.watches import Part, Seen, check_watcher


def history(random_: random.Random, length: int) -> list[Version]:
    """Changes of some objects of one resource."""
    states: dict[str, State] = {}
    versions: list[Version] = []
    revision = 0
    for number in range(length):
        revision += random_.choice((1, 1, 3))
        key = random_.choice("xyz")
        is_gone = states.get(key) is None
        state = None if not is_gone and random_.random() < 0.3 else frozenset((f"t{number}",))
        states[key] = state
        versions.append(Version(revision, key, state))
    return versions


def state_at(versions: list[Version], revision: int) -> dict[str, tuple[int, State]]:
    found = {one.key: (one.revision, one.state) for one in versions if one.revision <= revision}
    return {key: value for key, value in found.items() if value[1] is not None}


def watched(versions: list[Version], after: int, until: int) -> Part:
    """What a correct watch from a list at `after` shows, up to `until`."""
    listed = state_at(versions, after)
    before: dict[str, State] = {key: state for key, (_, state) in listed.items()}
    events = []
    for one in versions:
        if after < one.revision <= until:
            old = before.get(one.key)
            kind = "DELETED" if one.state is None else "ADDED" if old is None else "MODIFIED"
            events.append(Seen(kind, one.key, one.revision, old if one.state is None else one.state))
            before[one.key] = one.state
    return Part(after, listed, events, max(until, after))


def watcher(random_: random.Random, versions: list[Version]) -> list[Part]:
    """A watcher that has listed again some times, having missed a part of the history."""
    newest = versions[-1].revision
    places = sorted(random_.randrange(newest + 1) for _ in range(random_.choice((1, 3, 5))))
    pairs = zip(places[::2], [*places[1::2], newest], strict=True)
    return [watched(versions, after, until) for after, until in pairs]


def rules(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_correct_watches_pass(seed: int) -> None:
    random_ = random.Random(seed)
    versions = history(random_, 60)
    assert check_watcher("w", watcher(random_, versions), versions, until=versions[-1].revision) == []


def _skip(random_: random.Random, events: list[Seen]) -> set[str]:
    del events[random_.randrange(len(events))]
    return {"watch skipped a change"}


def _repeat(random_: random.Random, events: list[Seen]) -> set[str]:
    place = random_.randrange(len(events))
    events.insert(random_.randrange(place, len(events)) + 1, events[place])
    return {"watch repeated a change"}


def _swap(random_: random.Random, events: list[Seen]) -> set[str]:
    place = random_.randrange(len(events) - 1)
    events[place], events[place + 1] = events[place + 1], events[place]
    return {"watch skipped a change"}


def _invent(random_: random.Random, events: list[Seen]) -> set[str]:
    events.append(Seen("ADDED", "new", events[-1].revision + 1, frozenset("?")))
    return {"watch shows what never was"}


def _mistake(random_: random.Random, events: list[Seen]) -> set[str]:
    place = random_.randrange(len(events))
    events[place] = events[place]._replace(state=frozenset("?"))
    return {"watch shows another change"}


def _retype(random_: random.Random, events: list[Seen]) -> set[str]:
    place = random_.randrange(len(events))
    kind = "MODIFIED" if events[place].type != "MODIFIED" else "ADDED"
    events[place] = events[place]._replace(type=kind)
    return {"watch shows another change"}


@pytest.mark.parametrize("breaks", [_skip, _repeat, _swap, _invent, _mistake, _retype], ids=lambda one: one.__name__)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_broken_watches_are_found(breaks: Callable[[random.Random, list[Seen]], set[str]], seed: int) -> None:
    random_ = random.Random(seed)
    versions = history(random_, 60)
    part = watched(versions, random_.randrange(versions[-1].revision // 2), versions[-1].revision)
    events = list(part.events)
    expected = breaks(random_, events)
    assert rules(check_watcher("w", [part._replace(events=events)], versions, until=part.reached)) == expected


def test_a_watch_that_stands_still_is_found() -> None:
    versions = history(random.Random(1), 10)
    part = watched(versions, 0, versions[4].revision)
    assert check_watcher("w", [part], versions) == []
    assert rules(check_watcher("w", [part], versions, until=versions[-1].revision)) == {"watch skipped a change"}


def test_lists_are_compared() -> None:
    versions = history(random.Random(2), 30)
    part = watched(versions, versions[20].revision, versions[20].revision)
    assert check_watcher("w", [part], versions) == []
    key = next(iter(part.listed))
    less = {other: value for other, value in part.listed.items() if other != key}
    assert rules(check_watcher("w", [part._replace(listed=less)], versions)) == {"list differs from the store"}
    old = watched(versions, versions[10].revision, versions[10].revision)
    assert rules(check_watcher("w", [part, old], versions)) == {"watch went back"}
