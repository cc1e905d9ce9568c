"""Let the mutating policies change the object of a request, one after the other.

Which policies, bindings and parameters apply is decided by the object as it came; each then sees what those before have
changed. All errors are collected, and the request is refused once all policies were asked; an object that does not
decode any more ends it at once. Kubernetes: plugin/policy/generic/policy_dispatcher.go, plugin/policy/mutating.
Differs: policies and bindings are asked in the order of their names, upstream in a random one. Policies for several
versions of an object see each other's changes, of which upstream keeps those of the last version alone.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from moorage.admit.extension.attributes import DELETE, Attributes, ObjectKind
from moorage.admit.extension.matching.matcher import Matched, Versioned, match_resources
from moorage.admit.extension.matching.rules import is_exempt_from_policies
from moorage.admit.extension.matching.versions import ObjectVersions, converted
from moorage.admit.extension.policies.asked_policies import MUTATING
from moorage.admit.extension.policies.conditions import IGNORE, ConditionsAnswer
from moorage.admit.extension.policies.evaluation import TooLong
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.policies.mutating.mutations import (
    CompiledMutation,
    MutatedObject,
    PolicyMutator,
    compiled_mutator,
)
from moorage.admit.extension.policies.mutating.patches import RefusedMutation
from moorage.admit.extension.policies.params import ConfigurationError, collect_params, find_param_kind
from moorage.admit.extension.policies.validating import requested_name
from moorage.admit.extension.reinvocation import Reinvocation
from moorage.admit.extension.remarks import Change, Failure, MutationCheck, Remarks
from moorage.admit.extension.steps import Steps
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw, copy_document
from moorage.model.api_error import ApiError, failure, internal
from moorage.model.patch.json_difference import json_difference
from moorage.model.patch.json_patch import same_json
from moorage.model.types.extension.admission_policies import (
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
)

SOURCE = "MutatingAdmissionPolicy"
_IF_NEEDED = "IfNeeded"
_INVALID, _FORBIDDEN = "Invalid", "Forbidden"


def mutate_by_policies(
    attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation
) -> Steps[None]:
    """Replace `attributes.object` by what the policies make of it. Raises ApiError to refuse the request."""
    if world.is_empty or attributes.operation == DELETE or is_exempt_from_policies(attributes):
        return
    policies = MUTATING.of(attributes, world)
    if policies:
        yield from _PolicyRound(attributes, world, remarks, reinvocation).run(policies)


class _Invocation(NamedTuple):
    """A policy that is asked, through one of its bindings and with one parameter."""

    policy: MutatingAdmissionPolicy
    binding: MutatingAdmissionPolicyBinding
    matched: Matched
    param: Raw | None

    @property
    def key(self) -> tuple[str, ...]:
        metadata = {} if self.param is None else self.param.get("metadata") or {}
        own = self.policy.metadata.name, self.binding.metadata.name
        return (*own, metadata.get("namespace", ""), metadata.get("name", ""))


class _PolicyRound:
    """The policies' part in one round of a request."""

    def __init__(
        self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks, reinvocation: Reinvocation
    ) -> None:
        self._attributes, self._world, self._remarks, self._reinvocation = attributes, world, remarks, reinvocation
        self._inputs = RequestInputs(attributes, world)
        self._converted = ObjectVersions(attributes, world, remarks)
        #: The objects as they came, in the versions that the policies match.
        self._versions: dict[ObjectKind, Versioned] = {}
        #: The object as it is, in the version that the last policy saw.
        self._kind, self._object = attributes.kind, attributes.object
        self._is_changed = False
        self._refusals: list[tuple[str, str]] = []  # message and reason

    def run(self, policies: Sequence[MutatingAdmissionPolicy]) -> Steps[None]:
        invocations: list[_Invocation] = []
        for policy in policies:
            bindings = self._world.mutating_bindings(policy.metadata.name)
            if bindings:
                yield from self._invocations(policy, bindings, invocations)
        if invocations:
            self._inputs.namespace()
            rounds = self._reinvocation.policies
            rounds.begin(self._attributes.object, self._reinvocation)
            try:
                for invocation in invocations:
                    yield from self._invoke(invocation)
                yield from self._take_over()
            finally:
                rounds.end(self._attributes.object)
        if self._refusals:
            raise self._refusal()

    # -- what applies

    def _invocations(
        self,
        policy: MutatingAdmissionPolicy,
        bindings: Sequence[MutatingAdmissionPolicyBinding],
        invocations: list[_Invocation],
    ) -> Steps[None]:
        try:
            matched = match_resources(policy.spec.matchConstraints, self._attributes, self._world)
            if matched is None:
                return
            param_kind = find_param_kind(policy.spec.paramKind, self._world)
        except (ApiError, ConfigurationError) as error:
            self._misconfigured(policy, None, error)
            return
        for binding in bindings:
            try:
                if not self._is_bound(binding):
                    continue
                if matched.kind not in self._versions and not (yield from self._is_convertible(policy, matched.kind)):
                    continue
                namespace = self._attributes.namespace
                params = collect_params(param_kind, binding.spec.paramRef, namespace, self._world)
            except (ApiError, ConfigurationError) as error:
                self._misconfigured(policy, binding, error)
                continue
            invocations += [_Invocation(policy, binding, matched, param) for param in params]

    def _is_convertible(self, policy: MutatingAdmissionPolicy, kind: ObjectKind) -> Steps[bool]:
        versions = self._converted
        try:
            self._versions[kind] = versions.at_once(kind) or (yield from versions.by_webhook(kind))
        except ApiError as error:
            self._misconfigured(policy, None, error)
            return False
        return True

    def _is_bound(self, binding: MutatingAdmissionPolicyBinding) -> bool:
        resources = binding.spec.matchResources
        return resources is None or match_resources(resources, self._attributes, self._world) is not None

    # -- what it does

    def _invoke(self, invocation: _Invocation) -> Steps[None]:
        mutator, round_ = compiled_mutator(invocation.policy), self._reinvocation
        kind = invocation.matched.kind
        if kind != self._kind:
            yield from self._convert(kind)
        # The object as it is now, and the old one, in the version that the policy matched.
        subject = Versioned(kind, self._object, self._versions[kind].old)
        answer = yield from self._conditions(mutator, subject, invocation)
        if answer.error:
            place = answer.at_fault
            expression = mutator.conditions.conditions[place].expression.source
            self._refuse(invocation, answer.error, f"spec.matchConditions[{place}].expression", expression)
            return
        rounds = round_.policies
        if not answer.matches or not rounds.may_call(invocation.key, round_):
            return
        before = subject.object
        if before is not None:
            for mutation in mutator.mutations:
                yield from self._mutate(mutator, mutation, invocation)
        if before is not None and self._object is not None and not same_json(before, self._object):
            self._note(invocation, before, self._object)
            self._is_changed = True
            rounds.changed(round_)
        if invocation.policy.spec.reinvocationPolicy == _IF_NEEDED:
            rounds.wants_repetition(invocation.key)

    def _convert(self, kind: ObjectKind) -> Steps[None]:
        """Bring the object, as it is now, into another version."""
        if not self._is_changed:
            self._object = self._versions[kind].object
        elif self._object is not None:
            try:
                (self._object,) = yield from converted((self._object,), kind, self._world, self._remarks)
            except ApiError as error:
                raise internal(f"failed to convert object: {error.message}") from None
        self._kind = kind

    def _conditions(
        self, mutator: PolicyMutator, subject: Versioned, invocation: _Invocation
    ) -> Steps[ConditionsAnswer]:
        try:
            return mutator.conditions.answer(self._inputs, subject, invocation.param)
        except TooLong:
            self._inputs.meter.take_time()
            yield ()
            return mutator.conditions.answer(self._inputs, subject, invocation.param)

    def _mutate(self, mutator: PolicyMutator, mutation: CompiledMutation, invocation: _Invocation) -> Steps[None]:
        started = perf_counter()
        error = ""
        try:
            try:
                self._apply(mutator, mutation, invocation)
            except TooLong:
                self._inputs.meter.take_time()
                yield ()
                self._apply(mutator, mutation, invocation)
        except RefusedMutation as refusal:
            error = str(refusal)
            self._refuse(invocation, error, mutation.field, mutation.expression.source)
        except ApiError as refusal:
            error = refusal.message
            self._fail(invocation.policy, invocation.binding, error, mutation.field, mutation.expression.source)
            raise
        finally:
            names = invocation.policy.metadata.name, invocation.binding.metadata.name
            self._remarks.mutations.append(MutationCheck(*names, _error_type(error), perf_counter() - started))

    def _apply(self, mutator: PolicyMutator, mutation: CompiledMutation, invocation: _Invocation) -> None:
        if self._object is not None:
            old = self._versions[self._kind].old
            subject = MutatedObject(invocation.matched, self._object, old, invocation.param)
            self._object = mutator.apply(mutation, self._inputs, subject)

    def _take_over(self) -> Steps[None]:
        """Make the object that of the request; then those who were asked before are asked again."""
        if not self._is_changed:
            return
        if self._kind != self._attributes.kind:
            yield from self._convert(self._attributes.kind)
        self._attributes.object = self._object
        self._reinvocation.policies.changed(self._reinvocation)

    # -- metrics and remarks

    def _note(self, invocation: _Invocation, before: Raw, after: Raw) -> None:
        patch = copy_document({"patch": json_difference(before, after)})["patch"]
        name, binding = invocation.policy.metadata.name, invocation.binding.metadata.name
        self._remarks.changes.append(Change(f"{SOURCE} {name}", binding, tuple(patch)))

    def _refuse(self, invocation: _Invocation, message: str, field: str, expression: str) -> None:
        """Refuse the request for an error, unless the policy ignores errors."""
        policy, binding = invocation.policy, invocation.binding
        if policy.spec.failurePolicy == IGNORE:
            return
        self._fail(policy, binding, message, field, expression)
        self._refusals.append((_denial(policy, binding, message), _INVALID))

    def _misconfigured(
        self,
        policy: MutatingAdmissionPolicy,
        binding: MutatingAdmissionPolicyBinding | None,
        error: ApiError | ConfigurationError,
    ) -> None:
        """Refuse the request for a policy or a binding that cannot be applied, unless errors are ignored."""
        if policy.spec.failurePolicy == IGNORE:
            return
        text = error.message if isinstance(error, ApiError) else str(error)
        message = f"failed to configure {'policy' if binding is None else 'binding'}: {text}"
        self._fail(policy, binding, message)
        self._refusals.append((_denial(policy, binding, message), ""))

    def _fail(
        self,
        policy: MutatingAdmissionPolicy,
        binding: MutatingAdmissionPolicyBinding | None,
        message: str,
        field: str = "",
        expression: str = "",
    ) -> None:
        names = f"{SOURCE} {policy.metadata.name}", "" if binding is None else binding.metadata.name
        self._remarks.failures.append(Failure(*names, field, expression, message, ("Deny",)))

    def _refusal(self) -> ApiError:
        """Return the refusal: the message and the reason are those of the first error."""
        message, reason = self._refusals[0]
        group, _, resource = self._attributes.resource
        causes = [{"message": text} for text, _ in self._refusals]
        details = {"name": requested_name(self._attributes), "group": group, "kind": resource, "causes": causes}
        return failure(403, reason or _FORBIDDEN, message, details)


def _denial(policy: MutatingAdmissionPolicy, binding: MutatingAdmissionPolicyBinding | None, message: str) -> str:
    name = policy.metadata.name
    if binding is None:
        return f'policy "{name}" denied request: {message}'
    return f"policy '{name}' with binding '{binding.metadata.name}' denied request: {message}"


def _error_type(error: str) -> str:
    """Return the kind of an error as metrics know it."""
    if error.startswith("compilation"):
        return "compile_error"
    if error.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error" if error else "no_error"
