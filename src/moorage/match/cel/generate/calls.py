"""Write calls as Python: common operators on known types inline, all others as calls of their implementations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moorage.match.cel.evaluate.calls import CallPlan, CallStep, accepts_type
from moorage.match.cel.evaluate.logic import MembershipStep
from moorage.match.cel.evaluate.steps import UNSET, EvaluationStep
from moorage.match.cel.generate.operands import ANY_INT, PYTHON_TYPES, SCALARS, Operand, certain, result_bounds
from moorage.match.cel.generate.operators import cost_of, operation
from moorage.match.cel.parse import syntax
from moorage.match.cel.types import BOOL, TypeKind
from moorage.match.cel.values import CelError, equal

if TYPE_CHECKING:
    from moorage.match.cel.functions import Overload
    from moorage.match.cel.generate.expressions import Emitter


def emit_call(emitter: Emitter, node: syntax.Call, step: EvaluationStep) -> Operand:
    if isinstance(step, MembershipStep):
        return _membership(emitter, node, step)
    if not isinstance(step, CallStep):
        return emitter.closure(step)
    if step.prepared is not UNSET:
        return _prepared(emitter, node, step)
    nodes = syntax.children(node)
    plan = step.plan
    if not plan.lenient or len(nodes) not in (1, 2):
        return emitter.in_turn(nodes, lambda name, args: _apply(emitter, plan, args, name), plan.weighed)
    operands = [emitter.emit(arg) for arg in nodes]
    if plan.overload is not None and plan.overload.id in ("equals", "not_equals"):
        return _equality(emitter, plan, *operands)
    return _apply(emitter, plan, _weighed(emitter, plan, operands), None)


def _weighed(emitter: Emitter, plan: CallPlan, operands: list[Operand]) -> list[Operand]:
    return [
        emitter.weighed(emitter.simple(operand)) if weigh else operand
        for operand, weigh in zip(operands, plan.weighed, strict=True)
    ]


def _equality(emitter: Emitter, plan: CallPlan, a: Operand, b: Operand) -> Operand:
    """Write a comparison; of a value of unknown type with a known one, for the case that it is of the same type."""
    unknown, known = (a, b) if a.known is None else (b, a)
    if unknown.known is not None or known.known is None or not known.is_a(*SCALARS):
        return _apply(emitter, plan, _weighed(emitter, plan, [a, b]), None)
    writer = emitter.writer
    same_type = known.known
    a, b = emitter.simple(a), emitter.simple(b)
    unknown = a if a.known is None else b
    name, pending = writer.name(), writer.pending
    python_type = writer.constant(PYTHON_TYPES[same_type.kind])
    with writer.branch(f"if type({unknown.text}) is {python_type}:", pending):
        alike = [replace(one, known=same_type, fails=False, hoisted=False) if one is unknown else one for one in (a, b)]
        writer.line(f"{name} = {_apply(emitter, plan, alike, None).text}")
    with writer.branch("else:", pending):
        writer.line(f"{name} = {_apply(emitter, plan, _weighed(emitter, plan, [a, b]), None).text}")
    return Operand(name, BOOL, fails=True)


def _membership(emitter: Emitter, node: syntax.Call, step: MembershipStep) -> Operand:
    item = emitter.simple(emitter.emit(node.args[0]))
    kinds = {type(constant) for constant in step.constants}
    writer = emitter.writer
    if kinds == {str} and item.is_a(TypeKind.STRING):
        return emitter.pure(f"{item.text} in {writer.constant(frozenset(step.constants))}", BOOL, item)
    if kinds == {int} and item.is_a(TypeKind.INT):
        return emitter.pure(f"{item.text} in {writer.constant(frozenset(step.constants))}", BOOL, item)
    constants = step.constants

    def is_member(value: Any) -> Any:
        return value if type(value) is CelError else any(equal(value, constant) for constant in constants)

    emitter.slow_steps += 1
    return Operand(writer.assign(f"{writer.constant(is_member)}({item.text})"), BOOL, fails=item.fails)


def _prepared(emitter: Emitter, node: syntax.Call, step: CallStep) -> Operand:
    values = [emitter.steps[arg].value for arg in syntax.children(node)]
    emitter.writer.charge(1 if step.plan.cost is None else step.plan.cost(values))
    name = emitter.writer.constant(step.prepared)
    return Operand(name, fails=isinstance(step.prepared, CelError), stable=True, hoisted=True)


def _surely_applies(plan: CallPlan, args: list[Operand]) -> Overload | None:
    """Return the overload that the values will need, if their types are known."""
    if plan.overload is not None:
        return plan.overload
    for overload in plan.fitting:
        for param, arg in zip(overload.params, args, strict=True):
            if arg.known is None or arg.known.kind is TypeKind.DYN:
                return None
            if not accepts_type(param, arg.known):
                break
        else:
            return overload
    return None


def _apply(emitter: Emitter, plan: CallPlan, args: list[Operand], name: str | None) -> Operand:
    """Write the charge for a call and the call itself. Of errors among the arguments the first is passed on."""
    writer = emitter.writer
    overload = _surely_applies(plan, args)
    failing = [arg for arg in args if arg.fails]
    if failing or plan.cost is not None:
        args = [emitter.simple(arg) for arg in args]
        failing = [arg for arg in args if arg.fails]
    writer.charge(cost_of(emitter, plan, overload, args))
    if failing:
        result = name or writer.name()
        writer.flush()
        for index, arg in enumerate(failing):
            writer.line(f"{'el' * (index > 0)}if type({arg.text}) is E: {result} = {arg.text}")
        with writer.block("else:"):
            done = _compute(
                emitter, plan, overload, [replace(arg, fails=False, stable=False, hoisted=False) for arg in args]
            )
            writer.line(f"{result} = {done.text}")
        return replace(done, text=result, fails=True, simple=True, stable=False, hoisted=False)
    done = _compute(emitter, plan, overload, args)
    if name is None:
        return done
    writer.line(f"{name} = {done.text}")
    return replace(done, text=name, simple=True, stable=False, hoisted=False)


def _compute(emitter: Emitter, plan: CallPlan, overload: Overload | None, args: list[Operand]) -> Operand:
    """Write the call of arguments that have not failed."""
    if overload is not None and (done := operation(emitter, overload, args)) is not None:
        return done
    writer = emitter.writer
    implementation = plan.implementation if plan.overload is not None or overload is None else overload.implementation
    args = [emitter.simple(arg) for arg in args]
    call = f"{writer.constant(implementation)}({', '.join(arg.text for arg in args)})"
    writer.flush()
    emitter.slow_steps += 1
    known = None if overload is None else certain(overload.result)
    bounds = ANY_INT if overload is None else result_bounds(overload)
    if all(arg.stable for arg in args):
        # The same arguments every time: called once, when first needed.
        name = writer.name("m")
        writer.prologue(f"{name} = UNSET")
        with writer.block(f"if {name} is UNSET:"):
            _write_call(emitter, name, call)
        return Operand(name, known, bounds, fails=True, stable=True)
    name = writer.name()
    _write_call(emitter, name, call)
    return Operand(name, known, bounds, fails=True)


def _write_call(emitter: Emitter, name: str, call: str) -> None:
    emitter.writer.line(f"try: {name} = {call}")
    emitter.writer.line(f"except E as e: {name} = clean(e)")
