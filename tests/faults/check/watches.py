"""Check what a watcher saw against the store's own history: every change once, in order, none skipped.

A watcher lists, then watches from the list's revision on. When its connection ends it goes on from the last revision
it has seen, at another API server; when it is told that this revision is too old (410) it lists again. What it has
recorded is therefore a row of parts, each a list and the events after it.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tests.faults.check.history import State, Version, Violation, show


class Seen(NamedTuple):
    """One event. The state of a deletion is that from before it; `server` is who sent it."""

    type: str
    key: str
    revision: int
    state: State
    server: str = ""


class Part(NamedTuple):
    """A list at a revision, the events after it, and up to which revision the watcher has surely seen everything.

    `reached` is the last revision of an event or bookmark.
    """

    revision: int
    listed: Mapping[str, tuple[int, State]]
    events: Sequence[Seen]
    reached: int


def check_watcher(name: str, parts: Sequence[Part], versions: Sequence[Version], until: int = 0) -> list[Violation]:
    """Check one watcher. `until`: every change up to this revision must have been seen by the end."""
    found: list[Violation] = []
    revisions = [version.revision for version in versions]
    for number, part in enumerate(parts):
        found += _check_list(name, part, versions, revisions)
        is_last = number == len(parts) - 1
        found += _check_events(name, part, versions, revisions, max(part.reached, until) if is_last else part.reached)
    found += [
        Violation("watch went back", f"{name}: listed at {after.revision}, having seen {before.reached}")
        for before, after in pairwise(parts)
        if after.revision < before.reached
    ]
    return found


def _check_list(name: str, part: Part, versions: Sequence[Version], revisions: list[int]) -> Iterator[Violation]:
    truth: dict[str, tuple[int, State]] = {}
    for version in versions[: bisect_right(revisions, part.revision)]:
        if version.state is None:
            truth.pop(version.key, None)
        else:
            truth[version.key] = version.revision, version.state
    for key in {*truth, *part.listed}:
        if truth.get(key) != part.listed.get(key):
            shown = f"{part.listed.get(key)} instead of {truth.get(key)}"
            yield Violation("list differs from the store", f"{name}: at {part.revision}, {key} is {shown}")


def _check_events(
    name: str, part: Part, versions: Sequence[Version], revisions: list[int], until: int
) -> Iterator[Violation]:
    """Compare, event by event, up to the first difference: what follows it says nothing."""
    expected = versions[bisect_right(revisions, part.revision) : bisect_right(revisions, until)]
    before: dict[str, State] = {key: state for key, (_, state) in part.listed.items()}
    for place, version in enumerate(expected):
        if place >= len(part.events):
            missing = f"and {len(expected) - place - 1} more" if len(expected) - place > 1 else ""
            yield Violation("watch skipped a change", f"{name}: {_show(version)} {missing}, seen up to {part.reached}")
            return
        event = part.events[place]
        if (event.revision, event.key) != (version.revision, version.key):
            rule = _rule(event, part.events[:place], version)
            yield Violation(rule, f"{name}: {_event(event)} where {_show(version)} comes next")
            return
        old = before.get(event.key)
        kind = "DELETED" if version.state is None else "ADDED" if old is None else "MODIFIED"
        state = old if version.state is None else version.state
        if event.type != kind or event.state != state:
            yield Violation("watch shows another change", f"{name}: {_event(event)} for {kind} {_show(version)}")
            return
        before[event.key] = version.state
    if len(part.events) > len(expected):
        event = part.events[len(expected)]
        yield Violation(_rule(event, part.events[: len(expected)], None), f"{name}: {_event(event)} beyond the history")


def _rule(event: Seen, earlier: Sequence[Seen], expected: Version | None) -> str:
    if any(event.revision == other.revision for other in earlier):
        return "watch repeated a change"
    if expected is not None and event.revision > expected.revision:
        return "watch skipped a change"
    return "watch shows what never was"


def _show(version: Version) -> str:
    return f"{version.key}@{version.revision} {show(version.state)}"


def _event(event: Seen) -> str:
    return f"{event.type} {event.key}@{event.revision} {show(event.state)} from {event.server}"
