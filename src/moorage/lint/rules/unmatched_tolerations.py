"""Find tolerations that match none of the taints that nodes of the input have under their key.

A threshold is strict: `Gt 950` does not tolerate the taint 950, which KEP-5471's second story prints as "≥ 950". Only
keys that some node has are judged: other taints may come later. A toleration is needed although it matches nothing if
another one of the list with the same value does (`Equal 950` and `Gt 950` are "at least 950"; one toleration for each
effect), or if the list tolerates every taint of the key. Memory and time are bounded. Kubernetes: accepts all of it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector
from moorage.lint.facts.nearest_taint import how_to_match, nearest_taint, readable_taints
from moorage.lint.rules.compared_values import NODE_TAINT, ComparedValues
from moorage.lint.rules.expressions import compiled_expression, evaluated, readable_program
from moorage.lint.subject import Complaint, PlacedComplaint, Subject, TolerationList, toleration_lists
from moorage.match.evaluation.taint_expressions import NOT_TRUE
from moorage.match.operators import EXISTS
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Taint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.lint.finding import SourcePlace
    from moorage.model.gates import GateSet
    from moorage.model.types.pod import Toleration

_RULE = "toleration-matches-no-taint"
#: Whether a toleration matches is asked independently of the gates.
_ALL_GATES = all_gates()
_MAX_LISTS = 2_000
_MAX_SECONDS = 2.0
_MAX_VALUES_SHOWN = 5


class _KnownList(msgspec.Struct):
    """A list of tolerations, the places of those that can be judged, and how many more objects have the same list."""

    places: dict[int, SourcePlace]
    others: int = 0


@collector(
    Theme.TOLERATIONS,
    Rule(_RULE, WARNING, "No node of the input has a taint of this key that the toleration matches."),
)
class UnmatchedTolerations:
    """The distinct lists of tolerations, held against the taints of all nodes at the end."""

    def __init__(self, gates: GateSet) -> None:
        self._lists: dict[tuple[Toleration, ...], _KnownList] = {}

    def add(self, subject: Subject) -> None:
        if subject.pods is None or not subject.pods.spec.tolerations:
            return
        for listed in toleration_lists(subject):
            known = self._lists.get(listed.tolerations)
            if known is not None:
                known.others += 1
            elif len(self._lists) < _MAX_LISTS and (judged := _judged(listed)):
                places = {index: subject.place(f"{listed.path}[{index}].{field}") for index, field in judged}
                self._lists[listed.tolerations] = _KnownList(places)

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        taints = facts.of(ComparedValues).taints_by_key(NODE_TAINT) if self._lists else {}
        until = time.monotonic() + _MAX_SECONDS
        for tolerations, known in self._lists.items() if taints else ():
            if time.monotonic() > until:
                return
            judge = _Judge(tolerations, taints)
            more = f" ({known.others} more with the same tolerations)" if known.others else ""
            for index, place in known.places.items():
                if verdict := judge.verdict(index):
                    message, hint = verdict
                    yield Complaint(_RULE, place.path, message + more, hint), place


def _judged(listed: TolerationList) -> list[tuple[int, str]]:
    """Return which tolerations can be judged, each with the field to point at."""
    return [
        (index, "expression" if toleration.expression else "value" if toleration.value else "key")
        for index, toleration in enumerate(listed.tolerations)
        if toleration.expression or (toleration.key and toleration.operator != EXISTS)
    ]


class _Judge:
    """One list of tolerations and the taints of all nodes."""

    def __init__(self, tolerations: Sequence[Toleration], taints: dict[str, list[Taint]]) -> None:
        self._tolerations = tolerations
        self._taints = taints
        self._compiled: TolerationSet = compile_tolerations(
            [one for one in tolerations if not one.expression], _ALL_GATES
        )
        programs = (readable_program(one.expression) for one in tolerations if one.expression)
        self._programs = [program for program in programs if program is not None]

    def verdict(self, index: int) -> tuple[str, str] | None:
        """Return message and hint if the toleration matches nothing, and something of its key is left untolerated."""
        toleration = self._tolerations[index]
        if toleration.expression:
            return self._verdict_of_expression(toleration)
        of_key = self._taints.get(toleration.key)
        if not of_key:
            return None
        matcher = compile_tolerations([toleration], _ALL_GATES).matchers[0]
        if matcher.never is not None or any(map(matcher.match, of_key)):
            return None
        readable = readable_taints(toleration, of_key)
        if not readable or self._is_needed(toleration, of_key) or all(map(self._tolerates, of_key)):
            return None
        nearest = nearest_taint(toleration, readable)
        message = f"no taint {toleration.key} of the input's nodes matches: {matcher.reason(nearest)}"
        return f"{message}{_values(of_key)}", how_to_match(toleration, nearest, of_key)

    def _is_needed(self, toleration: Toleration, of_key: list[Taint]) -> bool:
        """Return whether another toleration of the same key and value matches: both say one thing together."""
        twins = [
            one
            for one in self._tolerations
            if one is not toleration and one.key == toleration.key and one.value == toleration.value
        ]
        return any(
            matcher.match(taint) for matcher in compile_tolerations(twins, _ALL_GATES).matchers for taint in of_key
        )

    def _tolerates(self, taint: Taint) -> bool:
        return self._compiled.tolerates(taint) or any(evaluated(program, taint)[0] for program in self._programs)

    def _verdict_of_expression(self, toleration: Toleration) -> tuple[str, str] | None:
        from moorage.lint.facts.expression_comparisons import strict_boundary
        from moorage.lint.facts.expression_reading import texts_in

        compiled = compiled_expression(toleration.expression)
        if compiled is None or readable_program(toleration.expression) is None:
            return None
        program, root = compiled
        named = [taint for text in texts_in(root) for taint in self._taints.get(text, ())]
        if not named or any(evaluated(program, taint)[0] for taints in self._taints.values() for taint in taints):
            return None
        false = [taint for taint in named if evaluated(program, taint)[1] is None]
        if not false or all(map(self._tolerates, named)):
            return None
        message = f"no taint of the input's nodes matches: {NOT_TRUE} for {describe_taint(false[0])}"
        return f"{message} ({describe_toleration(toleration)}){_values(named)}", strict_boundary(root, named)


def _values(of_key: list[Taint]) -> str:
    """Name the other values, if there are several."""
    values = list(dict.fromkeys(taint.value for taint in of_key))
    if len(values) < 2:
        return ""
    shown = ", ".join(value or '""' for value in values[:_MAX_VALUES_SHOWN])
    more = f" and {len(values) - _MAX_VALUES_SHOWN} more" if len(values) > _MAX_VALUES_SHOWN else ""
    return f"; the values are {shown}{more}"
