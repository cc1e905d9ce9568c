"""The Common Expression Language on its own: compile, check, estimate and evaluate expressions.

    >>> from moorage import cel
    >>> expression = cel.compile("size(name) < limit", {"name": "string", "limit": "int"})
    >>> expression.evaluate(name="web", limit=5)
    True

The language is Kubernetes 1.36's: cel-go 0.26 with the libraries of the API server (strings, lists, sets, regex, URLs,
IP addresses, quantities, semver, format), its type checker, its cost estimate and its cost limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from moorage.match.cel import CelError, Issue, Program, compile_expression, render_issues
from moorage.match.cel import types as cel_types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, MAX_LENGTH, PREDICATE, Environment, ObjectField
from moorage.match.cel.functions import Interval as Cost
from moorage.match.cel.values import CelMap, Duration, OptionalValue, Timestamp

__all__ = ["CelError", "CompileError", "Cost", "Expression", "Issue", "check", "compile", "estimate", "evaluate"]

Variables = Mapping[str, str | Mapping[str, str]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


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
        bindings = {name: _to_cel(value) for name, value in values.items() if name not in self._fields}
        objects = {name: _Record(name, values.get(name), fields) for name, fields in self._fields.items()}
        return _from_cel(self._program.run({**bindings, **objects}))


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
    environment = _declared_environment(variables or {}, max_sizes or {}, predicate=bool_only)
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


# -- Python's values and type names as CEL's, and back; times are as fine as Python's, in microseconds


def _declared_type(text: str) -> cel_types.Type:
    """Read a type as CEL writes it, such as `map(string, list(int))`; raises ValueError."""
    found, rest = cel_types.leading_type(text)
    if found is None or rest or found.has_type_param:
        raise ValueError(f"not a type: {text!r}")
    return found


def _declared_environment(variables: Variables, max_sizes: Mapping[str, int], *, predicate: bool) -> Environment:
    """Declare variables: a type, or an object given by the types of its fields."""
    found: dict[str, cel_types.Type] = {}
    objects: dict[str, dict[str, ObjectField]] = {}
    for name, declared in variables.items():
        if isinstance(declared, str):
            found[name] = _declared_type(declared)
            continue
        found[name] = cel_types.struct(name)
        objects[name] = {
            field: ObjectField(_declared_type(text), max_sizes.get(f"{name}.{field}"))
            for field, text in declared.items()
        }
    if not predicate:
        return Environment(KUBERNETES_FUNCTIONS, found, objects)
    return Environment(KUBERNETES_FUNCTIONS, found, objects, results=PREDICATE, max_length=MAX_LENGTH)


class _Record:
    """An object variable: its declared fields as attributes."""

    def __init__(self, name: str, value: Any, fields: Iterable[str]) -> None:
        self._name = name
        for field in fields:
            if isinstance(value, Mapping):
                if field in value:
                    setattr(self, field, _to_cel(value[field]))
            elif hasattr(value, field):
                setattr(self, field, _to_cel(getattr(value, field)))

    def __getattr__(self, field: str) -> Any:
        raise CelError(f"no such attribute(s): {self._name}.{field}")


def _to_cel(value: Any) -> Any:
    """Convert a Python value to CEL's; values that CEL shares with Python stay as they are."""
    if isinstance(value, Mapping):
        return CelMap((key, _to_cel(entry)) for key, entry in value.items())
    if isinstance(value, list | tuple):
        return [_to_cel(entry) for entry in value]
    if isinstance(value, datetime):
        offset = value.utcoffset() or timedelta()
        return Timestamp((value - _EPOCH) // _MICROSECOND * 1000, int(offset.total_seconds()))
    if isinstance(value, timedelta):
        return Duration(value // _MICROSECOND * 1000)
    return value


def _from_cel(value: Any) -> Any:
    """Convert a result to Python: maps to dicts, times to datetime and timedelta, an absent optional to None."""
    if isinstance(value, CelMap):
        return {key: _from_cel(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_from_cel(entry) for entry in value]
    if isinstance(value, Timestamp):
        return _EPOCH + timedelta(microseconds=value.nanos // 1000)
    if isinstance(value, Duration):
        return timedelta(microseconds=value.nanos // 1000)
    if isinstance(value, OptionalValue):
        return _from_cel(value.value) if value.present else None
    return value
