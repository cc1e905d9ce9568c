"""Compile mutating policies, and evaluate one mutation: the patch it constructs is applied to the object.

Variables are evaluated again for each mutation, which sees what the ones before have changed; match conditions and
variables cannot construct objects. Kubernetes: compilation.go of plugin/policy/mutating, dispatchOne in dispatcher.go.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema
from moorage.admit.extension.attributes import ObjectKind
from moorage.admit.extension.kept import Kept
from moorage.admit.extension.matching.matcher import Matched, Versioned
from moorage.admit.extension.policies.compiled import CompiledExpression, PolicyCompiler
from moorage.admit.extension.policies.conditions import MatchConditions, compile_conditions
from moorage.admit.extension.policies.environment import ExtraTypes
from moorage.admit.extension.policies.evaluation import BUDGET, Activation, OutOfBudget
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.policies.mutating.completing import complete_merged, complete_patched
from moorage.admit.extension.policies.mutating.object_types import (
    JSON_PATCHES,
    MUTATION_FUNCTIONS,
    OBJECT,
    find_mutation_type,
)
from moorage.admit.extension.policies.mutating.patches import RefusedMutation, apply_configuration, apply_patches
from moorage.admit.raw import Raw
from moorage.model.patch.json_patch import same_json
from moorage.model.types.extension.admission_policies import MutatingAdmissionPolicy, Mutation

#: What mutations may construct, beyond what other expressions of policies have.
MUTATION_TYPES = ExtraTypes(MUTATION_FUNCTIONS, find_mutation_type)
_JSON_PATCH, _APPLY_CONFIGURATION = "JSONPatch", "ApplyConfiguration"


class CompiledMutation(NamedTuple):
    """A mutation with its expression, and the field of the policy that has it."""

    expression: CompiledExpression
    is_json_patch: bool
    field: str


class MutatedObject(NamedTuple):
    """What a mutation is to change: an object in the version that matched, for a policy with its parameter."""

    matched: Matched
    object: Raw
    old: Raw | None
    params: Raw | None


class PolicyMutator:
    """A compiled mutating policy."""

    def __init__(self, policy: MutatingAdmissionPolicy) -> None:
        spec = policy.spec
        self._compiler = compiler = PolicyCompiler(spec.variables, has_params=spec.paramKind is not None)
        conditions = compile_conditions(spec.matchConditions, compiler.environment())
        self.conditions = MatchConditions(conditions, spec.failurePolicy, compiler.variables)
        compiled = (compile_mutation(mutation, index, compiler) for index, mutation in enumerate(spec.mutations))
        self.mutations = tuple(mutation for mutation in compiled if mutation is not None)

    @property
    def variables(self) -> Mapping[str, CompiledExpression]:
        return self._compiler.variables

    def apply(self, mutation: CompiledMutation, inputs: RequestInputs, subject: MutatedObject) -> Raw:
        """Return the object as a mutation changes it; the very same if it does not.

        Raises RefusedMutation, TooLong, and ApiError for what is the API server's own error.
        """
        value = self._evaluate(mutation.expression, inputs, subject)
        before, resource, subresource = subject.object, subject.matched.resource, inputs.attributes.subresource
        if mutation.is_json_patch:
            patched = apply_patches(before, value)
            if same_json(before, patched):
                return before
            return complete_patched(before, patched, resource, subresource, inputs.world)
        kind = subject.matched.kind
        merged = apply_configuration(before, value, _schema(inputs, kind), kind)
        if same_json(before, merged):
            return before
        return complete_merged(before, merged, kind, resource, subresource, inputs.world)

    def _evaluate(self, expression: CompiledExpression, inputs: RequestInputs, subject: MutatedObject) -> Any:
        if expression.program is None:
            raise RefusedMutation(expression.error)
        matched = subject.matched
        shown = Versioned(matched.kind, subject.object, subject.old)
        bindings = inputs.bindings(shown, matched.resource, params=subject.params, namespace=inputs.namespace())
        try:
            outcome, _ = Activation(bindings, inputs.meter, self._compiler.variables).evaluate(expression, BUDGET)
        except OutOfBudget as error:
            raise RefusedMutation(str(error)) from None
        if outcome.error is not None:
            raise RefusedMutation(outcome.error)
        return outcome.value


def compile_mutation(mutation: Mutation, index: int, compiler: PolicyCompiler) -> CompiledMutation | None:
    """Compile a mutation; None if it has no expression of its type, as no valid policy has."""
    field = f"spec.mutations[{index}]"
    if mutation.patchType == _JSON_PATCH and mutation.jsonPatch is not None:
        source = mutation.jsonPatch.expression
        compiled = compiler.compile(source, (JSON_PATCHES,), extras=MUTATION_TYPES)
        return CompiledMutation(compiled, True, f"{field}.jsonPatch.expression")
    if mutation.patchType == _APPLY_CONFIGURATION and mutation.applyConfiguration is not None:
        source = mutation.applyConfiguration.expression
        compiled = compiler.compile(source, (OBJECT,), extras=MUTATION_TYPES)
        return CompiledMutation(compiled, False, f"{field}.applyConfiguration.expression")
    return None


def _schema(inputs: RequestInputs, kind: ObjectKind) -> FieldOwnershipSchema | None:
    schema = inputs.world.apply_schema(kind)
    return schema if isinstance(schema, FieldOwnershipSchema) else None


_MUTATORS: Kept[MutatingAdmissionPolicy, PolicyMutator] = Kept(PolicyMutator)


def compiled_mutator(policy: MutatingAdmissionPolicy) -> PolicyMutator:
    """Return a policy compiled, once for as long as its view is in use."""
    return _MUTATORS.of(policy)
