"""A pod is said to replace another one only if it does: same owner, revision and time, each place once.

Histories are drawn: pods of two ReplicaSets of one Deployment and of a StatefulSet are created, placed, evicted and
deleted, ReplicaSets grow and shrink, time passes. The naive judge looks at the whole history for each line.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.watch.stories import ChronicleOf, Pods

from moorage.model.types.pod import Pod
from moorage.watch import replacements
from moorage.watch.happenings import Chronicle
from moorage.watch.replacements import Places, Replaced

WINDOW = 30.0
_NODES = ("n1", "n2")
#: The owner, its revision and the kind: the StatefulSet is updated, too.
_OWNERS = (("ReplicaSet", "1"), ("ReplicaSet", "2"), ("StatefulSet", "1"), ("StatefulSet", "2"))
_ACTS = (*("create", "place") * 6, *("evict",) * 5, "delete", "delete", "shrink", "grow", "wait")
#: What is done, to which of the owners or pods, and on which node.
_STEPS = st.lists(
    st.tuples(
        st.sampled_from(_ACTS),
        st.integers(0, 3),
        st.sampled_from(_NODES),
    ),
    min_size=20,
    max_size=60,
)
Step = tuple[str, int, str]


class Departure(NamedTuple):
    """A pod that left: of which owner and revision, in which order, from where, when, and whether by an eviction."""

    name: str
    kind: str
    revision: str
    order: int
    node: str
    time: float
    is_evicted: bool


class Birth(NamedTuple):
    name: str
    kind: str
    revision: str
    order: int
    time: float


class History:
    """Carries out steps, tells a Chronicle, and notes everything for the judge."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.told = ChronicleOf(chronicle)
        self._pods = {kind: Pods(self.told, kind) for kind in ("ReplicaSet", "StatefulSet")}
        self.departures: list[Departure] = []
        self.births: list[Birth] = []
        self.shrunk: list[tuple[str, float]] = []
        self.lines: list[tuple[Birth, str, int]] = []  # of pods that got a node
        self._replicas = {"1": 5, "2": 5}
        self._waiting: list[Birth] = []
        self._there: list[tuple[Birth, str]] = []
        self.now, self._order = 1000.0, 0
        for revision in self._replicas:
            self._scale(revision, 0)

    def _scale(self, revision: str, by: int) -> None:
        pods = self._pods["ReplicaSet"]
        before, after = self._replicas[revision], max(0, self._replicas[revision] + by)
        pods._replicas = None
        if by:
            pods.has_replicas(before, revision)
        pods.has_replicas(after, revision)
        self._replicas[revision] = after
        if after < before:
            self.shrunk.append((revision, self.now))

    def play(self, step: Step) -> None:
        act, number, node = step
        self.now += WINDOW + 1 if act == "wait" else 0.25
        self._order += 1
        for pods in self._pods.values():
            pods.now, pods.step = self.now, 0.0
        kind, revision = _OWNERS[number]
        if act == "create":
            self._create(kind, revision)
        elif act == "place" and self._waiting:
            birth = self._waiting.pop(number % len(self._waiting))
            self._pods[birth.kind].gets_node(birth.name, node)
            self._there.append((birth, node))
            self.lines.append((birth, self._pods[birth.kind].told_placed()[-1], self._order))
        elif act in ("evict", "delete") and self._there:
            birth, where = self._there.pop(number % len(self._there))
            pods = self._pods[birth.kind]
            (pods.evicted if act == "evict" else pods.deleted)(birth.name, where)
            left = Departure(birth.name, birth.kind, birth.revision, self._order, where, self.now, act == "evict")
            self.departures.append(left)
        elif act in ("shrink", "grow"):
            self._scale("12"[number % 2], -1 if act == "shrink" else 1)

    def _create(self, kind: str, revision: str) -> None:
        name = f"p{self._order}"
        if kind == "StatefulSet":
            taken = {birth.name for birth in (*self._waiting, *(birth for birth, _ in self._there))}
            name = next(one for one in (f"s{number}" for number in range(100)) if one not in taken)
        self._pods[kind].created(name, revision=revision)
        birth = Birth(name, kind, revision, self._order, self.now)
        self.births.append(birth)
        self._waiting.append(birth)


def possible(history: History, birth: Birth) -> list[Departure]:
    """Return the pods that a new one may replace, by the rule's own words."""
    before = [left for left in history.departures if left.order < birth.order]
    if birth.kind == "StatefulSet":
        same = [left for left in before if left.name == birth.name and birth.time <= left.time + WINDOW][-1:]
        return [left for left in same if left.revision == birth.revision]
    return [
        left
        for left in before
        if (left.kind, left.revision) == (birth.kind, birth.revision)
        and birth.time <= left.time + WINDOW
        and _is_wanted(history, left, birth)
    ]


def _is_wanted(history: History, left: Departure, birth: Birth) -> bool:
    """Return whether the ReplicaSet did not become smaller around the time when a pod left."""
    return not any(
        revision == left.revision and left.time - WINDOW <= time <= birth.time for revision, time in history.shrunk
    )


def still_free(history: History) -> dict[Birth, set[Departure]]:
    """Return for each new pod the places it may have taken: without those that are certainly taken by earlier ones.

    Places are certainly taken when as many pods as there are places took one of just these.
    """
    free: dict[Birth, set[Departure]] = {}
    taken: set[Departure] = set()
    for birth in history.births:
        free[birth] = set(possible(history, birth)) - taken
        for some in list(free.values()):
            if some and sum(bool(other) and other <= some for other in free.values()) >= len(some):
                taken |= some
    return free


def judge(history: History) -> Iterator[str]:
    """Yield what is wrong with the lines of a history."""
    free, named_before = still_free(history), set[str]()
    claims: list[set[Departure]] = []
    for birth, text, _ in sorted(history.lines, key=lambda line: line[0].order):
        may = free[birth]
        named = re.search(r"instead of (?!one of)(\S+)", text)
        if "with a new revision" in text:
            if birth.kind != "StatefulSet":
                yield f"{text}: not a pod with an identity"
            continue
        is_claim = "moved" in text or " again" in text or "replaces" in text or "instead" in text
        if is_claim and not may:
            yield f"{text}: no pod of its owner and revision left shortly before"
        if named is not None and {named[1]} != {left.name for left in may}:
            yield f"{text}: it may be any of {[left.name for left in may]}"
        if named is not None and named[1] in named_before:
            yield f"{text}: that one was replaced by another"
        where = {f"from {left.node} " if "moved" in text else f"on {left.node} again" for left in may}
        if ("moved" in text or " again" in text) and not (len(where) == 1 and where.pop() in text):
            yield f"{text}: it was on {[left.node for left in may]}"
        if is_claim and sum(bool(others & may) for others in claims) >= len(may):
            yield f"{text}: all {len(may)} places were taken"
        rivals = [other for other in history.births if other != birth and free[other] & may]
        if len(may) == 1 and not rivals and not is_claim:
            yield f"{text}: it replaces {may}"
        if is_claim:
            claims.append(may)
            named_before |= {named[1]} if named is not None else set()


def law_for(make: Callable[[], Chronicle]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_STEPS)
    def law(steps: list[Step]) -> None:
        history = History(make())
        for step in steps:
            history.play(step)
        assert list(judge(history)) == []

    return law


def test_only_pods_that_were_replaced_are_said_to_be() -> None:
    law_for(Chronicle)()


class _NeverTaken(Places):
    """Leaves a place open after a pod took it."""

    def arrive(self, pod: Pod, now: float, *, is_new: bool) -> None:
        before = {key: list(places) for key, places in self._places.items()}
        super().arrive(pod, now, is_new=is_new)
        for key, places in before.items():
            self._places[key] = deque(places)


class _FirstOfAll(Places):
    """Names the first one where it is not certain which it was."""

    def replaced_by(self, pod: Pod) -> Replaced:
        replaced = super().replaced_by(pod)
        return replaced._replace(candidates=replaced.candidates[:1])


class _OfAnySize(Places):
    """Takes every deleted pod for one that is replaced."""

    def replica_set_changed(self, old: object, new: object, now: float) -> None:
        super().replica_set_changed(None, new, now)  # type: ignore[arg-type]


def _with(places: type[Places]) -> Callable[[], Chronicle]:
    def make() -> Chronicle:
        chronicle = Chronicle()
        chronicle._places = places()
        return chronicle

    return make


def test_the_law_notices_places_that_are_taken_twice() -> None:
    assert_notices(law_for(_with(_NeverTaken)))


def test_the_law_notices_a_name_that_is_a_guess() -> None:
    assert_notices(law_for(_with(_FirstOfAll)))


def test_the_law_notices_pods_that_were_scaled_away() -> None:
    assert_notices(law_for(_with(_OfAnySize)))


def test_the_law_notices_pairs_of_one_workload_whatever_the_revision() -> None:
    """The rule as it was: any pod of the Deployment that had left."""

    def law() -> None:
        kept = replacements._owner_key, replacements._revision
        replacements._owner_key = lambda pod, owner: (owner.kind, pod.metadata.namespace, "web", "")
        replacements._revision = lambda pod: ""
        try:
            law_for(Chronicle)()
        finally:
            replacements._owner_key, replacements._revision = kept

    assert_notices(law)
