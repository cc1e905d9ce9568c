"""Define the unit of a compiled program, a closure over one evaluation's state, and the short-circuiting operators.

The state is a plain list, because nothing is quicker to reach: state[COST] is the cost so far, state[DEADLINE] the time
when evaluation is stopped (0 until a loop first asks), and the rest are slots for variables. `&&`, `||`, or, orValue
and `in` constants do not need all of their arguments. Kubernetes: cel-go interpreter/runtimecost.go, cel.CostLimit,
interpreter/interpretable.go (evalAnd, evalOr, evalSetMembership). Differs: charges before the work; watches the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from moorage.match.cel.values import CelCancelled, CelError, equal

State = list[Any]
Run = Callable[[State], Any]

COST = 0
DEADLINE = 1
FIRST_SLOT = 2

COST_LIMIT = 1_000_000
SECONDS_LIMIT = 5.0
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"
TIME_EXCEEDED = "operation cancelled: time limit exceeded"

# What a slot holds before a binding is first used.
UNSET: Any = object()


class EvaluationStep:
    """One node, compiled: `run` evaluates it. A constant knows its value, so that what uses it can be prepared too."""

    __slots__ = ("is_constant", "run", "value")

    def __init__(self, run: Run) -> None:
        self.run = run
        self.is_constant = False
        self.value: Any = None


class ConstantStep(EvaluationStep):
    """A value known before evaluation; it costs nothing."""

    __slots__ = ()

    def __init__(self, value: Any) -> None:
        super().__init__(lambda _: value)
        self.is_constant = True
        self.value = value


def charge(state: State, cost: int) -> None:
    """Add to the cost, and stop if it exceeds the limit."""
    state[0] += cost
    if state[0] > COST_LIMIT:
        raise CelCancelled(COST_EXCEEDED)


def charge_in_turn(state: State, *costs: int) -> None:
    """Add several costs one by one, so that evaluation stops at the very one that exceeds the limit."""
    for cost in costs:
        charge(state, cost)


def charged(run: Run, cost: int) -> Run:
    """Charge for a step after its parts, also if one of them fails."""

    def evaluate(state: State) -> Any:
        try:
            value = run(state)
        except CelError as error:
            kept(error)
            charge(state, cost)
            raise
        state[0] += cost
        if state[0] > COST_LIMIT:
            charge(state, 0)
        return value

    return evaluate


def kept(error: CelError) -> CelError:
    """Return an error that evaluation goes on with for a while, as cel-go does; cancellation is not one."""
    if isinstance(error, CelCancelled):
        raise error
    return error


def without_traceback(error: CelError) -> CelError:
    """Return an error that is kept for longer, without the frames it would keep alive and add to when raised again."""
    error.__traceback__ = error.__context__ = None
    return error


def check_clock(state: State) -> None:
    """Stop an evaluation that has been running for too long."""
    now = monotonic()
    if not state[DEADLINE]:
        state[DEADLINE] = now + SECONDS_LIMIT
    elif now > state[DEADLINE]:
        raise CelCancelled(TIME_EXCEEDED)


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
    """Compile `or` and `orValue`: the alternative is evaluated only if needed, and the call costs nothing."""

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
