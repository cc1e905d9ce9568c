"""Find tolerations that no taint can match, that others make redundant, or that evict although their threshold holds.

Kubernetes: accepts all of them without a warning. The taint-eviction controller uses the first toleration that matches
a NoExecute taint, and starts its tolerationSeconds when it sees the taint, whatever the taint's value does later.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, check_tolerations
from moorage.lint.facts.possible_taints import ANY_OTHER_KEY, possible_taints
from moorage.lint.subject import Complaint, Subject, TolerationList
from moorage.match.operators import BY_NAME, TOLERATION, accepted_values, comparison_of
from moorage.match.taint_messages import describe_toleration
from moorage.match.tolerations import TolerationMatcher, compile_toleration
from moorage.model.gates import all_gates
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE

#: Whether a toleration has an effect is asked independently of the gates.
_ALL_GATES = all_gates()
#: Pods with more tolerations are not checked for redundant ones, which compares all with all.
_MAX_TOLERATIONS = 60


@check_tolerations(
    Theme.TOLERATIONS,
    Rule("toleration-never-matches", WARNING, "No taint a node can have matches this toleration."),
)
def check_never_matches(listed: TolerationList, subject: Subject, facts: Facts) -> Iterator[Complaint]:
    for index, toleration in enumerate(listed.tolerations):
        if toleration.expression or not toleration.key or not _never_matches(toleration.operator, toleration.value):
            continue
        row = BY_NAME[toleration.operator]
        yield Complaint(
            "toleration-never-matches",
            f"{listed.path}[{index}].value",
            f"no taint can match {describe_toleration(toleration)}: {row.never.format(value=toleration.value)}",
            row.never_hint,
        )


@lru_cache(maxsize=1024)
def _never_matches(operator: str, value: str) -> bool:
    """Whether no taint's value is in the set that a comparison accepts; one that is refused has been reported."""
    comparison = comparison_of(operator, TOLERATION)
    if comparison is None or comparison.unreadable(value) is not None:
        return False
    accepted = accepted_values(operator, TOLERATION, (value,))
    return accepted is not None and accepted.is_empty


@check_tolerations(
    Theme.TOLERATIONS,
    Rule("toleration-redundant", WARNING, "Other tolerations of the pod already do all that this one does."),
)
def check_redundant(listed: TolerationList, subject: Subject, facts: Facts) -> Iterator[Complaint]:
    made_by_server = subject.pods is not None and bool(subject.pods.metadata.ownerReferences)
    tolerations = listed.tolerations
    if not 1 < len(tolerations) <= _MAX_TOLERATIONS or not _may_overlap(tolerations):
        return
    for redundant_toleration in redundant_tolerations(tolerations, of_devices=listed.of_devices):
        toleration = tolerations[redundant_toleration.index]
        if made_by_server and toleration.key.startswith("node.kubernetes.io/"):
            continue  # added by the DaemonSet controller and by admission, nothing the author can change
        if toleration.tolerationSeconds is not None and toleration.effect != NO_EXECUTE:
            continue  # refused by the API server, which is all there is to say about it
        at = f"{listed.path}[{redundant_toleration.index}]"
        yield Complaint(
            "toleration-redundant",
            at,
            redundant_toleration.sentence(tolerations),
            redundant_toleration.advice(tolerations),
        )


def redundant_tolerations(tolerations: Sequence[Toleration], *, of_devices: bool = False) -> "list[Redundancy]":
    """Return the tolerations that can all be removed without changing what is tolerated and for how long."""
    return _Overlaps(tolerations, of_devices).redundant()


def _may_overlap(tolerations: Sequence[Toleration]) -> bool:
    keys = [toleration.key for toleration in tolerations if not toleration.expression]
    return "" in keys or len(set(keys)) < len(keys)


class Redundancy(msgspec.Struct, frozen=True):
    """A toleration without effect, and the ones that make it so."""

    index: int
    covered_by: list[int]
    of_devices: bool = False

    def sentence(self, tolerations: Sequence[Toleration]) -> str:
        mine = tolerations[self.index]
        others = [tolerations[index] for index in self.covered_by]
        named = _joined(f"tolerations[{index}] ({_shown(tolerations[index])})" for index in self.covered_by)
        if others == [mine]:
            return f"the same toleration is already in tolerations[{self.covered_by[0]}]"
        seconds = mine.tolerationSeconds
        differs = seconds is not None and any(other.tolerationSeconds != seconds for other in others)
        if differs and self.of_devices:
            never = f"its tolerationSeconds: {seconds} never counts: {named} match"
            return f"{never}{'es' if len(others) == 1 else ''} as much, and of several the shortest time counts"
        if differs:
            return (
                f"its tolerationSeconds: {mine.tolerationSeconds} never counts: {named} "
                f"come{'s' if len(others) == 1 else ''} first and match{'es' if len(others) == 1 else ''} every taint "
                f"that {_shown(mine)} matches"
            )
        verb = "matches" if len(others) == 1 else "together match"
        return f"{named} {verb} every taint that {_shown(mine)} matches"

    def advice(self, tolerations: Sequence[Toleration]) -> str:
        mine = tolerations[self.index]
        if (
            not self.of_devices
            and mine.tolerationSeconds is not None
            and any(tolerations[index].tolerationSeconds != mine.tolerationSeconds for index in self.covered_by)
        ):
            return "put it before the ones that match more: the first toleration that matches a taint is the one used"
        return "remove it, or narrow the others if it was meant to decide"


class _Overlaps:
    """The possible taints that each toleration matches, and the tolerations that are still needed."""

    def __init__(self, tolerations: Sequence[Toleration], of_devices: bool = False) -> None:
        self._tolerations = tolerations
        self._of_devices = of_devices
        self._seconds = [toleration.tolerationSeconds for toleration in tolerations]
        matchers: list[tuple[int, TolerationMatcher]] = []
        for index, toleration in enumerate(tolerations):
            if not toleration.expression:
                matcher = compile_toleration(toleration, _ALL_GATES)
                if matcher.never is None:
                    matchers.append((index, matcher))
        self._needed = [index for index, _ in matchers]
        #: For each toleration: the taints it matches, each with everything that matches it, in the pod's order.
        self._matched_by: dict[int, list[tuple[Taint, list[int]]]] = {index: [] for index in self._needed}
        for taint in possible_taints(tolerations):
            matching = [index for index, matcher in matchers if matcher.match(taint)]
            for index in matching:
                self._matched_by[index].append((taint, matching))

    def redundant(self) -> "list[Redundancy]":
        """Drop one toleration after the other, last first, as long as the remaining ones cover it."""
        found: list[Redundancy] = []
        for index in reversed(self._needed.copy()):
            if covering := self._covering(index):
                self._needed.remove(index)
                found.append(Redundancy(index, covering, self._of_devices))
        return found[::-1]

    def _covering(self, index: int) -> list[int]:
        """Return the tolerations that do all that this one does, or an empty list if it is needed."""
        rows = [
            (taint, [other for other in matching if other != index and other in self._needed])
            for taint, matching in self._matched_by[index]
        ]
        if not rows or not all(self._replaced(index, taint, others) for taint, others in rows):
            return []
        alone = [other for other in self._needed if all(other in others for _, others in rows)]
        if alone:
            return alone[:1]
        chosen = list(dict.fromkeys(others[0] for _, others in rows))
        for candidate in list(chosen):
            rest = [other for other in chosen if other != candidate]
            if all(any(other in rest for other in others) for _, others in rows):
                chosen = rest
        return sorted(chosen)

    def _replaced(self, index: int, taint: Taint, others: list[int]) -> bool:
        """True if the pod's response to this taint is the same without the toleration."""
        if not others:
            return False
        if self._of_devices:
            return taint.effect != NO_EXECUTE or self._evicts_the_same(index, others)
        first = others[0]
        if taint.effect != NO_EXECUTE or first < index:
            return True
        if self._seconds[first] != self._seconds[index]:
            return False
        between = range(index + 1, first)
        return not any(self._tolerations[at].expression and self._seconds[at] != self._seconds[index] for at in between)

    def _evicts_the_same(self, index: int, others: list[int]) -> bool:
        """True if a device's taint evicts as late without the toleration: the shortest time of those that name it."""
        naming = [at for at in (index, *others) if self._tolerations[at].effect == NO_EXECUTE]
        if index not in naming:
            return True
        limits = [self._seconds[at] for at in naming if at != index]
        mine = self._seconds[index]
        shortest = min((limit for limit in limits if limit is not None), default=None)
        return bool(limits) and (mine is None or (shortest is not None and shortest <= mine))


def _shown(toleration: Toleration) -> str:
    """`sla Gt 5:NoSchedule`."""
    what = "every taint" if not toleration.key or toleration.key == ANY_OTHER_KEY else toleration.key
    operator = toleration.operator or "Equal"
    if operator != "Exists":
        what = f"{what} {operator} {toleration.value or chr(34) * 2}"
    elif toleration.key:
        what = f"{what} Exists"
    return f"{what}:{toleration.effect}" if toleration.effect else what


def _joined(parts: Iterator[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


@check_tolerations(
    Theme.TOLERATIONS,
    Rule("toleration-seconds-evicts", WARNING, "tolerationSeconds evicts the pod although the threshold holds."),
)
def check_seconds(listed: TolerationList, subject: Subject, facts: Facts) -> Iterator[Complaint]:
    for index, toleration in enumerate(listed.tolerations):
        seconds = toleration.tolerationSeconds
        if seconds is None:
            continue
        if toleration.expression:
            if "taint.value" not in toleration.expression:
                continue  # `taint.key.startsWith('node.kubernetes.io/')` for 300 s is what tolerationSeconds is for
            holds = "the expression holds"
        elif (compared := comparison_of(toleration.operator, TOLERATION)) and toleration.effect in ("", NO_EXECUTE):
            holds = f"{toleration.key} {compared.symbol} {toleration.value} holds"
        else:
            continue
        since = "was added" if listed.of_devices else "is seen"
        when = "at once" if seconds <= 0 else f"{seconds} s after the taint {since}"
        who = "a pod that uses the device" if listed.of_devices else "the pod"
        yield Complaint(
            "toleration-seconds-evicts",
            f"{listed.path}[{index}].tolerationSeconds",
            f"{who} is evicted {when}, although {holds}: tolerationSeconds limits how long a matching NoExecute "
            "taint is tolerated; it is no grace period for when the threshold stops holding",
            "remove tolerationSeconds: the pod then stays as long as the toleration matches, and is evicted at once "
            "when it no longer does; for a grace period use terminationGracePeriodSeconds",
        )
