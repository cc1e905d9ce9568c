"""The unit of a compiled program: a closure over the state of one evaluation, and how it charges for its work.

The state is a plain list, because nothing is quicker to reach: state[COST] is the cost so far, state[DEADLINE] the time
when evaluation is stopped (0 until a loop first asks), and the rest are slots for variables.
Kubernetes: cel-go interpreter/runtimecost.go, cel.CostLimit. Differs: charges before the work; watches the clock.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

from moorage.match.cel.values import CelCancelled, CelError

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
