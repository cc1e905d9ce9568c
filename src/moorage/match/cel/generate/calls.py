"""Write calls as Python: common operators on known types inline with their costs, others as calls of functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from moorage.match.cel.evaluate.calls import CallPlan, CallStep
from moorage.match.cel.evaluate.overloads import accepts_type
from moorage.match.cel.evaluate.steps import UNSET, EvaluationStep, MembershipStep
from moorage.match.cel.functions import REGEX_FACTOR, Overload, ceil_factor, pattern_cost, smaller_size_cost
from moorage.match.cel.generate.source_writer import (
    ANY_INT,
    ANY_SIZE,
    PYTHON_TYPES,
    SCALARS,
    Bounds,
    Operand,
    certain,
    result_bounds,
)
from moorage.match.cel.libraries.operators import equality_cost
from moorage.match.cel.parse import syntax
from moorage.match.cel.patterns import MEMORABLE, remembering_searcher, searcher
from moorage.match.cel.types import BOOL, BYTES, DOUBLE, INT, STRING, Type, TypeKind
from moorage.match.cel.values import MAX_RESULT_SIZE, CelError, equal
from moorage.model.go.integers import INT64_MAX, INT64_MIN

if TYPE_CHECKING:
    from moorage.match.cel.evaluate.calls import CallPlan
    from moorage.match.cel.generate.expressions import Emitter

Rule = Callable[..., "Operand | None"]

_TEXTS = (TypeKind.STRING, TypeKind.BYTES)
_SIZED_ONE = (TypeKind.BOOL, TypeKind.DOUBLE, TypeKind.INT, TypeKind.UINT)
_DIVISION_BY_ZERO = CelError("division by zero")
_MODULUS_BY_ZERO = CelError("modulus by zero")


def operation(emitter: Emitter, overload: Overload, args: list[Operand]) -> Operand | None:
    """Return the result of a call, or None if there is no rule for it or too little is known of the arguments."""
    rule = RULES.get(overload.id)
    return None if rule is None else rule(emitter, *args)


# -- costs


def cost_of(emitter: Emitter, plan: CallPlan, overload: Overload | None, args: list[Operand]) -> int | str:
    """Return what a call costs: a number, or the name of one."""
    cost = plan.cost
    if cost is None:
        return 1
    text = None if overload is None else _cost_text(plan, overload, args)
    if text is None:
        operands = "".join(f"{arg.text}, " for arg in args)
        return emitter.writer.assign(f"{emitter.writer.constant(cost)}(({operands}))")
    if text.isdigit():
        return int(text)
    return emitter.writer.hoist(text) if all(arg.hoisted for arg in args) else emitter.writer.assign(text)


def _tenth(size: str) -> str:
    """⌈size × 0.1⌉; as exact as the product of doubles up to twice the largest result there may be."""
    return f"({size} + 9) // 10"


def _cost_text(plan: CallPlan, overload: Overload, args: list[Operand]) -> str | None:
    compares = plan.cost is smaller_size_cost or plan.cost is equality_cost
    if compares and all(arg.known is not None and arg.known.kind in _SIZED_ONE for arg in args):
        return "1"  # an error counts as much
    if any(arg.fails for arg in args):
        return None
    if compares and all(arg.is_a(*_TEXTS) for arg in args):
        return _smaller(args[0], args[1])
    if not args[0].is_a(*_TEXTS):
        in_list = overload.id == "in_list" and args[1].is_a(TypeKind.LIST)
        return f"len({args[1].text})" if in_list else None
    first = f"len({args[0].text})"
    if overload.id in ("starts_with_string", "ends_with_string"):
        return _tenth(first)
    if len(args) != 2 or not args[1].is_a(*_TEXTS):
        return None
    second = f"len({args[1].text})"
    if overload.id == "contains_string":
        return f"{_tenth(first)} * ({_tenth(second)})"
    if overload.id in ("add_string", "add_bytes"):
        return _tenth(f"{first} + {second}")
    if plan.cost is pattern_cost and args[1].is_literal:
        return f"({first} + 10) // 10 * {ceil_factor(len(args[1].literal), REGEX_FACTOR)}"
    return None


def _smaller(first: Operand, second: Operand) -> str:
    for literal, other in ((first, second), (second, first)):
        if literal.is_literal and len(literal.literal) <= 10:
            return f"1 if {other.text} else 0" if literal.literal else "0"
    return _tenth(f"min(len({first.text}), len({second.text}))")


# -- comparisons


def _comparison(symbol: str, *kinds: TypeKind) -> Rule:
    def compare(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        if a.is_a(*kinds) and a.known is not None and b.is_a(a.known.kind):
            return emitter.pure(f"{a.text} {symbol} {b.text}", BOOL, a, b)
        return None

    return compare


def _not(emitter: Emitter, a: Operand) -> Operand | None:
    return emitter.pure(f"not {a.text}", BOOL, a) if a.is_a(TypeKind.BOOL) else None


# -- arithmetic


def _fits(bounds: Bounds) -> bool:
    return bounds[0] >= INT64_MIN and bounds[1] <= INT64_MAX


def _checked(emitter: Emitter, text: str, bounds: Bounds, *operands: Operand) -> Operand:
    """Return an int; whether it is in range is looked at unless it surely is."""
    if _fits(bounds):
        return emitter.pure(text, INT, *operands, bounds=bounds)
    name = emitter.writer.assign(text)
    emitter.writer.line(f"if not {INT64_MIN} <= {name} <= {INT64_MAX}: {name} = OVERFLOW")
    return Operand(name, INT, fails=True)


def _arithmetic(symbol: str, combine: Callable[[int, int], int]) -> Rule:
    def compute(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        if not (a.is_a(TypeKind.INT) and b.is_a(TypeKind.INT)):
            return None
        extremes = [combine(x, y) for x in a.bounds for y in b.bounds]
        return _checked(emitter, f"{a.text} {symbol} {b.text}", (min(extremes), max(extremes)), a, b)

    return compute


def _negate(emitter: Emitter, a: Operand) -> Operand | None:
    if not a.is_a(TypeKind.INT):
        return None
    return _checked(emitter, f"-{a.text}", (-a.bounds[1], -a.bounds[0]), a)


def _division(symbol: str, function: str, by_zero: CelError) -> Rule:
    def compute(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        if not (a.is_a(TypeKind.INT) and b.is_a(TypeKind.INT)):
            return None
        largest = (
            min(max(map(abs, a.bounds)), max(map(abs, b.bounds)) - 1) if symbol == "%" else max(map(abs, a.bounds))
        )
        if a.bounds[0] >= 0 and b.bounds[0] > 0:
            return emitter.pure(f"{a.text} {symbol} {b.text}", INT, a, b, bounds=(0, largest))
        if b.bounds[0] > 0 or b.bounds[1] < -1:
            return Operand(emitter.writer.assign(f"{function}({a.text}, {b.text})"), INT, (-largest, largest))
        a, b = emitter.simple(a), emitter.simple(b)
        zero = emitter.writer.constant(by_zero)
        natural = a.bounds[0] >= 0 and b.bounds[0] >= 0
        quotient = f"{a.text} {symbol} {b.text}" if natural else f"{function}({a.text}, {b.text})"
        name = emitter.writer.assign(f"{zero} if {b.text} == 0 else {quotient}")
        return Operand(name, INT, (-largest, largest) if natural else ANY_INT, fails=True)

    return compute


def _doubles(symbol: str) -> Rule:
    def compute(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        both = a.is_a(TypeKind.DOUBLE) and b.is_a(TypeKind.DOUBLE)
        return emitter.pure(f"{a.text} {symbol} {b.text}", DOUBLE, a, b) if both else None

    return compute


# -- texts and lists


def _size(emitter: Emitter, a: Operand) -> Operand | None:
    if a.is_a(*_TEXTS, TypeKind.LIST, TypeKind.MAP):
        return emitter.pure(f"len({a.text})", INT, a, bounds=ANY_SIZE)
    return None


def _of_texts(template: str) -> Rule:
    def compute(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        both = a.is_a(TypeKind.STRING) and b.is_a(TypeKind.STRING)
        return emitter.pure(template.format(a.text, b.text), BOOL, a, b) if both else None

    return compute


def _join(type_: Type) -> Rule:
    def compute(emitter: Emitter, a: Operand, b: Operand) -> Operand | None:
        if not (a.is_a(type_.kind) and b.is_a(type_.kind)):
            return None
        emitter.writer.flush()
        size = f"len({a.text}) + len({b.text})"
        too_large = f"too_large({size})"
        name = emitter.writer.assign(f"{a.text} + {b.text} if {size} <= {MAX_RESULT_SIZE} else {too_large}")
        return Operand(name, type_, fails=True)

    return compute


def _matches(emitter: Emitter, text: Operand, pattern: Operand) -> Operand | None:
    if not text.is_a(TypeKind.STRING) or type(pattern.literal) is not str:
        return None
    emitter.writer.flush()
    emitter.slow_steps += 1
    text = emitter.simple(text)
    search = emitter.writer.constant(searcher(pattern.literal))
    search_call = f'{search}({text.text}.encode("utf-8", "surrogatepass"))'
    if text.stable:
        return Operand(emitter.writer.once(search_call), BOOL, stable=True)
    remembering = emitter.writer.constant(remembering_searcher(pattern.literal))
    return Operand(
        emitter.writer.assign(f"{remembering}({text.text}) if len({text.text}) <= {MEMORABLE} else {search_call}"), BOOL
    )


def _text_of_int(emitter: Emitter, a: Operand) -> Operand | None:
    return emitter.pure(f"str({a.text})", STRING, a) if a.is_a(TypeKind.INT) else None


def _double_of_int(emitter: Emitter, a: Operand) -> Operand | None:
    return emitter.pure(f"float({a.text})", DOUBLE, a) if a.is_a(TypeKind.INT) else None


def _in_list(emitter: Emitter, item: Operand, items: Operand) -> Operand | None:
    if not items.is_a(TypeKind.LIST) or items.known is None or item.known is None:
        return None
    kind = item.known.kind
    if kind is TypeKind.DOUBLE or kind not in SCALARS or items.known.parameters[0].kind is not kind:
        return None
    emitter.writer.flush()
    return Operand(emitter.writer.assign(f"{item.text} in {items.text}"), BOOL)


def _dyn(_: Emitter, a: Operand) -> Operand | None:
    return a


def _comparisons() -> Iterator[tuple[str, Rule]]:
    for prefix, symbol in (("less", "<"), ("less_equals", "<="), ("greater", ">"), ("greater_equals", ">=")):
        yield f"{prefix}_int64", _comparison(symbol, TypeKind.INT)
        yield f"{prefix}_uint64", _comparison(symbol, TypeKind.UINT)
        yield f"{prefix}_string", _comparison(symbol, TypeKind.STRING)
        yield f"{prefix}_bytes", _comparison(symbol, TypeKind.BYTES)
        yield f"{prefix}_bool", _comparison(symbol, TypeKind.BOOL)


RULES: dict[str, Rule] = {
    **dict(_comparisons()),
    "equals": _comparison("==", *SCALARS),
    "not_equals": _comparison("!=", *SCALARS),
    "logical_not": _not,
    "add_int64": _arithmetic("+", lambda x, y: x + y),
    "subtract_int64": _arithmetic("-", lambda x, y: x - y),
    "multiply_int64": _arithmetic("*", lambda x, y: x * y),
    "negate_int64": _negate,
    "divide_int64": _division("//", "divide", _DIVISION_BY_ZERO),
    "modulo_int64": _division("%", "modulo", _MODULUS_BY_ZERO),
    "add_double": _doubles("+"),
    "subtract_double": _doubles("-"),
    "multiply_double": _doubles("*"),
    **{f"size_{kind}": _size for kind in ("bytes", "list", "map", "string")},
    **{f"{kind}_size": _size for kind in ("bytes", "list", "map", "string")},
    "starts_with_string": _of_texts("{}.startswith({})"),
    "ends_with_string": _of_texts("{}.endswith({})"),
    "contains_string": _of_texts("{1} in {0}"),
    "add_string": _join(STRING),
    "add_bytes": _join(BYTES),
    "matches": _matches,
    "matches_string": _matches,
    "in_list": _in_list,
    "int64_to_string": _text_of_int,
    "int64_to_double": _double_of_int,
    "to_dyn": _dyn,
}


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
        alike = [
            replace(operand, known=same_type, fails=False, hoisted=False) if operand is unknown else operand
            for operand in (a, b)
        ]
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
