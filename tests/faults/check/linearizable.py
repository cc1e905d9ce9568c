"""Decide whether a history of one object is linearizable: whether some order explains every answer.

The order must respect time (what ended before another began comes first), and each operation must have answered as the
object would have, one after another. The search is Wing and Gong's with Lowe's memory of what was tried, as Knossos and
Porcupine do it: take any operation that may come next, follow, and turn back at the first answer left unexplained.
An operation of unknown fate may come at any time after it began, or never.
"""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from tests.faults.check.history import Action, Fate, Operation, State, Violation, by_key, show

MOST_STEPS = 400_000


class Answer(Enum):
    """UNDECIDED: the search took too many steps."""

    YES = "linearizable"
    NO = "not linearizable"
    UNDECIDED = "undecided"


class Finding(NamedTuple):
    """`order` is the longest order that was found, as indexes; `stuck` the answer that it could not explain."""

    answer: Answer
    order: tuple[int, ...]
    stuck: int | None = None
    steps: int = 0


_IMPOSSIBLE = object()


def apply(state: State, operation: Operation) -> object:
    """Return the state after an operation, or _IMPOSSIBLE if the object in this state would have answered otherwise."""
    fate, action = operation.fate, operation.action
    if fate is Fate.UNKNOWN:
        after = _effect(state, operation)
        return _IMPOSSIBLE if after is state else after
    if fate is Fate.REFUSED:
        return state if _refuses(state, operation) else _IMPOSSIBLE
    if action is Action.READ:
        return state if state == operation.state else _IMPOSSIBLE
    after = _effect(state, operation)
    if after is state:
        return _IMPOSSIBLE
    return after if action is Action.DELETE or after == operation.state else _IMPOSSIBLE


def _effect(state: State, operation: Operation) -> State:
    """Return the state after a write; the same object if it does not apply."""
    match operation.action:
        case Action.CREATE:
            return state if state is not None else frozenset((operation.token,))
        case Action.UPDATE:
            return operation.wanted if state is not None and state == operation.expected else state
        case Action.PATCH:
            return state if state is None else state | {operation.token}
        case Action.DELETE:
            fits = not operation.expected_revision or state == operation.expected
            return None if fits else state
        case Action.READ:
            return state


def _refuses(state: State, operation: Operation) -> bool:
    """Return whether the answer 404 or 409 is right."""
    if operation.code == 404:
        return state is None
    if operation.action is Action.CREATE:
        return state is not None
    if operation.action is Action.PATCH:
        return True  # tried again some times, then given up: says nothing
    return state is not None and state != operation.expected


class _Node:
    """The beginning or the end of an operation, in a list ordered by time."""

    __slots__ = ("end", "index", "next", "previous")

    def __init__(self, index: int) -> None:
        self.index = index
        self.end: _Node | None = None  # of a beginning
        self.next: _Node | None = None
        self.previous: _Node | None = None


def search(operations: Sequence[Operation], initial: State = None, most_steps: int = MOST_STEPS) -> Finding:
    """Look for an order of the operations of one object."""
    known = [one for one in operations if one.fate is not Fate.FAILED]
    relevant = [one for one in known if one.fate is not Fate.UNKNOWN or one.is_write]
    head, unexplained = _timeline(relevant)
    state: State = initial
    done = steps = 0
    tried: set[tuple[int, State]] = set()
    path: list[tuple[_Node, State]] = []
    longest: tuple[int, ...] = ()
    stuck: int | None = None
    node = head.next
    while unexplained:
        steps += 1
        if steps > most_steps:
            return Finding(Answer.UNDECIDED, longest, stuck, steps)
        assert node is not None, "ends remain"
        if node.end is not None or relevant[node.index].fate is Fate.UNKNOWN:
            after = apply(state, relevant[node.index])
            taken = done | 1 << node.index
            if after is not _IMPOSSIBLE and (taken, after) not in tried:
                tried.add((taken, after))  # type: ignore[arg-type]
                path.append((node, state))
                state, done = after, taken  # type: ignore[assignment]
                _lift(node)
                unexplained -= node.end is not None
                node = head.next
            else:
                node = node.next
            continue
        # The end of an operation that no order so far explains: turn back.
        if len(path) >= len(longest):
            longest, stuck = tuple(one.index for one, _ in path), node.index
        if not path:
            return Finding(Answer.NO, longest, stuck, steps)
        node, state = path.pop()
        done &= ~(1 << node.index)
        _unlift(node)
        unexplained += node.end is not None
        node = node.next
    return Finding(Answer.YES, tuple(one.index for one, _ in path), None, steps)


def _timeline(operations: Sequence[Operation]) -> tuple[_Node, int]:
    """Return the head of the list of beginnings and ends, and how many ends there are."""
    moments: list[tuple[float, int, int]] = []
    for index, one in enumerate(operations):
        moments.append((one.begun, 0, index))
        if one.fate is not Fate.UNKNOWN:
            moments.append((max(one.ended, one.begun), 1, index))
    head = last = _Node(-1)
    begun: dict[int, _Node] = {}
    ends = 0
    for _, is_end, index in sorted(moments):
        node = _Node(index)
        if is_end:
            begun[index].end = node
            ends += 1
        else:
            begun[index] = node
        last.next, node.previous, last = node, last, node
    return head, ends


def _lift(node: _Node) -> None:
    for one in (node, node.end):
        if one is not None:
            assert one.previous is not None
            one.previous.next = one.next
            if one.next is not None:
                one.next.previous = one.previous


def _unlift(node: _Node) -> None:
    for one in (node.end, node):
        if one is not None:
            assert one.previous is not None
            one.previous.next = one
            if one.next is not None:
                one.next.previous = one


def check_histories(operations: Sequence[Operation], most_steps: int = MOST_STEPS) -> tuple[list[Violation], int]:
    """Check each object's history by itself; return the violations, and how many could not be decided."""
    found: list[Violation] = []
    undecided = 0
    for key, history in by_key(operations).items():
        finding = search(history, most_steps=most_steps)
        undecided += finding.answer is Answer.UNDECIDED
        if finding.answer is Answer.NO:
            found.append(Violation("linearizability", _explain(key, history, finding)))
    return found, undecided


def _explain(key: str, history: Sequence[Operation], finding: Finding) -> str:
    relevant = [
        one for one in history if one.fate is not Fate.FAILED and (one.is_write or one.fate is not Fate.UNKNOWN)
    ]
    state: State = None
    for index in finding.order:
        state = apply(state, relevant[index])  # type: ignore[assignment]
    stuck = "" if finding.stuck is None else str(relevant[finding.stuck])
    after = f"after {len(finding.order)} of {len(relevant)} operations, in state {show(state)}"
    return f"{key}: no order explains every answer; {after}: {stuck}"
