"""Compile the expressions of policies and webhooks as they are validated, in the environments that they will run in.

CEL is imported with the first expression. Kubernetes: validateCELCondition, convertCELErrorToValidationError and the
compilers of admissionregistration's validation. A policy without variables has no `variables`, one with variables has
those that come before; match conditions never have them. All libraries are older than the oldest version that a server
of 1.36 may run beside, so expressions of a stored object may use no more than new ones.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moorage.admit.metadata import validate_label_name
from moorage.model import field_error as field
from moorage.model.field_error import FieldError, FieldErrors, internal_error, invalid
from moorage.model.types.extension import admission_policies as views

if TYPE_CHECKING:
    from moorage.admit.extension.policies.compiled import CompiledExpression, PolicyCompiler
    from moorage.match.cel.types import Type

_MAX_CONDITIONS = 64
PolicySpec = views.ValidatingAdmissionPolicySpec | views.MutatingAdmissionPolicySpec


class PolicyExpressions:
    """Checks the expressions of one policy: first its variables in order, then those that may refer to them."""

    def __init__(self, spec: PolicySpec) -> None:
        self._has_params = spec.paramKind is not None
        self._composes = bool(spec.variables) or isinstance(spec, views.MutatingAdmissionPolicySpec)
        self._made: PolicyCompiler | None = None

    @property
    def _compiler(self) -> "PolicyCompiler":
        from moorage.admit.extension.policies.compiled import PolicyCompiler

        if self._made is None:
            self._made = PolicyCompiler((), has_params=self._has_params)
        return self._made

    def variable(self, variable: views.Variable, path: str) -> list[FieldError]:
        source = variable.expression
        return _errors(self._compiler.add_variable(variable.name, source), source, path)

    def validation(self, source: str, path: str) -> list[FieldError]:
        from moorage.admit.extension.policies.compiled import CONDITION

        return _errors(self._compiled(source, CONDITION), source, path)

    def message(self, source: str, path: str) -> list[FieldError]:
        from moorage.admit.extension.policies.compiled import MESSAGE

        return _errors(self._compiled(source, MESSAGE, authorizer=False), source, path)

    def audit_value(self, source: str, path: str) -> list[FieldError]:
        from moorage.admit.extension.policies.compiled import AUDIT_VALUE

        return _errors(self._compiled(source.strip(), AUDIT_VALUE), source, path)

    def mutation(self, source: str, patch_type: str, path: str) -> list[FieldError]:
        """Check an expression that constructs a patch of an object."""
        from moorage.admit.extension.policies.mutating.mutations import MUTATION_TYPES
        from moorage.admit.extension.policies.mutating.object_types import JSON_PATCHES, OBJECT

        results = (JSON_PATCHES,) if patch_type == "JSONPatch" else (OBJECT,)
        return _errors(self._compiler.compile(source, results, extras=MUTATION_TYPES), source, path)

    def _compiled(self, source: str, results: "tuple[Type, ...]", *, authorizer: bool = True) -> "CompiledExpression":
        if self._composes:
            return self._compiler.compile(source, results, authorizer=authorizer)
        return _compile_alone(source, results, has_params=self._has_params, authorizer=authorizer)


def _compile_alone(
    source: str, results: "tuple[Type, ...]", *, has_params: bool, authorizer: bool = True
) -> "CompiledExpression":
    from moorage.admit.extension.policies.compiled import compile_for
    from moorage.admit.extension.policies.environment import Offered, policy_environment

    return compile_for(source, policy_environment(Offered(has_params, authorizer, composes=False)), results)


def _errors(compiled: "CompiledExpression", source: str, path: str) -> list[FieldError]:
    from moorage.match.cel.program import NOT_INSTANTIATED

    if not compiled.error:
        return []
    if compiled.error.startswith(NOT_INSTANTIATED):
        return [internal_error(path, compiled.error)]
    return [invalid(path, source, compiled.error)]


def validate_conditions(conditions: Sequence[views.MatchCondition], path: str, *, has_params: bool) -> FieldErrors:
    """Check match conditions of a policy or webhook."""
    if len(conditions) > _MAX_CONDITIONS:
        yield field.too_many(path, len(conditions), _MAX_CONDITIONS)
    seen = set[str]()
    for index, condition in enumerate(conditions):
        at, source = f"{path}[{index}]", condition.expression.strip()
        if source:
            yield from _condition_errors(source, f"{at}.expression", has_params=has_params)
        else:
            yield field.required(f"{at}.expression")
        if not condition.name:
            yield field.required(f"{at}.name")
            continue
        yield from validate_label_name(condition.name, f"{at}.name")
        if condition.name in seen:
            yield field.duplicate(f"{at}.name", condition.name)
        seen.add(condition.name)


def _condition_errors(source: str, path: str, *, has_params: bool) -> list[FieldError]:
    from moorage.admit.extension.policies.compiled import CONDITION

    return _errors(_compile_alone(source, CONDITION, has_params=has_params), source, path)
