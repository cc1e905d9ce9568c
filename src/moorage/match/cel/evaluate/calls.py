"""Evaluate calls: the arguments, the charge, the overload that the values choose where types are dyn.

An argument that fails does not spare the others from being evaluated, nor the call from being charged for: that is how
cel-go counts, except for calls with many arguments, which stop at the first failure. Kubernetes: cel-go interpreter/
(evalUnary, evalBinary, evalVarArgs in interpretable.go, runtimecost.go).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from moorage.match.cel.evaluate.attributes import FieldStep
from moorage.match.cel.evaluate.overloads import (
    ANYTHING,
    SINGLETONS,
    dispatching,
    is_surely_accepted,
    no_such_overload,
)
from moorage.match.cel.evaluate.steps import (
    COST_LIMIT,
    UNSET,
    EvaluationStep,
    Run,
    State,
    charge,
    charge_in_turn,
    check_clock,
    kept,
    without_traceback,
)
from moorage.match.cel.functions import STRING_FACTOR, Overload
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import (
    CONTAINERS,
    CelError,
    require_modest_nesting,
)

# Functions Kubernetes charges by name, whichever overload the values turn out to need.
_CHARGED_BY_NAME = frozenset(
    re.findall(
        r"\S+",
        "isSorted sum max min indexOf lastIndexOf url lowerAscii upperAscii substring trim replace split join find "
        "findAll cidr isIP isCIDR ip ip.isCanonical containsIP containsCIDR quantity isQuantity semver isSemver "
        "validate check fieldSelector labelSelector",
    )
)
# Of two arguments, but implemented by cel-go as functions of any number.
_STOPS_EARLY = frozenset(("string_format",))
_PATTERN_FUNCTIONS = frozenset(("matches", "find", "findAll"))
_NESTABLE = ANYTHING | {TypeKind.LIST, TypeKind.MAP, TypeKind.OPAQUE}
# Kinds of the values that are made from text, and one bounded memory for each function that makes them.
_PARSED = frozenset((TypeKind.STRUCT, TypeKind.OPAQUE))
_MEMORIES: dict[str, Callable[..., Any]] = {}
_MEMORABLE = 512
# Cost of a call from which on it is worth a look at the clock.
_EXPENSIVE = 500
# ceil(size * 0.1) in double precision for the sizes that occur.
_TENTHS = tuple(math.ceil(size * STRING_FACTOR) for size in range(2048))


def tenth(size: int) -> int:
    """Return ceil(size × 0.1), as cel-go rounds it."""
    return _TENTHS[size] if size < 2048 else math.ceil(size * STRING_FACTOR)


class CallPlan(NamedTuple):
    """How a call is made: what is known of it before it runs.

    `overload` is the one that surely applies, else None, and `implementation` chooses among `fitting` by the values.
    `lenient` calls evaluate all arguments even if the first fails; `weighed` tells for each argument whether it may be
    a container of containers, which is looked at before any function walks through it.
    """

    function: str
    overload: Overload | None
    fitting: Sequence[Overload]
    implementation: Callable[..., Any]
    cost: Callable[[Sequence[Any]], int] | None
    lenient: bool
    weighed: tuple[bool, ...]


class CallStep(EvaluationStep):
    """A call with its plan. `prepared` is the value, or the error, of a call of constants that is made only once."""

    __slots__ = ("plan", "prepared")

    def __init__(self, run: Run, plan: CallPlan, prepared: Any = UNSET) -> None:
        super().__init__(run)
        self.plan = plan
        self.prepared = prepared


def build_call(
    function: str, overloads: Sequence[Overload], args: list[EvaluationStep], types: list[Type] | None
) -> EvaluationStep:
    """Return the step of a call. `types` are the arguments' types if the expression was checked, else None."""
    fitting = [overload for overload in overloads if len(overload.params) == len(args)]
    if not fitting:
        return EvaluationStep(_unknown_function(function, [arg.run for arg in args]))
    plan = _plan_call(function, overloads, fitting, args, types)
    if plan.overload is not None:
        quick = _quick(plan.overload, args)
        if quick is not None:
            return CallStep(quick, plan)
        if _reads_text(plan.overload) and all(arg.is_constant for arg in args):
            values = [arg.value for arg in args]
            prepared = _prepare(plan.overload, values)
            return CallStep(_prepared(1 if plan.cost is None else plan.cost(values), prepared), plan, prepared)
    runs = [_weighed(arg.run) if weigh else arg.run for arg, weigh in zip(args, plan.weighed, strict=True)]
    if plan.lenient and len(runs) == 1:
        return CallStep(_unary(plan.implementation, plan.cost, runs[0]), plan)
    if plan.lenient and len(runs) == 2:
        return CallStep(binary(plan.implementation, plan.cost, runs[0], runs[1]), plan)
    return CallStep(variadic(plan.implementation, plan.cost, runs), plan)


def _plan_call(
    function: str,
    overloads: Sequence[Overload],
    fitting: list[Overload],
    args: list[EvaluationStep],
    types: list[Type] | None,
) -> CallPlan:
    known: Overload | None = None
    if types is not None and len(overloads) == 1:
        known = overloads[0] if all(map(is_surely_accepted, overloads[0].params, types)) else None
        cost = overloads[0].cost
    else:
        cost = fitting[0].cost if function in _CHARGED_BY_NAME else None
    implementation = dispatching(function, fitting) if known is None else _remembering(known)
    weighed = tuple(types is None or _may_nest(types[index]) for index in range(len(args)))
    lenient = _is_lenient(function, overloads, args, types is not None)
    return CallPlan(function, known, fitting, implementation, cost, lenient, weighed)


def _is_lenient(function: str, overloads: Sequence[Overload], args: list[EvaluationStep], checked: bool) -> bool:
    """Return whether all arguments are evaluated even if the first fails."""
    if len(args) == 2 and function in _PATTERN_FUNCTIONS and args[1].is_constant:
        return False
    if function in SINGLETONS:
        return True
    return checked and len(overloads) == 1 and overloads[0].id not in _STOPS_EARLY


def _may_nest(type_: Type) -> bool:
    """Return whether a value of this type may be a container of containers."""
    if type_.kind in ANYTHING:
        return True
    return any(inner.kind in _NESTABLE for inner in type_.parameters)


def _weighed(run: Run) -> Run:
    """Return an argument that is looked at before any function walks through it."""

    def evaluate(state: State) -> Any:
        value = run(state)
        if type(value) in CONTAINERS:
            check_clock(state)
            require_modest_nesting(value)
        return value

    return evaluate


def _reads_text(overload: Overload) -> bool:
    """Return whether it makes a version, a quantity, an address … from text."""
    if not overload.params or overload.result.parameters or overload.result.kind not in _PARSED:
        return False
    return all(param.kind is TypeKind.STRING or param.kind is TypeKind.BOOL for param in overload.params)


def _prepare(overload: Overload, args: list[Any]) -> Any:
    """Return the value of `semver('1.2.3')`, or the error."""
    try:
        return overload.implementation(*args)
    except CelError as error:
        return without_traceback(error)


def _prepared(cost: int, value: Any) -> Run:
    """Return a value that was made once and is charged for every time."""

    def run(state: State) -> Any:
        state[0] += cost
        if state[0] > COST_LIMIT:
            charge(state, 0)
        if isinstance(value, CelError):
            raise CelError(*value.args)
        return value

    return run


def _remembering(overload: Overload) -> Callable[..., Any]:
    """Return the implementation; if it makes something from text, with a memory for the last few."""
    implementation = overload.implementation
    if not _reads_text(overload):
        return implementation
    memory = _MEMORIES.get(overload.id)
    if memory is None:
        memory = _MEMORIES[overload.id] = lru_cache(maxsize=512)(implementation)

    def call(text: str, *rest: Any) -> Any:
        return memory(text, *rest) if len(text) <= _MEMORABLE else implementation(text, *rest)

    return call


def _unknown_function(function: str, runs: list[Run]) -> Run:
    def run(state: State) -> Any:
        args = [run(state) for run in runs]
        charge(state, 1)
        raise no_such_overload(function, args)

    return run


def _before_expensive_call(state: State) -> None:
    """Stop if the cost exceeds the limit, or the time does."""
    charge(state, 0)
    check_clock(state)


def _unary(implementation: Callable[..., Any], cost: Callable[[Sequence[Any]], int] | None, first: Run) -> Run:
    def run(state: State) -> Any:
        try:
            a = first(state)
        except CelError as error:
            kept(error)
            charge(state, 1 if cost is None else cost((error,)))
            raise
        charged_now = 1 if cost is None else cost((a,))
        state[0] += charged_now
        if charged_now > _EXPENSIVE or state[0] > COST_LIMIT:
            _before_expensive_call(state)
        return implementation(a)

    return run


def binary(
    implementation: Callable[..., Any], cost: Callable[[Sequence[Any]], int] | None, first: Run, second: Run
) -> Run:
    def first_failed(state: State, error: CelError) -> None:
        try:
            b = second(state)
        except CelError as other:
            b = kept(other)
        charge(state, 1 if cost is None else cost((error, b)))

    def run(state: State) -> Any:
        try:
            a = first(state)
        except CelError as error:
            first_failed(state, kept(error))
            raise
        try:
            b = second(state)
        except CelError as error:
            kept(error)
            charge(state, 1 if cost is None else cost((a, error)))
            raise
        charged_now = 1 if cost is None else cost((a, b))
        state[0] += charged_now
        if charged_now > _EXPENSIVE or state[0] > COST_LIMIT:
            _before_expensive_call(state)
        return implementation(a, b)

    return run


def variadic(implementation: Callable[..., Any], cost: Callable[[Sequence[Any]], int] | None, runs: list[Run]) -> Run:
    last = len(runs) - 1

    def run(state: State) -> Any:
        args: list[Any] = []
        for index, evaluate in enumerate(runs):
            try:
                args.append(evaluate(state))
            except CelError as error:
                if index == last:
                    args.append(kept(error))
                    charge(state, 1 if cost is None else cost(args))
                raise
        charged_now = 1 if cost is None else cost(args)
        state[0] += charged_now
        if charged_now > _EXPENSIVE or state[0] > COST_LIMIT:
            _before_expensive_call(state)
        return implementation(*args)

    return run


# -- the commonest calls, with everything known beforehand


def _quick(overload: Overload, args: list[EvaluationStep]) -> Run | None:
    """Return a closure made for comparing a field of an object, or any string, with a constant string."""
    if len(args) != 2 or not args[1].is_constant or type(args[1].value) is not str:
        return None
    left, constant = args[0], args[1].value
    if not isinstance(left, FieldStep):
        return None
    if overload.id == "equals":
        return _field_equals(left, constant)
    if overload.id == "not_equals":
        equals = _field_equals(left, constant)
        return lambda state: not equals(state)
    if overload.id in ("starts_with_string", "ends_with_string"):
        return _field_affix(left, constant, overload.implementation)
    return None


def _field_equals(field: FieldStep, constant: str) -> Run:
    get, slot, size = field.get, field.slot, len(constant)

    def run(state: State) -> Any:
        value = get(state[slot])
        length = len(value)
        cost = tenth(length if length < size else size)
        state[0] += 2 + cost
        if state[0] > COST_LIMIT:
            state[0] -= 2 + cost
            charge_in_turn(state, 1, 1, cost)
        return value == constant

    return run


def _field_affix(field: FieldStep, constant: str, test: Callable[..., Any]) -> Run:
    get, slot = field.get, field.slot

    def run(state: State) -> Any:
        value = get(state[slot])
        cost = tenth(len(value))
        state[0] += 2 + cost
        if state[0] > COST_LIMIT:
            state[0] -= 2 + cost
            charge_in_turn(state, 1, 1, cost)
        return test(value, constant)

    return run
