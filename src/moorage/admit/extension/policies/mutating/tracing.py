"""Show what a policy does to an object: the value of each variable and of each part of its mutations, and the patches.

Each mutation sees what those before have changed, and has variables of its own. Long expressions are evaluated at once,
so this is for command lines and for processes that others do not wait for.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.admit.extension.attributes import Attributes
from moorage.admit.extension.matching.matcher import Matched, Versioned
from moorage.admit.extension.policies.evaluation import Activation
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.policies.mutating.mutations import (
    CompiledMutation,
    MutatedObject,
    PolicyMutator,
    compiled_mutator,
)
from moorage.admit.extension.policies.mutating.patches import RefusedMutation
from moorage.admit.extension.policies.params import ConfigurationError
from moorage.admit.extension.policies.tracing import (
    Application,
    TracedExpression,
    traced_expression,
    traced_expressions,
)
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.patch.json_difference import json_difference
from moorage.model.types.extension.admission_policies import MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding

_NO_OBJECT = "a deletion has no object to change"


class TracedMutation(msgspec.Struct, frozen=True):
    """A mutation: the variables as it sees them, its expression, the patch that it makes, or why it makes none."""

    variables: tuple[TracedExpression, ...]
    expression: TracedExpression
    patch: tuple[Raw, ...] = ()
    problem: str = ""


class MutationParamTrace(msgspec.Struct, frozen=True):
    """The expressions of a policy for one parameter, or for none. Without mutations, a condition does not hold."""

    param: Raw | None
    conditions: tuple[TracedExpression, ...]
    mutations: tuple[TracedMutation, ...]


class MutationTrace(msgspec.Struct, frozen=True):
    """What a policy makes of an object through one binding, as if no other policy had changed it.

    The fields are those of a `PolicyTrace`.
    """

    policy: str
    binding: str
    unmatched: str
    problem: str
    missing: str
    params: tuple[MutationParamTrace, ...]


def trace_mutations(
    policy: MutatingAdmissionPolicy,
    binding: MutatingAdmissionPolicyBinding,
    attributes: Attributes,
    world: ExtensionWorld,
) -> MutationTrace:
    """Let a policy change the object of a request through one of its bindings, and show how."""
    application = Application(policy, binding, attributes, world)
    params: tuple[MutationParamTrace, ...] = ()
    try:
        inputs = RequestInputs(attributes, world)
        inputs.meter.take_time()
        params = tuple(
            _Traced(policy, inputs, matched, document, param).all()
            for matched, document, param in application.each()
            if attributes.object is not None
        )
    except (ApiError, ConfigurationError) as error:
        application.problem = error.message if isinstance(error, ApiError) else str(error)
    unmatched = application.unmatched or ("" if attributes.object is not None else _NO_OBJECT)
    names = policy.metadata.name, binding.metadata.name
    return MutationTrace(*names, unmatched, application.problem, application.missing, params)


class _Traced:
    """The traces of a policy for one parameter."""

    def __init__(
        self,
        policy: MutatingAdmissionPolicy,
        inputs: RequestInputs,
        matched: Matched,
        document: Versioned,
        param: Raw | None,
    ) -> None:
        self._mutator: PolicyMutator = compiled_mutator(policy)
        self._inputs, self._matched, self._document, self._param = inputs, matched, document, param

    def all(self) -> MutationParamTrace:
        conditions = traced_expressions(
            "matchConditions",
            "expression",
            [(each.name, each.expression) for each in self._mutator.conditions.conditions],
            self._bindings(self._document, is_condition=True),
        )
        answer = self._mutator.conditions.answer(self._inputs, self._document, self._param)
        return MutationParamTrace(self._param, conditions, tuple(self._mutations()) if answer.matches else ())

    def _mutations(self) -> Iterator[TracedMutation]:
        document: Raw = self._document.object or {}
        for mutation in self._mutator.mutations:
            traced, document = self._mutation(mutation, document)
            yield traced

    def _mutation(self, mutation: CompiledMutation, document: Raw) -> tuple[TracedMutation, Raw]:
        bindings = self._bindings(self._document._replace(object=document))
        variables = traced_expressions("variables", "expression", self._mutator.variables.items(), bindings)
        expression = traced_expression(mutation.field, "", mutation.expression, bindings)
        subject = MutatedObject(self._matched, document, self._document.old, self._param)
        try:
            changed = self._mutator.apply(mutation, self._inputs, subject)
        except RefusedMutation as error:
            return TracedMutation(variables, expression, problem=str(error)), document
        except ApiError as error:
            return TracedMutation(variables, expression, problem=error.message), document
        return TracedMutation(variables, expression, tuple(json_difference(document, changed))), changed

    def _bindings(self, shown: Versioned, *, is_condition: bool = False) -> Any:
        resource = self._inputs.attributes.resource if is_condition else self._matched.resource
        namespace = None if is_condition else self._inputs.namespace()
        bindings = self._inputs.bindings(shown, resource, params=self._param, namespace=namespace)
        return Activation(bindings, self._inputs.meter, self._mutator.variables).bindings
