"""Keep the questions that living pods and the templates of workloads ask of nodes, and answer them by taints.

A question is asked as long as an object asks it, and remembered for a while longer, so that a workload that is made
again finds its labels. Users choose how many there are, and each may be a label of every node: beyond `MOST_ASKED`, or
`MOST_OF_NAMESPACE` of one namespace, new questions wait until others are forgotten.
Kubernetes: knows no such questions; nodeAffinity asks for the labels that answer them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moorage.attach.matching import compile_original
from moorage.attach.questions import MatchQuestion
from moorage.attached.controller.lowered_pods import asked_questions, asking_part
from moorage.client.protocol import Object
from moorage.match.evaluation.accounts import Undecided
from moorage.match.tolerations import ProgramCache, TolerationSet
from moorage.model.kinds import Kind
from moorage.model.types.node import Taint

MOST_ASKED, MOST_OF_NAMESPACE = 512, 128
#: For how long the labels of a question stay on nodes when it is no longer asked.
FORGET_SECONDS = 300.0
_ANSWERS_KEPT = 8192

#: The kind and key of an object that asks.
_Asker = tuple[Kind, str]
_Facts = tuple[tuple[str, str, str], ...]


class QuestionChange(NamedTuple):
    """What became of the questions of an object: one is answered from now on; not asked any more; there is no room."""

    is_new: bool = False
    unasked: Sequence[str] = ()
    waiting: Sequence[str] = ()


class _Answered(NamedTuple):
    """The labels of the questions that were asked about certain taints, and of those that are true of them."""

    known: set[str]
    true: set[str]


class _Asked:
    """One question, and those who ask it, by kind and key. `payer` is the namespace that it counts for, if answered."""

    __slots__ = ("askers", "payer", "question", "tolerations", "unasked_since")

    def __init__(self, question: MatchQuestion, tolerations: TolerationSet) -> None:
        self.question, self.tolerations = question, tolerations
        self.askers: dict[_Asker, None] = {}
        self.payer: str | None = None
        self.unasked_since: float | None = None


class Questions:
    """All questions by their labels, and who asks them."""

    def __init__(self, programs: ProgramCache) -> None:
        self._programs = programs
        self._answered: dict[str, _Asked] = {}
        self._waiting: dict[str, _Asked] = {}
        self._by_asker: dict[_Asker, frozenset[str]] = {}
        self._paid: Counter[str] = Counter()
        self._answers: dict[_Facts, _Answered] = {}

    @property
    def answered(self) -> int:
        """Return how many questions are answered on nodes."""
        return len(self._answered)

    @property
    def waiting(self) -> int:
        """Return how many questions wait until others are forgotten."""
        return len(self._waiting)

    def is_answered(self, label: str) -> bool:
        return label in self._answered

    # -- who asks ------------------------------------------------------------------------------------------------------

    def changed(self, old: Object | None, new: Object | None) -> QuestionChange:
        """Take note of a change; return what it does to the questions, by their labels."""
        found = new or old
        if found is None:
            return QuestionChange()
        part = asking_part(new) if new is not None else None
        questions = {each.label: each for each in asked_questions(part)} if part is not None else {}
        asker = found.kind, found.key
        before, now = self._by_asker.get(asker, frozenset()), frozenset(questions)
        if before == now:
            return QuestionChange()
        if now:
            self._by_asker[asker] = now
        else:
            del self._by_asker[asker]
        asked = sorted(now - before)
        started = [self._ask(questions[label], asker) for label in asked]
        unasked = [label for label in sorted(before - now) if self._is_unasked(label, asker)]
        return QuestionChange(any(started), unasked, [label for label in asked if label in self._waiting])

    def why_waiting(self, kind: Kind, key: str) -> str:
        """Return why a question of an object is not answered; empty if all are."""
        if not any(label in self._waiting for label in self._by_asker.get((kind, key), ())):
            return ""
        namespace = key.rpartition("/")[0]
        if self._paid[namespace] >= MOST_OF_NAMESPACE:
            return f"{MOST_OF_NAMESPACE} different lists of tolerations in namespace {namespace} have one"
        return f"{MOST_ASKED} different lists of tolerations have one"

    def _ask(self, question: MatchQuestion, asker: _Asker) -> bool:
        """Note an asker; return whether the question is answered from now on."""
        label = question.label
        asked = self._answered.get(label) or self._waiting.get(label)
        if asked is None:
            asked = self._waiting[label] = _Asked(question, compile_original(question.tolerations, self._programs))
        asked.askers[asker] = None
        asked.unasked_since = None
        return asked.payer is None and self._admit(label, asked)

    def _admit(self, label: str, asked: _Asked) -> bool:
        """Begin to answer a question, if there is room."""
        if len(self._answered) >= MOST_ASKED:
            return False
        spaces = dict.fromkeys(key.rpartition("/")[0] for _, key in asked.askers)
        payer = next((each for each in spaces if self._paid[each] < MOST_OF_NAMESPACE), None)
        if payer is None:
            return False
        asked.payer = payer
        self._paid[payer] += 1
        self._answered[label] = self._waiting.pop(label)
        return True

    def _is_unasked(self, label: str, asker: _Asker) -> bool:
        """Note that an object asks no more; return whether a question that is answered has no asker left."""
        asked = self._answered.get(label) or self._waiting[label]
        asked.askers.pop(asker, None)
        if asked.askers:
            return False
        return self._waiting.pop(label, None) is None

    def seconds_left(self, label: str, now: float) -> float | None:
        """Return for how long an answered question is kept that is not asked any more; None if it is asked, or gone."""
        asked = self._answered.get(label)
        if asked is None or asked.askers:
            return None
        if asked.unasked_since is None:
            asked.unasked_since = now
        return max(0.0, asked.unasked_since + FORGET_SECONDS - now)

    def forget(self, label: str) -> None:
        """Forget a question, and begin to answer those for which there is room now."""
        asked = self._answered.pop(label)
        assert asked.payer is not None
        self._paid[asked.payer] -= 1
        for waiting in list(self._waiting):
            self._admit(waiting, self._waiting[waiting])

    # -- answers -------------------------------------------------------------------------------------------------------

    def true_of(self, taints: Iterable[Taint]) -> tuple[set[str], dict[str, Undecided]]:
        """Return the labels of the questions that are true of these taints, and those that are being evaluated."""
        facts = tuple((taint.key, taint.value, taint.effect) for taint in taints)
        answered = self._answers.get(facts)
        if answered is None:
            if len(self._answers) >= _ANSWERS_KEPT:
                self._answers.clear()
            answered = self._answers[facts] = _Answered(set(), set())
        undecided: dict[str, Undecided] = {}
        plain = [Taint(key=key, value=value, effect=effect) for key, value, effect in facts]
        for label, asked in self._answered.items():
            if label in answered.known:
                continue
            try:
                is_true = _holds(asked, plain)
            except Undecided as waiting:
                undecided[label] = waiting
                continue
            answered.known.add(label)
            if is_true:
                answered.true.add(label)
        return answered.true & self._answered.keys(), undecided


def _holds(asked: _Asked, taints: Sequence[Taint]) -> bool:
    return all(map(asked.tolerations.tolerates, asked.question.concerned(taints)))
