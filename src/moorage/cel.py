"""The Common Expression Language on its own: compile, check, estimate and evaluate expressions.

    >>> from moorage import cel
    >>> expression = cel.compile("size(name) < limit", {"name": "string", "limit": "int"})
    >>> expression.evaluate(name="web", limit=5)
    True

The language is Kubernetes 1.36's: cel-go 0.26 with the libraries of the API server (strings, lists, sets, regex, URLs,
IP addresses, quantities, semver, format), its type checker, its cost estimate and its cost limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moorage.match.cel import CelError, Issue, Program, compile_expression, render_issues
from moorage.match.cel.functions import Interval as Cost
from moorage.match.cel.python_values import Record, declared_environment, from_cel, to_cel

__all__ = ["CelError", "CompileError", "Cost", "Expression", "Issue", "check", "compile", "estimate", "evaluate"]

Variables = Mapping[str, str | Mapping[str, str]]


class CompileError(ValueError):
    """An expression that does not compile: `str()` is what Kubernetes says, `issues` have line and column."""

    def __init__(self, source: str, issues: list[Issue]) -> None:
        super().__init__(render_issues(source, issues))
        self.issues = issues


class Expression:
    """A compiled expression. `result_type` is its type as text, `cost` the least and the greatest it can cost."""

    def __init__(self, program: Program, fields: Mapping[str, tuple[str, ...]]) -> None:
        self.source, self.result_type, self.cost = program.source, str(program.result_type), program.estimate
        self._program, self._fields = program, fields

    def evaluate(self, /, **values: Any) -> Any:
        """Return the value for these values of the variables; raises CelError, also beyond the cost limit."""
        bindings = {name: to_cel(value) for name, value in values.items() if name not in self._fields}
        objects = {name: Record(name, values.get(name), fields) for name, fields in self._fields.items()}
        return from_cel(self._program.run({**bindings, **objects}))


def compile(  # noqa: A001 (the word for it, in a module meant to be used with its name)
    source: str,
    variables: Variables | None = None,
    *,
    max_sizes: Mapping[str, int] | None = None,
    bool_only: bool = False,
) -> Expression:
    """Compile an expression, or raise CompileError.

    `variables` declares what the expression may use: a type such as `list(string)` for each name, or the types of the
    fields of an object. `max_sizes` bounds fields for the estimate, such as `{"taint.key": 317}`. `bool_only` refuses
    expressions that are not true or false, and texts of more than 10 KiB.
    """
    environment = declared_environment(variables or {}, max_sizes or {}, predicate=bool_only)
    program = compile_expression(source, environment)
    if not isinstance(program, Program):
        raise CompileError(source, program)
    return Expression(program, {name: tuple(fields) for name, fields in environment.objects.items()})


def check(source: str, variables: Variables | None = None) -> list[Issue]:
    """Return what is wrong with an expression, with line and column; an empty list if it compiles."""
    try:
        compile(source, variables)
    except CompileError as error:
        return error.issues
    return []


def estimate(source: str, variables: Variables | None = None, *, max_sizes: Mapping[str, int] | None = None) -> Cost:
    """Return the least and the greatest cost of evaluating the expression, in Kubernetes' units."""
    return compile(source, variables, max_sizes=max_sizes).cost


def evaluate(source: str, /, **values: Any) -> Any:
    """Compile and evaluate in one step; the variables are those given, of any type."""
    return compile(source, dict.fromkeys(values, "dyn")).evaluate(**values)
