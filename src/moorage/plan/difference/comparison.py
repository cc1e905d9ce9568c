"""Compare two plans pod by pod: which pods move, wait, leave or come, and the sentence that sums it up.

Pods are matched by name if they were there before the two plans parted, or if their name is not random. Controllers
invent the names of the others, from one source of random numbers: the same name may belong to different pods in the two
plans. Those are matched within their workload: by the pod that replaces them where that is known, then by node, then by
number; of pods that came and went, by time and reason. Every line of both plans belongs to exactly one `Pair`; the
lines of pods that have ended belong to the pair of the place that they left. Lines that are equal in both plans, at the
same position, make no pair.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from moorage.lint.finding import Severity
from moorage.lint.report.form import counted
from moorage.plan.departures import WAS_DELETED
from moorage.plan.outcome import FailedLine, Outcome, is_trouble
from moorage.plan.pod_lines import PodLine, State


class Becomes(StrEnum):
    """What differs for one place of a workload, in the order in which reports count it."""

    MOVED = "moved"  # its pod left and is replaced on another node
    RESTARTED = "restarted"  # its pod left and is replaced on the same node
    UPDATED = "updated"  # a rolling update replaced its pod
    PENDING = "pending"  # it was on a node
    EVICTED = "evicted"  # it is not replaced
    PREEMPTED = "preempted"  # it is not replaced
    LOST = "lost"  # its node is gone, and it has no controller
    FAILED = "failed"
    REFUSED = "refused"
    EVICTING = "evicting"  # a taint evicts it later
    PLACED = "placed"  # it was Pending
    NEW = "new"
    NEW_PENDING = "newPending"
    REMOVED = "removed"  # its controller or a user does not want it any more
    FINISHED = "finished"
    ELSEWHERE = "elsewhere"  # it gets another node from the beginning
    STAYS = "stays"  # it left in the first plan, and stays in the second
    OTHERWISE = "otherwise"  # it leaves in both, at another time or for another reason
    SAME = "same"
    PASSING = "passing"  # it came and went in one of the plans only


#: What makes a plan worse than the one that it is compared with.
WORSE = frozenset(
    {
        Becomes.PENDING,
        Becomes.NEW_PENDING,
        Becomes.EVICTED,
        Becomes.PREEMPTED,
        Becomes.LOST,
        Becomes.FAILED,
        Becomes.REFUSED,
        Becomes.EVICTING,
    }
)
#: How the sentence counts them: of one pod, and of several.
_WORDS = {
    Becomes.MOVED: ("moves", "move"),
    Becomes.RESTARTED: ("restarts on its node", "restart on their nodes"),
    Becomes.UPDATED: ("is replaced by an update", "are replaced by an update"),
    Becomes.PENDING: ("becomes Pending", "become Pending"),
    Becomes.EVICTED: ("is evicted and not replaced", "are evicted and not replaced"),
    Becomes.PREEMPTED: ("is preempted and not replaced", "are preempted and not replaced"),
    Becomes.LOST: ("is lost with its node", "are lost with their nodes"),
    Becomes.FAILED: ("fails", "fail"),
    Becomes.REFUSED: ("is refused", "are refused"),
    Becomes.EVICTING: ("is evicted later", "are evicted later"),
    Becomes.PLACED: ("gets a node", "get a node"),
    Becomes.NEW: ("is added", "are added"),
    Becomes.NEW_PENDING: ("is added and stays Pending", "are added and stay Pending"),
    Becomes.REMOVED: ("is removed", "are removed"),
    Becomes.FINISHED: ("ends", "end"),
    Becomes.ELSEWHERE: ("gets another node", "get other nodes"),
    Becomes.STAYS: ("stays that would leave", "stay that would leave"),
    Becomes.OTHERWISE: ("leaves at another time or for another reason", "leave at another time or for another reason"),
}
_GONE = {
    State.EVICTED: Becomes.EVICTED,
    State.PREEMPTED: Becomes.PREEMPTED,
    State.FAILED: Becomes.FAILED,
    State.REFUSED: Becomes.REFUSED,
    State.SUCCEEDED: Becomes.FINISHED,
}
NO_CHANGES = "No changes: every pod ends as it does without the change"


class Pair(msgspec.Struct, frozen=True):
    """One place of a workload in both plans, or a line of a pod that has ended and left no place.

    `before` and `after` are on a node or wait for one, or are two lines of a pod that leaves in both plans. `left` is
    the line of `before`'s pod in the second plan if it left there, `left_before` that of `after`'s pod in the first.
    """

    becomes: Becomes
    before: PodLine | None = None
    after: PodLine | None = None
    left: PodLine | None = None
    left_before: PodLine | None = None

    @property
    def line(self) -> PodLine:
        """The line that says most: that of the second plan, if there is one."""
        found = self.after or self.left or self.before or self.left_before
        assert found is not None
        return found

    @property
    def workload(self) -> str:
        return self.line.workload

    @property
    def is_difference(self) -> bool:
        return self.becomes is not Becomes.SAME and self.becomes is not Becomes.PASSING


class Refusal(msgspec.Struct, frozen=True):
    """A workload of which the API server refuses more pods than in the first plan, and how many more."""

    line: FailedLine
    more: int


class Comparison(msgspec.Struct):
    """What differs between two plans. `pairs` are the lines that are not equal; `before` and `after` count states."""

    pairs: list[Pair]
    before: dict[State, int]
    after: dict[State, int]
    refusals: list[Refusal] = []
    rejected: int = 0  # how many more objects the API server refuses

    def of(self, *kinds: Becomes) -> list[Pair]:
        return [pair for pair in self.pairs if pair.becomes in kinds]

    @property
    def differences(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.is_difference]

    def count(self) -> Counter[Becomes]:
        """Return how many pods differ, and how. A workload lacks more pods than it has lines if those are refused."""
        counts = Counter(pair.becomes for pair in self.pairs if pair.is_difference)
        if more := sum(refusal.more for refusal in self.refusals):
            counts[Becomes.REFUSED] += more
        return counts

    @property
    def is_empty(self) -> bool:
        return not (self.refusals or self.rejected or self.differences)

    @property
    def is_worse(self) -> bool:
        """Whether a pod that runs in the first plan does not in the second, or a new one does not, or more is refused.

        A pod whose successor runs is not worse off.
        """
        return bool(self.refusals) or self.rejected > 0 or any(pair.becomes in WORSE for pair in self.pairs)


def compare(
    before: Outcome,
    after: Outcome,
    successors: Mapping[str, str] | None = None,
    updated: Collection[str] = (),
    first_new: int | None = None,
) -> Comparison:
    """Compare two plans. `successors` names the pods that replace others, `updated` those that an update replaces.

    `first_new` is the position from which on lines are of pods that came after the plans parted; none if not given.
    """
    old, new = before.pods, after.pods
    differs = [index for index in range(min(len(old), len(new))) if old[index] is not new[index]]
    differs = [index for index in differs if old[index] != new[index]]
    common = min(len(old), len(new))
    parted = max(len(old), len(new)) if first_new is None else first_new
    workloads: dict[str, _Workload] = {}
    for index in (*differs, *range(common, len(old))):
        line = old[index]
        name = line.key if index < parted or _has_own_name(line) else _FIRST + line.key
        workloads.setdefault(line.workload or line.key, _Workload()).old.append((name, line))
    for index in (*differs, *range(common, len(new))):
        line = new[index]
        name = line.key if index < parted or _has_own_name(line) else _SECOND + line.key
        workloads.setdefault(line.workload or line.key, _Workload()).new.append((name, line))
    pairs = [pair for one in workloads.values() for pair in one.pairs(successors or {}, updated)]
    if any(pair.becomes is Becomes.PASSING for pair in pairs):
        known = {line.key for line in old}
        pairs = [_arrival(pair, known) if pair.becomes is Becomes.PASSING else pair for pair in pairs]
    had = {line.workload: line.refused for line in before.failed}
    refusals = [
        Refusal(line, max(0, line.refused - had.get(line.workload, 0)))
        for line in after.failed
        if line.refused > had.get(line.workload, 0) or line.workload not in had
    ]
    rejected = _rejections(after) - _rejections(before)
    return Comparison(pairs, before.count(), after.count(), refusals, rejected.total())


def _rejections(outcome: Outcome) -> Counter[tuple[str, str]]:
    """Return the objects that the API server refuses, and its reasons."""
    return Counter((note.object, note.message) for note in outcome.notes if note.level is Severity.ERROR)


def sentence(comparison: Comparison, others: Iterable[str] = (), anyway: str = "") -> str:
    """Return what differs, such as `8 pods move, 1 becomes Pending, 2 drains blocked; 3 would be evicted anyway`.

    `others` are further parts, `anyway` is what happens in both plans.
    """
    counts = comparison.count()
    parts: list[str] = []
    for kind, (one, several) in _WORDS.items():
        if number := counts[kind]:
            noun = counted(number, "pod") if not parts else f"{number:,}"
            parts.append(f"{noun} {one if number == 1 else several}")
    objects = comparison.rejected - sum(pair.line.state is State.REFUSED for pair in comparison.of(Becomes.REFUSED))
    if objects > 0:
        parts.append(f"{counted(objects, 'object')} refused")
    text = ", ".join((*parts, *others)) or NO_CHANGES
    return f"{text}; {anyway}" if anyway else text


#: Before the random name of a pod that only the first or only the second plan has: no name begins so.
_FIRST, _SECOND = "<", ">"
_Named = tuple[str, PodLine]


def _has_own_name(line: PodLine) -> bool:
    """Return whether a pod has the same name in every plan: that of a StatefulSet, or one without a controller."""
    return not line.workload or line.workload.startswith("StatefulSet ")


class _Workload:
    """The lines of one workload in both plans that are not equal, by the names that identify them in both."""

    def __init__(self) -> None:
        self.old: list[_Named] = []
        self.new: list[_Named] = []

    def pairs(self, successors: Mapping[str, str], updated: Collection[str]) -> Iterator[Pair]:
        ended_before, ended_after = _ended(self.old), _ended(self.new)
        for key, lines in ended_after.items():  # in both plans
            others = ended_before.get(key)
            while lines and others:
                first, second = others.popleft(), lines.popleft()
                yield Pair(Becomes.SAME if _ends_alike(first, second) else Becomes.OTHERWISE, first, second)
        places = _Places(self.old, self.new)
        places.match_names()
        places.match_successors(successors)
        places.match_nodes()
        for old, new in places.all():
            before, after = old and old[1], new and new[1]
            left, left_before = _taken(ended_after, old), _taken(ended_before, new)
            is_updated = old is not None and old[0] in updated
            becomes = _becomes(before, after, left, left_before, is_updated=is_updated)
            yield Pair(becomes, before, after, left, left_before)
        yield from _others(ended_before, ended_after)


class _Places:
    """The pods on nodes and in the queue of both plans, matched step by step."""

    def __init__(self, old: Iterable[_Named], new: Iterable[_Named]) -> None:
        self._old = {name: line for name, line in old if line.is_present}
        self._new = {name: line for name, line in new if line.is_present}
        self._matched: list[tuple[_Named | None, _Named | None]] = []

    def _match(self, first: str, second: str) -> None:
        self._matched.append(((first, self._old.pop(first)), (second, self._new.pop(second))))

    def match_names(self) -> None:
        for key in [key for key in self._old if key in self._new]:
            self._match(key, key)

    def match_successors(self, successors: Mapping[str, str]) -> None:
        for key in list(self._old):
            then, seen = successors.get(key, ""), {key}
            while then and not (name := self._name_in_second(then)) and then not in seen:
                seen.add(then)
                then = successors.get(then, "")
            if then and name:
                self._match(key, name)

    def _name_in_second(self, key: str) -> str:
        return next((name for name in (key, _SECOND + key) if name in self._new), "")

    def match_nodes(self) -> None:
        """Match pods on the same node, then those that wait, then those on other nodes; a DaemonSet has one a node."""
        for alike in (_by_node, _by_wait, _by_anything):
            free: dict[str, deque[str]] = {}
            for key, line in self._new.items():
                free.setdefault(alike(line), deque()).append(key)
            for key, line in list(self._old.items()):
                if candidates := free.get(alike(line)):
                    self._match(key, candidates.popleft())

    def all(self) -> Sequence[tuple[_Named | None, _Named | None]]:
        lonely: list[tuple[_Named | None, _Named | None]] = [(row, None) for row in self._old.items()]
        return [*self._matched, *lonely, *((None, row) for row in self._new.items())]


def _is_of_daemons(line: PodLine) -> bool:
    return line.workload.startswith("DaemonSet ")


def _by_node(line: PodLine) -> str:
    return line.node or f" {line.key}"


def _by_wait(line: PodLine) -> str:
    return f" {line.key}" if _is_of_daemons(line) else line.state if line.state is State.PENDING else ""


def _by_anything(line: PodLine) -> str:
    return f" {line.key}" if _is_of_daemons(line) else ""


def _ended(lines: Iterable[_Named]) -> dict[str, deque[PodLine]]:
    found: dict[str, deque[PodLine]] = {}
    for name, line in lines:
        if not line.is_present:
            found.setdefault(name, deque()).append(line)
    return found


def _taken(ended: dict[str, deque[PodLine]], place: _Named | None) -> PodLine | None:
    lines = ended.get(place[0]) if place is not None else None
    return lines.popleft() if lines else None


def _ends_alike(first: PodLine, second: PodLine) -> bool:
    """Return whether a pod leaves at the same time for the same reason.

    Messages may differ: they tell the taint's value, or the pod for which it makes room, whose name is random.
    """
    names = ("state", "reason", "evicted_after_seconds")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def _becomes(
    before: PodLine | None,
    after: PodLine | None,
    left: PodLine | None,
    left_before: PodLine | None,
    *,
    is_updated: bool,
) -> Becomes:
    if after is None:
        return _how_gone(before, left)
    if before is None:
        if left_before is not None:
            return Becomes.STAYS
        if after.state is State.PENDING:
            return Becomes.NEW_PENDING
        return Becomes.EVICTING if after.state is State.EVICTING else Becomes.NEW
    if after.state is State.PENDING:
        return Becomes.SAME if before.state is State.PENDING else Becomes.PENDING
    if after.state is State.EVICTING and before.state is not State.EVICTING:
        return Becomes.EVICTING
    if before.state is State.PENDING:
        return Becomes.PLACED
    if before.state is State.EVICTING and after.state is not State.EVICTING and left is None:
        return Becomes.STAYS
    if is_updated:
        return Becomes.UPDATED
    if before.node != after.node:
        return Becomes.MOVED if left is not None else Becomes.ELSEWHERE
    return Becomes.RESTARTED if left is not None else Becomes.SAME


def _how_gone(before: PodLine | None, left: PodLine | None) -> Becomes:
    if left is None or before is None:
        return Becomes.REMOVED
    if left.state is State.DELETED and not left.workload and before.is_on_node and left.message != WAS_DELETED:
        return Becomes.LOST
    return _GONE.get(left.state, Becomes.REMOVED)


def _arrival(pair: Pair, known: Collection[str]) -> Pair:
    """Return what becomes of a pod that came and went: a new one without a controller is gone."""
    line = pair.left
    if line is None or line.workload or line.key in known or line.state not in (State.EVICTED, State.PREEMPTED):
        return pair
    return msgspec.structs.replace(pair, becomes=_GONE[line.state])


def _others(before: dict[str, deque[PodLine]], after: dict[str, deque[PodLine]]) -> Iterator[Pair]:
    """Return pairs of the lines that are left: pods that came and went, or that were refused."""
    free: dict[tuple[str, str, int | None], deque[PodLine]] = {}
    for line in (line for lines in before.values() for line in lines):
        free.setdefault((line.state, line.reason, line.evicted_after_seconds), deque()).append(line)
    for line in (line for lines in after.values() for line in lines):
        if candidates := free.get((line.state, line.reason, line.evicted_after_seconds)):
            yield Pair(Becomes.SAME, candidates.popleft(), line)
        elif line.state is State.REFUSED:
            yield Pair(Becomes.REFUSED, left=line)
        elif line.state is State.FAILED and is_trouble(line):
            yield Pair(Becomes.FAILED, left=line)
        else:
            yield Pair(Becomes.PASSING, left=line)
    yield from (Pair(Becomes.PASSING, left_before=line) for lines in free.values() for line in lines)
