"""Make the function that runs a long loop: checked tree and steps → source → code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.match.cel.evaluate.calls import CallStep
from moorage.match.cel.evaluate.loops import GeneratedLoop, LoopStep
from moorage.match.cel.evaluate.steps import EvaluationStep
from moorage.match.cel.generate.expressions import Emitter
from moorage.match.cel.generate.loops import emit_loop
from moorage.match.cel.generate.operands import Operand, certain, result_bounds
from moorage.match.cel.generate.runtime import NAMESPACE
from moorage.match.cel.generate.source_writer import CannotGenerate
from moorage.match.cel.parse import syntax

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
