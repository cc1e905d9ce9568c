"""Check what revisions promise, in time linear in the history: cheap rules that name the culprit.

An acknowledged write has a revision of its own; revisions follow time; a revision is replaced once; and what an answer
shows at a revision is the same in every answer. Kubernetes: resourceVersion, etcd's mod revision.
"""

from collections.abc import Iterable, Iterator, Sequence

from tests.faults.check.history import Action, Fate, Operation, State, Violation, by_key, show


def check_revisions(operations: Sequence[Operation]) -> list[Violation]:
    """Check all objects of one resource."""
    return [*_unique(operations), *(one for history in by_key(operations).values() for one in _of_object(history))]


def _unique(operations: Iterable[Operation]) -> Iterator[Violation]:
    writers: dict[int, Operation] = {}
    for one in operations:
        if one.fate is Fate.DONE and one.is_write and one.revision:
            other = writers.setdefault(one.revision, one)
            if other is not one:
                yield Violation("revision written twice", f"{other}\n  and {one}")


def _of_object(history: Sequence[Operation]) -> Iterator[Violation]:
    done = [one for one in history if one.fate is Fate.DONE]
    shown: dict[int, tuple[State, Operation]] = {}
    revisions: dict[State, Operation] = {}
    replaced: dict[int, Operation] = {}
    for one in done:
        if one.revision and one.state is not None:
            state, other = shown.setdefault(one.revision, (one.state, one))
            if state != one.state:
                yield Violation("one revision, two states", f"{other}\n  and {one}")
            other = revisions.setdefault(one.state, one)
            if other.revision != one.revision:
                yield Violation("one state, two revisions", f"{show(one.state)}: {other}\n  and {one}")
        if one.is_write and one.expected_revision:
            other = replaced.setdefault(one.expected_revision, one)
            if other is not one:
                yield Violation("one revision replaced twice", f"{other}\n  and {one}")
        if one.action in (Action.UPDATE, Action.DELETE) and one.revision and one.revision <= one.expected_revision:
            yield Violation("revision did not grow", str(one))
    yield from _follow_time(done)


def _follow_time(done: Sequence[Operation]) -> Iterator[Violation]:
    """Check that no answer is older than one that was given before it was asked for."""
    by_end = sorted((one for one in done if one.revision), key=lambda one: one.ended)
    newest: Operation | None = None
    at = 0
    for one in sorted((one for one in done if one.revision), key=lambda one: one.begun):
        while at < len(by_end) and by_end[at].ended < one.begun:
            if newest is None or by_end[at].revision > newest.revision:
                newest = by_end[at]
            at += 1
        if newest is None:
            continue
        if one.revision < newest.revision or (one.is_write and one.revision == newest.revision):
            rule = "write went back" if one.is_write else "stale read"
            yield Violation(rule, f"{newest}\n  ended before {one}")
