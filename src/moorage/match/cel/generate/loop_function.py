"""Make the function that runs a long loop (checked tree and steps → source → code), and serve it while it runs.

An error is a value to generated code: a CelError is passed on, and raised at the very end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from moorage.match.cel.evaluate.attributes import Qualifier, apply_qualifiers, checked_key, find
from moorage.match.cel.evaluate.calls import CallStep
from moorage.match.cel.evaluate.loops import GeneratedLoop, LoopStep, elements, insert_in_place, pairs
from moorage.match.cel.evaluate.steps import (
    COST_EXCEEDED,
    COST_LIMIT,
    UNSET,
    EvaluationStep,
    Run,
    State,
    check_clock,
    kept,
    without_traceback,
)
from moorage.match.cel.generate.expressions import Emitter
from moorage.match.cel.generate.loops import emit_loop
from moorage.match.cel.generate.source_writer import CannotGenerate, Operand, certain, result_bounds
from moorage.match.cel.libraries.operators import divide_int, modulo_int
from moorage.match.cel.parse import syntax
from moorage.match.cel.values import (
    CONTAINERS,
    CelCancelled,
    CelError,
    CelMap,
    require_modest_nesting,
    require_result_size,
)

# Cost between two looks at the clock.
_STRIDE = 256
OVERFLOW = CelError("integer overflow")
NO_OVERLOAD = CelError("no such overload")


def over(state: State, cost: int, costs: Sequence[int]) -> int:
    """Replay charges: stop at the one that exceeds the limit, or look at the clock and say when to look again."""
    for charge in costs:
        cost += charge
        if cost > COST_LIMIT:
            state[0] = cost
            raise CelCancelled(COST_EXCEEDED)
    state[0] = cost
    check_clock(state)
    return next_look(cost)


def next_look(cost: int) -> int:
    return min(COST_LIMIT, cost + _STRIDE)


def ask(run: Run, state: State) -> Any:
    """Evaluate a closure; an error is returned."""
    try:
        return run(state)
    except CelError as error:
        return without_traceback(kept(error))


def failed(error: CelError) -> CelError:
    return CelError(*error.args)


def as_bool(value: Any) -> Any:
    return value if value is True or value is False or type(value) is CelError else NO_OVERLOAD


def weigh(value: Any) -> Any:
    """Return the value, or an error if it is a container of too many containers."""
    if type(value) in CONTAINERS:
        try:
            require_modest_nesting(value)
        except CelError as error:
            return without_traceback(error)
    return value


def divide(a: int, b: int) -> Any:
    try:
        return divide_int(a, b)
    except CelError as error:
        return without_traceback(error)


def modulo(a: int, b: int) -> Any:
    try:
        return modulo_int(a, b)
    except CelError as error:
        return without_traceback(error)


def pick(value: Any, key: Any) -> Any:
    """Return what a key selects from a list or a map, or the error."""
    if type(key) is CelError:
        return key
    try:
        return find(value, checked_key(key))
    except CelError as error:
        return without_traceback(error)


def select(state: State, value: Any, qualifiers: tuple[Qualifier, ...]) -> Any:
    """Apply selections to a value that may be an optional."""
    if type(value) is CelError:
        return value
    try:
        return apply_qualifiers(state, value, qualifiers)
    except CelError as error:
        return without_traceback(kept(error))


def each(items: Any) -> Iterator[Any] | CelError:
    """Return the elements or keys, or the error of looping over something else."""
    try:
        elements(items)
    except CelError as error:
        return without_traceback(error)
    iterator: Iterator[Any] = iter(items)
    return iterator


def each_pair(items: Any) -> Iterator[Any] | CelError:
    try:
        return iter(pairs(items))
    except CelError as error:
        return without_traceback(error)


def too_large(size: int) -> CelError:
    try:
        require_result_size(size)
    except CelError as error:
        return without_traceback(error)
    return NO_OVERLOAD


def insert(entries: CelMap, *values: Any) -> CelError | None:
    """Insert into the map that a loop accumulates; returns the error if there is one."""
    try:
        insert_in_place(entries, *values)
    except CelError as error:
        return without_traceback(error)
    return None


def attribute(value: Any, field: str) -> Any:
    """Return a field of an object variable, or an error if it has none."""
    return getattr(value, field, NO_OVERLOAD)


#: The names that all generated functions use.
NAMESPACE: dict[str, Any] = {
    "E": CelError,
    "NO_OVERLOAD": NO_OVERLOAD,
    "OVERFLOW": OVERFLOW,
    "STOPPED": CelCancelled,
    "UNSET": UNSET,
    "as_bool": as_bool,
    "ask": ask,
    "attribute": attribute,
    "clean": without_traceback,
    "clock": check_clock,
    "divide": divide,
    "each": each,
    "each_pair": each_pair,
    "failed": failed,
    "insert": insert,
    "modulo": modulo,
    "next_look": next_look,
    "over": over,
    "pick": pick,
    "select": select,
    "too_large": too_large,
    "weigh": weigh,
}


_HEAD = "def loop(s, items):\n c = s[0]\n m = next_look(c)"


def generate_loop(node: syntax.Comprehension, steps: Mapping[syntax.Node, EvaluationStep]) -> GeneratedLoop | None:
    """Return a function that answers and charges as the loop's step does, or None if it would be too large.

    `AssertionError` and `LookupError` are mistakes of the generator: the closures answer, and the laws complain.
    """
    try:
        source, namespace = write_loop(node, steps)
        code = compile(source, "<generated from CEL>", "exec")
    except (CannotGenerate, SyntaxError, RecursionError, MemoryError, AssertionError, LookupError):
        return None
    exec(code, namespace)
    generated: GeneratedLoop = namespace["loop"]
    return generated


def write_loop(node: syntax.Comprehension, steps: Mapping[syntax.Node, EvaluationStep]) -> tuple[str, dict[str, Any]]:
    """Return the source of the function `loop`, and the names it refers to."""
    step = steps[node]
    assert isinstance(step, LoopStep)
    emitter = Emitter(steps)
    writer = emitter.writer
    result = emit_loop(emitter, node, step, _items(steps[node.range]))
    writer.flush()
    if result.fails:
        writer.line(f"if type({result.text}) is E: raise failed({result.text})")
    writer.line("s[0] = c")
    writer.line(f"return {result.text}")
    return writer.source(_HEAD), NAMESPACE | writer.namespace | {"fold": step.fold}


def _items(step: EvaluationStep) -> Operand:
    """Return what is known of the elements that are passed to the function."""
    overload = step.plan.overload if isinstance(step, CallStep) else None
    if overload is None:
        return Operand("items", stable=True)
    return Operand("items", certain(overload.result), result_bounds(overload), stable=True)
