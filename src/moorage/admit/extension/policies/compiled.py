"""Compile expressions of policies and webhooks, with the texts of Kubernetes for those that do not compile.

Kubernetes: CompileCELExpression in apiserver/pkg/admission/plugin/cel/compile.go, and CompositedCompiler for variables.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from moorage.admit.extension.policies.environment import (
    NO_EXTRAS,
    ExtraTypes,
    Offered,
    policy_environment,
    type_of_variable,
)
from moorage.match.cel import types
from moorage.match.cel.environment import Environment, ObjectField
from moorage.match.cel.program import (
    NOT_INSTANTIATED,
    Program,
    check_expression,
    compile_expression,
    render_issues,
)
from moorage.match.cel.types import Type

#: The results of conditions and validations, messages, and values of audit annotations; any result of variables.
CONDITION, MESSAGE, AUDIT_VALUE, ANYTHING = (types.BOOL,), (types.STRING,), (types.STRING, types.NULL), ()
_COMPILATION = "compilation failed: "


class CompiledExpression(NamedTuple):
    """An expression with its program; without one, `error` says why."""

    source: str
    program: Program | None
    error: str
    environment: Environment


class NamedExpression(Protocol):
    """A variable of a policy."""

    @property
    def name(self) -> str: ...
    @property
    def expression(self) -> str: ...


def compile_for(source: str, environment: Environment, results: tuple[Type, ...]) -> CompiledExpression:
    """Compile an expression that must have one of these types; none at all allow any."""
    program = compile_expression(source, environment)
    if isinstance(program, list):
        text = render_issues(source, program)
        if results and text.startswith(NOT_INSTANTIATED):  # the type of the result counts first
            given = check_expression(source, environment)
            if isinstance(given, Type) and given not in results:
                return CompiledExpression(source, None, _wrong_type(given, results), environment)
        known = text.startswith((_COMPILATION, NOT_INSTANTIATED))
        return CompiledExpression(source, None, text if known else _COMPILATION + text, environment)
    if results and program.result_type not in results:
        return CompiledExpression(source, None, _wrong_type(program.result_type, results), environment)
    return CompiledExpression(source, program, "", environment)


def _wrong_type(given: Type, results: tuple[Type, ...]) -> str:
    if len(results) == 1:
        return f"must evaluate to {results[0].declared_name} but got {given.declared_name}"
    return f"must evaluate to one of [{' '.join(each.declared_name for each in results)}] but got {given.declared_name}"


class PolicyCompiler:
    """Compiles the expressions of one policy, all of which may refer to its variables.

    A variable may refer to those before it. `variables` has all of them; one that does not compile is of unknown type,
    and fails where it is read.
    """

    def __init__(self, variables: Iterable[NamedExpression], *, has_params: bool) -> None:
        self._has_params = has_params
        self._fields: dict[str, ObjectField] = {}  # which all environments of the policy share
        self._environments: dict[tuple[bool, int], Environment] = {}
        self.variables: dict[str, CompiledExpression] = {}
        for variable in variables:
            self.add_variable(variable.name, variable.expression)

    def add_variable(self, name: str, source: str) -> CompiledExpression:
        """Compile a variable, for itself and for what is compiled after it."""
        compiled = self.compile(source, ANYTHING)
        result = None if compiled.program is None else compiled.program.result_type
        self._fields[name] = ObjectField(type_of_variable(result))
        self.variables[name] = compiled
        return compiled

    def compile(
        self, source: str, results: tuple[Type, ...], *, authorizer: bool = True, extras: ExtraTypes = NO_EXTRAS
    ) -> CompiledExpression:
        return compile_for(source, self.environment(authorizer=authorizer, extras=extras), results)

    def environment(self, *, authorizer: bool = True, extras: ExtraTypes = NO_EXTRAS) -> Environment:
        """Return the environment of an expression of this policy, with the variables compiled so far."""
        key = (authorizer, id(extras))
        environment = self._environments.get(key)
        if environment is None:
            offered = Offered(self._has_params, authorizer)
            environment = self._environments[key] = policy_environment(offered, self._fields, extras)
        return environment
