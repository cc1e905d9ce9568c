"""The checkers of histories accept what a correct object answers, and find what broken twins of it do."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.faults.check.history import Action, Fate, Operation, State, Version, Violation, show, write_history
from tests.faults.check.linearizable import Answer, check_histories, search
from tests.faults.check.revisions import check_revisions
from tests.faults.check.simulated import TWINS, Twin, play, play_broken
from tests.faults.check.truth import check_truth

A, B, AB = frozenset("a"), frozenset("b"), frozenset("ab")
CREATE, READ, UPDATE, PATCH, DELETE = Action
DONE, REFUSED, FAILED, UNKNOWN = Fate


def op(action: Action, begun: float, ended: float, fate: Fate = DONE, **fields: object) -> Operation:
    return Operation("x", action, begun, ended, fate)._replace(**fields)  # type: ignore[arg-type]


def created(begun: float, ended: float, token: str = "a", fate: Fate = DONE, revision: int = 1) -> Operation:
    state = frozenset((token,)) if fate is DONE else None
    return op(CREATE, begun, ended, fate, token=token, state=state, revision=revision, code=0 if fate is DONE else 409)


def read(begun: float, ended: float, state: State, revision: int = 0) -> Operation:
    if state is None:
        return op(READ, begun, ended, REFUSED, code=404)
    return op(READ, begun, ended, state=state, revision=revision)


def patched(begun: float, ended: float, token: str, state: State, fate: Fate = DONE, revision: int = 0) -> Operation:
    return op(PATCH, begun, ended, fate, token=token, state=state, revision=revision)


GOOD: dict[str, list[Operation]] = {
    "nothing": [],
    "create, then read": [created(0, 1), read(2, 3, A)],
    "a read beside a create may see it or not": [created(0, 3), read(1, 2, None), read(1, 2, A)],
    "a create beside another one is refused": [created(0, 3), created(1, 2, "b", REFUSED)],
    "an unknown write is seen later": [created(0, 1), patched(2, 3, "b", None, UNKNOWN), read(4, 5, A), read(6, 7, AB)],
    "an unknown write is never seen": [created(0, 1), patched(2, 3, "b", None, UNKNOWN), read(4, 5, A), read(6, 7, A)],
    "an unknown deletion explains a 404": [created(0, 1), op(DELETE, 2, 3, UNKNOWN), read(4, 5, A), read(6, 7, None)],
    "an unknown patch explains a conflict": [
        created(0, 1),
        patched(2, 3, "b", None, UNKNOWN),
        op(UPDATE, 4, 5, REFUSED, token="c", expected=A, expected_revision=1, wanted=frozenset("ac"), code=409),
    ],
    "what surely failed is left out": [created(0, 1), op(DELETE, 2, 3, FAILED, code=503), read(4, 5, A)],
    "a deleted object can be created again": [created(0, 1), op(DELETE, 2, 3), created(4, 5, "b"), read(6, 7, B)],
    "an unknown read says nothing": [created(0, 1), op(READ, 2, 3, UNKNOWN)],
    "a patch that was given up after conflicts": [created(0, 1), op(PATCH, 2, 3, REFUSED, token="b", code=409)],
}

BAD: dict[str, list[Operation]] = {
    "read of an absent object": [read(0, 1, A)],
    "two creates": [created(0, 1), created(2, 3, "b")],
    "a create is refused where there is nothing": [created(0, 1, fate=REFUSED)],
    "a read from before an acknowledged patch": [created(0, 1), patched(2, 3, "b", AB), read(4, 5, A)],
    "two reads that disagree about an order": [
        created(0, 1),
        patched(2, 9, "b", AB),
        read(3, 4, AB),
        read(5, 6, A),
    ],
    "an update over an old state": [
        created(0, 1),
        patched(2, 3, "b", AB),
        op(UPDATE, 4, 5, token="c", expected=A, expected_revision=1, wanted=frozenset("ac"), state=frozenset("ac")),
    ],
    "a conflict without another write": [
        created(0, 1),
        op(UPDATE, 4, 5, REFUSED, token="c", expected=A, expected_revision=1, wanted=frozenset("ac"), code=409),
    ],
    "a deleted object is read": [created(0, 1), op(DELETE, 2, 3), read(4, 5, A)],
    "an object that exists is not found": [created(0, 1), read(2, 3, None)],
    "what surely failed is seen": [created(0, 1), patched(2, 3, "b", None, FAILED), read(4, 5, AB)],
    "an unknown write is seen before it began": [created(0, 1), read(2, 3, AB), patched(4, 5, "b", None, UNKNOWN)],
    "an unknown write is undone": [
        created(0, 1),
        patched(2, 3, "b", None, UNKNOWN),
        read(4, 5, AB),
        read(6, 7, A),
    ],
    "two deletions of one object": [created(0, 1), op(DELETE, 2, 3), op(DELETE, 2, 3)],
}


@pytest.mark.parametrize("name", GOOD)
def test_histories_that_have_an_order(name: str) -> None:
    assert search(GOOD[name]).answer is Answer.YES


@pytest.mark.parametrize("name", BAD)
def test_histories_that_have_none(name: str) -> None:
    assert search(BAD[name]).answer is Answer.NO
    (violation,) = check_histories(BAD[name])[0]
    assert violation.rule == "linearizability"


def test_objects_are_independent() -> None:
    other = [one._replace(key="y") for one in GOOD["create, then read"]]
    assert check_histories([*GOOD["create, then read"], *other]) == ([], 0)


def test_a_search_that_takes_too_long_is_undecided() -> None:
    unknown = [patched(0, 1, f"t{number}", None, UNKNOWN) for number in range(12)]
    history = [created(0, 1), *unknown, op(DELETE, 2, 3), read(4, 5, A)]
    assert search(history, most_steps=100).answer is Answer.UNDECIDED
    assert check_histories(history, most_steps=100) == ([], 1)


@given(st.integers(0, 2**32), st.integers(1, 8), st.sampled_from((0.0, 0.1, 0.3)))
@settings(max_examples=150)
def test_correct_objects_pass(seed: int, clients: int, unknown: float) -> None:
    played = play(seed, clients=clients, unknown=unknown, requests=30)
    violations, undecided = check_histories(played.operations)
    assert violations == []
    assert undecided == 0
    assert check_revisions(played.operations) == []
    assert check_truth(played.operations, played.versions) == []


@pytest.mark.parametrize("twin", TWINS, ids=lambda twin: twin.__name__)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40)
def test_broken_twins_are_found(twin: Twin, seed: int) -> None:
    """Check that the search alone finds each of them, without looking at revisions or at the store."""
    played = play_broken(twin, seed)
    assert rules(check_histories(played.operations)[0]) == {"linearizability"}


def rules(violations: list[Violation]) -> set[str]:
    return {violation.rule for violation in violations}


def test_revisions_tell_what_is_wrong() -> None:
    first, second = created(0, 1, revision=1), patched(2, 3, "b", AB, revision=2)
    assert check_revisions([first, second, read(4, 5, AB, 2)]) == []
    assert rules(check_revisions([first, second, read(4, 5, A, 1)])) == {"stale read"}
    assert "write went back" in rules(check_revisions([first._replace(revision=5), second]))
    assert "revision written twice" in rules(check_revisions([first, second._replace(revision=1)]))
    assert "one revision, two states" in rules(check_revisions([first, second, read(4, 5, A, 2)]))
    assert "one state, two revisions" in rules(check_revisions([first, second, read(4, 5, AB, 3)]))
    update = op(UPDATE, 4, 5, token="c", expected=A, expected_revision=1, wanted=A | {"c"}, state=A | {"c"}, revision=3)
    other = update._replace(begun=6, ended=7, token="d", wanted=A | {"d"}, state=A | {"d"}, revision=4)
    assert "one revision replaced twice" in rules(check_revisions([first, update, other]))
    assert "revision did not grow" in rules(check_revisions([update._replace(revision=1)]))


def test_the_store_tells_what_is_wrong() -> None:
    history = [created(0, 1, revision=1), patched(2, 3, "b", AB, revision=2)]
    good = [Version(1, "x", A), Version(2, "x", AB)]
    assert check_truth(history, good) == []
    assert rules(check_truth(history, good[:1])) == {"acknowledged write lost"}
    moved = [Version(1, "x", A), Version(3, "x", AB)]
    assert rules(check_truth(history, moved)) == {"acknowledged at another revision"}
    again = [*good, Version(3, "x", None), Version(4, "x", A)]
    deletion = op(DELETE, 4, 5, revision=3)
    assert rules(check_truth([*history, deletion], again)) == {"applied twice"}
    assert rules(check_truth(history, [*good, Version(3, "x", None)])) == {"change without cause"}
    assert rules(check_truth([*history, deletion], good)) == {"acknowledged write lost"}
    assert "lost update" in rules(check_truth(history, [Version(1, "x", A), Version(2, "x", B)]))
    stranger = [*good, Version(3, "x", AB | {"?"})]
    assert rules(check_truth(history, stranger)) == {"change without cause"}
    failed = [*history, patched(4, 5, "c", None, FAILED)]
    assert rules(check_truth(failed, [*good, Version(3, "x", AB | {"c"})])) == {"refused write applied"}
    assert rules(check_truth([*history, read(4, 5, A, 2)], good)) == {"read of what never was"}


def test_a_history_is_written_for_people(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "history.txt"
    write_history(path, {"seed": 7}, BAD["two creates"], ["1.0 kill etcd-1"])
    text = path.read_text()
    assert '"seed": 7' in text
    assert "1.0 kill etcd-1" in text
    assert "create x b: done → {b}@1" in text
    assert show(None) == "absent"
