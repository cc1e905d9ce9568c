"""A toleration's CEL expression → does it tolerate this taint?

In: the text of `expression`, and a cache of compiled programs if the caller keeps one. Out: a `TaintExpression` whose
`match` cannot fail, or the sentence that says why the text does not compile. Kubernetes: none yet; modelled on the
expressions of dynamic resource allocation.
Differs: an evaluation error is "does not match", and the caller hears of it through a callback, to log and to count.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from moorage.match.cel import CelError, Issue, compile_expression, taint_environment
from moorage.model.types.node import Taint

#: Called with the expression, the taint and the error's text whenever an evaluation failed.
EvaluationFailed: TypeAlias = Callable[[str, Taint, str], None]

NOT_TRUE = "the expression is not true"


class Program(Protocol):
    """A compiled expression; `evaluate` raises `CelError`."""

    def evaluate(self, taint: Taint) -> bool: ...


class Programs(Protocol):
    """Where compiled expressions are kept: `moorage.match.tolerations.ProgramCache`."""

    def get(self, source: str) -> Program | Sequence[Issue]: ...


class TaintExpression:
    """A compiled expression, asked about taints."""

    __slots__ = ("_evaluate", "_on_failed", "_source")

    def __init__(self, source: str, program: Program, on_failed: EvaluationFailed | None) -> None:
        self._source = source
        self._evaluate = program.evaluate
        self._on_failed = on_failed

    def match(self, taint: Taint) -> bool:
        try:
            return self._evaluate(taint) is True
        except CelError as error:
            if self._on_failed is not None:
                self._on_failed(self._source, taint, str(error))
            return False

    def why_false(self, taint: Taint) -> str | None:
        """Return why it does not match, or None. A failure is told here, and not reported a second time."""
        try:
            return None if self._evaluate(taint) is True else NOT_TRUE
        except CelError as error:
            return f"the expression failed: {error}"


def compile_taint_expression(
    source: str, programs: Programs | None, on_failed: EvaluationFailed | None
) -> TaintExpression | str:
    """Return the compiled expression, or why it does not compile."""
    program = programs.get(source) if programs is not None else compile_expression(source, taint_environment())
    if isinstance(program, Sequence):
        first = program[0]
        where = f"{first.line}:{first.column}: " if first.line > 0 else ""
        return f"the expression does not compile: {where}{first.message}"
    return TaintExpression(source, program, on_failed)
