"""Expressions of pods, asked about the taints of the input: where one fails, the taint is never tolerated by it.

In: every subject, once; then the distinct taints. Out, when all input is read: `taint-not-comparable` at the taint,
naming the expression. Expressions that do not look at the key are left out: they are not about any taint in particular.
Kubernetes: logs each failure at each attempt.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from moorage.lint.facts.facts import NodeValue, PlacedComplaint, placed
from moorage.lint.rules.expressions import evaluated, readable_program
from moorage.match.semver import SemverError, parse_tolerant
from moorage.model.types.node import Taint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.lint.finding import Place
    from moorage.lint.subject import Subject

_MAX_EXPRESSIONS = 200
_MAX_SECONDS_LENGTH = 2.0


class AskedExpressions:
    """The distinct expressions of the input, each with the first place that has it."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}

    def add(self, subject: Subject) -> None:
        if subject.pods is None:
            return
        for index, toleration in enumerate(subject.pods.spec.tolerations):
            text = toleration.expression
            if text and text not in self._places and len(self._places) < _MAX_EXPRESSIONS:
                self._places[text] = subject.place(f"{subject.pods.spec_path}.tolerations[{index}].expression")

    def complaints(self, taints: Iterable[tuple[str, NodeValue]]) -> Iterator[PlacedComplaint]:
        """Ask every expression about every taint; of several that fail for one taint, the first is named."""
        asked = [(program, place) for text, place in self._places.items() if (program := readable_program(text))]
        until = time.monotonic() + _MAX_SECONDS_LENGTH
        for key, fact in taints if asked else ():
            for program, place in asked:
                if time.monotonic() > until:
                    return
                _, failure, _ = evaluated(program, Taint(key, fact.value, fact.effect))
                if failure is not None:
                    message = (
                        f"the expression of {place.described} fails for this taint, and so never matches: {failure}"
                    )
                    yield placed("taint-not-comparable", fact, message, _advice(fact.value, program.source))
                    break


def _advice(value: str, expression: str) -> str:
    if "semver(" in expression:
        try:
            parse_tolerant(value)
        except SemverError:
            return "give it a value that is a version"
        return "semver(taint.value) is strict; semver(taint.value, true) also reads v1.2 and 1.2"
    return "give it a value the expression can read"
