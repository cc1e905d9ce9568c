"""Show how a policy decides about a request: the value of each variable and of each part of its expressions.

Long expressions are evaluated at once, so this is for command lines and for processes that others do not wait for.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.matcher import Matched, Versioned, match_resources, versioned
from moorage.admit.extension.matching.reasons import why_unmatched
from moorage.admit.extension.policies.compiled import CompiledExpression
from moorage.admit.extension.policies.decisions import PolicyValidator
from moorage.admit.extension.policies.evaluation import Activation
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.policies.params import ConfigurationError, collect_params, find_param_kind, sought_params
from moorage.admit.extension.policies.validating import ask_policy, compiled_validator
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import without_calls
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.match.cel.program import render_issues
from moorage.match.cel.trace.tracing import Trace, trace_expression
from moorage.model.api_error import ApiError
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)

Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy
Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding


class TracedExpression(msgspec.Struct, frozen=True):
    """An expression of a policy with its trace; without one, `problem` says why it does not compile.

    `field` is its path in the policy; `name` that of a variable, a condition or an annotation.
    """

    field: str
    name: str
    source: str
    trace: Trace | None = None
    problem: str = ""


class ParamTrace(msgspec.Struct, frozen=True):
    """The expressions of a policy for one parameter, or for none."""

    param: Raw | None
    conditions: tuple[TracedExpression, ...]
    variables: tuple[TracedExpression, ...]
    validations: tuple[TracedExpression, ...]
    messages: tuple[TracedExpression, ...]
    annotations: tuple[TracedExpression, ...]


class PolicyTrace(msgspec.Struct, frozen=True):
    """What a policy makes of a request through one binding.

    `unmatched` says why rules or selectors of policy or binding leave the request alone; it is empty if they do not.
    `problem` is an error of configuration. `missing` describes the parameters that were looked for and not found.
    `remarks` and `refusal` are what clients would get.
    """

    policy: str
    binding: str
    unmatched: str
    problem: str
    missing: str
    params: tuple[ParamTrace, ...]
    remarks: Remarks
    refusal: ApiError | None


def trace_policy(
    policy: ValidatingAdmissionPolicy,
    binding: ValidatingAdmissionPolicyBinding,
    attributes: Attributes,
    world: ExtensionWorld,
) -> PolicyTrace:
    """Ask a policy about a request through one of its bindings, and show how it decides."""
    remarks = Remarks()
    refusal = without_calls(ask_policy(policy, [binding], attributes, world, remarks))
    application = Application(policy, binding, attributes, world)
    params: tuple[ParamTrace, ...] = ()
    try:
        inputs = RequestInputs(attributes, world)
        inputs.meter.take_time()
        params = tuple(
            _Traced(policy, inputs, matched, document, param).all() for matched, document, param in application.each()
        )
    except (ApiError, ConfigurationError) as error:
        application.problem = error.message if isinstance(error, ApiError) else str(error)
    return PolicyTrace(
        policy.metadata.name,
        binding.metadata.name,
        application.unmatched,
        application.problem,
        application.missing,
        params,
        remarks,
        refusal,
    )


class Application:
    """A policy that is applied to a request through a binding: what it matches, and with which parameters.

    `unmatched`, `problem` and `missing` say why there is nothing to evaluate, as in a `PolicyTrace`.
    """

    def __init__(self, policy: Policy, binding: Binding, attributes: Attributes, world: ExtensionWorld) -> None:
        self._policy, self._binding, self._attributes, self._world = policy, binding, attributes, world
        self.unmatched = self.problem = self.missing = ""

    def each(self) -> Iterator[tuple[Matched, Versioned, Raw | None]]:
        """Yield what is evaluated: what is matched, the objects in that version, a parameter.

        Raises ApiError, ConfigurationError.
        """
        attributes, reference = self._attributes, self._binding.spec.paramRef
        matched = match_resources(self._policy.spec.matchConstraints, attributes, self._world)
        self.unmatched = self._reason()
        if matched is None or self.unmatched:
            return
        row = find_param_kind(self._policy.spec.paramKind, self._world)
        self.missing = sought_params(row, reference, attributes.namespace)
        params = collect_params(row, reference, attributes.namespace, self._world)
        if params:
            self.missing = ""
        document = versioned(attributes, matched.kind, self._world)
        yield from ((matched, document, param) for param in params)

    def _reason(self) -> str:
        """Return why policy or binding leave the request alone."""
        constraints, resources = self._policy.spec.matchConstraints, self._binding.spec.matchResources
        for each, field in ((constraints, "spec.matchConstraints"), (resources, "its binding's spec.matchResources")):
            if each is not None and (reason := why_unmatched(each, self._attributes, self._world, field)):
                return reason
        return ""


class _Traced:
    """The traces of a policy for one parameter, each part with the variables that it has when it is evaluated."""

    def __init__(
        self,
        policy: ValidatingAdmissionPolicy,
        inputs: RequestInputs,
        matched: Matched,
        document: Versioned,
        param: Raw | None,
    ) -> None:
        self._validator: PolicyValidator = compiled_validator(policy)
        self._policy, self._inputs, self._matched, self._document = policy, inputs, matched, document
        self._param = param

    def all(self) -> ParamTrace:
        validator = self._validator
        namespace = self._inputs.namespace()
        main = self._bindings(namespace=namespace)
        bare = self._bindings(namespace=namespace, authorizer=False)
        return ParamTrace(
            self._param,
            traced_expressions(
                "matchConditions",
                "expression",
                [(each.name, each.expression) for each in validator.conditions.conditions],
                self._bindings(is_condition=True),
            ),
            traced_expressions("variables", "expression", validator.compiler.variables.items(), main),
            traced_expressions(
                "validations", "expression", [("", each.expression) for each in validator.validations], main
            ),
            traced_expressions(
                "validations", "messageExpression", [("", each.message) for each in validator.validations], bare
            ),
            traced_expressions("auditAnnotations", "valueExpression", validator.annotations, bare),
        )

    def _bindings(
        self, *, namespace: Any = None, authorizer: bool = True, is_condition: bool = False
    ) -> Mapping[str, Any]:
        resource = self._inputs.attributes.resource if is_condition else self._matched.resource
        bindings = self._inputs.bindings(
            self._document, resource, params=self._param, namespace=namespace, authorizer=authorizer
        )
        return Activation(bindings, self._inputs.meter, self._validator.compiler.variables).bindings


def traced_expressions(
    part: str,
    field: str,
    expressions: Iterable[tuple[str, CompiledExpression | None]],
    bindings: Mapping[str, Any],
) -> tuple[TracedExpression, ...]:
    return tuple(
        traced_expression(f"spec.{part}[{index}].{field}", name, expression, bindings)
        for index, (name, expression) in enumerate(expressions)
        if expression is not None
    )


def traced_expression(
    field: str, name: str, expression: CompiledExpression, bindings: Mapping[str, Any]
) -> TracedExpression:
    source = expression.source
    if expression.program is None:
        return TracedExpression(field, name, source, problem=expression.error)
    trace = trace_expression(source, expression.environment, bindings)
    if isinstance(trace, list):
        return TracedExpression(field, name, source, problem=render_issues(source, trace))
    return TracedExpression(field, name, source, trace)
