"""Evaluate operators that do not need all of their arguments: `&&`, `||`, or, orValue, `in` constants.

Kubernetes: cel-go interpreter/interpretable.go (evalAnd, evalOr, evalSetMembership), cel/library.go.
"""

from __future__ import annotations

from typing import Any

from moorage.match.cel.evaluate.steps import COST_LIMIT, EvaluationStep, Run, State, charge, kept
from moorage.match.cel.values import CelError, equal


def build_logical(left: Run, right: Run, decisive: bool) -> Run:
    """Build `&&` (`decisive` is false) or `||` (true): decisive wins over everything, an error over the other value."""

    def left_failed(state: State, error: CelError) -> Any:
        try:
            b = right(state)
        except CelError as other:
            kept(other)
            raise error from None
        if b is decisive:
            return decisive
        raise error

    def run(state: State) -> Any:
        try:
            a = left(state)
        except CelError as error:
            return left_failed(state, kept(error))
        if a is decisive:
            return a
        if a is not True and a is not False:
            return left_failed(state, CelError("no such overload"))
        b = right(state)
        if b is True or b is False:
            return b
        raise CelError("no such overload")

    return run


def build_not_strictly_false(arg: Run) -> Run:
    """Return whether a loop goes on: after anything but a plain false."""

    def run(state: State) -> Any:
        try:
            value = arg(state)
        except CelError as error:
            kept(error)
            value = True
        state[0] += 1
        if state[0] > COST_LIMIT:
            charge(state, 0)
        return value is not False

    return run


def build_or_else(optional: Run, otherwise: Run, unwrap: bool) -> Run:
    """`or` and `orValue`: the alternative is evaluated only if needed, and the call costs nothing."""

    def run(state: State) -> Any:
        value = optional(state)
        present = getattr(value, "present", None)
        if present is None:
            return value
        if not present:
            return otherwise(state)
        return value.value if unwrap else value

    return run


class MembershipStep(EvaluationStep):
    """`x in [constants]`: a look-up that costs nothing beyond x."""

    __slots__ = ("constants",)

    def __init__(self, item: Run, constants: list[Any]) -> None:
        super().__init__(_in_constants(item, constants))
        self.constants = constants


def _in_constants(item: Run, constants: list[Any]) -> Run:
    if all(type(constant) is str for constant in constants):
        strings = frozenset(constants)

        def run_strings(state: State) -> Any:
            value = item(state)
            return type(value) is str and value in strings

        return run_strings

    def run(state: State) -> Any:
        value = item(state)
        return any(equal(value, constant) for constant in constants)

    return run
