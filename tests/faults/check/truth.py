"""Compare what clients were told with the history that the store itself has kept.

Every acknowledged write is in it, once, at the revision that was told; what surely failed is not in it; and each
change is what one of the requests asked for, made from the state before it: no other write is lost by it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.faults.check.history import Action, Fate, Operation, State, Version, Violation, by_key, show


def check_truth(operations: Sequence[Operation], versions: Sequence[Version]) -> list[Violation]:
    """Check all objects; `versions` are all changes of them, in the order of revisions."""
    changes: dict[str, list[Version]] = defaultdict(list)
    for version in versions:
        changes[version.key].append(version)
    histories = by_key(operations)
    found: list[Violation] = []
    for key in {*changes, *histories}:
        found += _of_object(key, histories.get(key, []), changes.get(key, []))
    return found


def _of_object(key: str, history: Sequence[Operation], changes: Sequence[Version]) -> Iterator[Violation]:
    at = {version.revision: version.state for version in changes}
    writers = {one.token: one for one in history if one.token}
    added: Counter[str] = Counter()
    before: State = None
    deletions = 0
    for version in changes:
        if version.state is None:
            deletions += before is not None
        else:
            added.update(version.state - (before or frozenset()))
            yield from _caused(version, before, writers)
        before = version.state
    for token, times in added.items():
        if times > 1:
            yield Violation("applied twice", f"{key}: {token} was added {times} times: {writers.get(token)}")
    yield from _acknowledged(history, at, added)
    yield from _deleted(key, history, deletions, at)


def _caused(version: Version, before: State, writers: dict[str, Operation]) -> Iterator[Violation]:
    """Check that a change is one that a request asked for, made from the state before it."""
    state = version.state
    assert state is not None
    new = state - (before or frozenset())
    change = f"{version.key}@{version.revision}: {show(before)} → {show(state)}"
    writer = writers.get(next(iter(new))) if len(new) == 1 else None
    if writer is None:
        yield Violation("change without cause", change)
        return
    match writer.action:
        case Action.CREATE:
            fits = before is None and state == {writer.token}
        case Action.PATCH:
            fits = before is not None and state == before | {writer.token}
        case Action.UPDATE:
            fits = before is not None and before == writer.expected and state == writer.wanted
        case _:
            fits = False
    if not fits:
        yield Violation("lost update", f"{change} by {writer}")


def _acknowledged(history: Sequence[Operation], at: dict[int, State], added: Counter[str]) -> Iterator[Violation]:
    for one in history:
        if one.fate is Fate.DONE and one.token:
            if not added[one.token]:
                yield Violation("acknowledged write lost", str(one))
            elif one.revision and at.get(one.revision) != one.state:
                yield Violation("acknowledged at another revision", f"{one}; the store has {at.get(one.revision)}")
        elif one.fate in (Fate.FAILED, Fate.REFUSED) and one.token and added[one.token]:
            yield Violation("refused write applied", str(one))
        elif one.fate is Fate.DONE and one.action is Action.READ and one.revision and at.get(one.revision) != one.state:
            yield Violation("read of what never was", str(one))


def _deleted(key: str, history: Sequence[Operation], deletions: int, at: dict[int, State]) -> Iterator[Violation]:
    deletes = [one for one in history if one.action is Action.DELETE]
    least = sum(one.fate is Fate.DONE for one in deletes)
    most = least + sum(one.fate is Fate.UNKNOWN for one in deletes)
    if not least <= deletions <= most:
        rule = "acknowledged write lost" if deletions < least else "change without cause"
        yield Violation(rule, f"{key}: deleted {deletions} times, acknowledged {least}, at most {most}")
