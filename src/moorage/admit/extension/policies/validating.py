"""Ask the validating policies about a request: deny it, warn, or note it for the audit, as their bindings say.

Kubernetes: plugin/policy/validating/dispatcher.go.
Differs: policies and bindings are asked in the order of their names, upstream in a random one.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from moorage.admit.extension.attributes import Attributes, ObjectKind
from moorage.admit.extension.kept import Kept
from moorage.admit.extension.matching.matcher import Matched, Versioned, match_resources
from moorage.admit.extension.matching.rules import is_exempt_from_policies
from moorage.admit.extension.matching.selectors import has_metadata
from moorage.admit.extension.matching.versions import ObjectVersions
from moorage.admit.extension.policies.asked_policies import VALIDATING
from moorage.admit.extension.policies.conditions import IGNORE
from moorage.admit.extension.policies.decisions import PolicyDecision, PolicyDecisions, PolicyValidator
from moorage.admit.extension.policies.evaluation import TooLong
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.policies.params import ConfigurationError, collect_params, find_param_kind
from moorage.admit.extension.remarks import Failure, PolicyCheck, Remarks
from moorage.admit.extension.steps import Steps
from moorage.admit.extension.world import ExtensionWorld, ParamKindRow
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, failure
from moorage.model.go.quoting import GoStruct, go_json, go_quote
from moorage.model.types.extension.admission_policies import (
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)

SOURCE = "ValidatingAdmissionPolicy"
_DENY, _WARN, _AUDIT = "Deny", "Warn", "Audit"
_FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_MAX_ANNOTATION_BYTES = 10 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}

_VALIDATORS: Kept[ValidatingAdmissionPolicy, PolicyValidator] = Kept(PolicyValidator)


def compiled_validator(policy: ValidatingAdmissionPolicy) -> PolicyValidator:
    """Return a policy compiled, once for as long as its view is in use."""
    return _VALIDATORS.of(policy)


def validate_by_policies(attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> Steps[None]:
    """Ask all policies; raise ApiError for the first denial once all have been asked."""
    if world.is_empty or is_exempt_from_policies(attributes):
        return
    policies = VALIDATING.of(attributes, world)
    if not policies:
        return
    asked = _Asked(attributes, world, remarks)
    for policy in policies:
        bindings = world.validating_bindings(policy.metadata.name)
        if bindings:
            yield from asked.ask(policy, bindings)
    if asked.denial is not None:
        raise asked.denial


def ask_policy(
    policy: ValidatingAdmissionPolicy,
    bindings: Sequence[ValidatingAdmissionPolicyBinding],
    attributes: Attributes,
    world: ExtensionWorld,
    remarks: Remarks,
) -> Steps[ApiError | None]:
    """Ask one policy through some of its bindings; return what it refuses the request with."""
    asked = _Asked(attributes, world, remarks)
    yield from asked.ask(policy, bindings)
    return asked.denial


class _Application(NamedTuple):
    """A policy that matches a request, on its way through its bindings."""

    policy: ValidatingAdmissionPolicy
    matched: Matched
    param_kind: ParamKindRow | None
    annotations: dict[str, list[str]]


class _Asked:
    """What the policies make of one request."""

    def __init__(self, attributes: Attributes, world: ExtensionWorld, remarks: Remarks) -> None:
        self._attributes, self._world, self._remarks = attributes, world, remarks
        self._inputs = RequestInputs(attributes, world)
        self._versions = ObjectVersions(attributes, world, remarks)
        #: What the request is refused with: the first denial counts.
        self.denial: ApiError | None = None

    def ask(
        self, policy: ValidatingAdmissionPolicy, bindings: Sequence[ValidatingAdmissionPolicyBinding]
    ) -> Steps[None]:
        """Apply a policy through each of its bindings."""
        try:
            matched = match_resources(policy.spec.matchConstraints, self._attributes, self._world)
            if matched is None:
                return
            param_kind = find_param_kind(policy.spec.paramKind, self._world)
        except (ApiError, ConfigurationError) as error:
            self._misconfigured(policy, None, error)
            return
        application = _Application(policy, matched, param_kind, {})
        for binding in bindings:
            yield from self._apply(application, binding)
        for key, values in application.annotations.items():
            self._remarks.audit.setdefault(f"{policy.metadata.name}/{key}", ", ".join(values))

    def _apply(self, application: _Application, binding: ValidatingAdmissionPolicyBinding) -> Steps[None]:
        try:
            if not self._is_bound(binding):
                return
            namespace, reference = self._attributes.namespace, binding.spec.paramRef
            params = collect_params(application.param_kind, reference, namespace, self._world)
            if not params:
                return
            kind = application.matched.kind
            document = self._at_once(kind) or (yield from self._by_webhook(kind))
        except (ApiError, ConfigurationError) as error:
            self._misconfigured(application.policy, binding, error)
            return
        for param in params:
            started = perf_counter()
            decisions = yield from self._decide(application, document, param)
            self._enforce(application, binding, decisions, perf_counter() - started)

    def _is_bound(self, binding: ValidatingAdmissionPolicyBinding) -> bool:
        resources = binding.spec.matchResources
        return resources is None or match_resources(resources, self._attributes, self._world) is not None

    def _at_once(self, kind: ObjectKind) -> Versioned | None:
        """Return the objects in the version that matched; None if a webhook is to convert them."""
        try:
            return self._versions.at_once(kind)
        except ApiError as error:
            raise _unconverted(error) from None

    def _by_webhook(self, kind: ObjectKind) -> Steps[Versioned]:
        try:
            return (yield from self._versions.by_webhook(kind))
        except ApiError as error:
            raise _unconverted(error) from None

    def _decide(self, application: _Application, document: Versioned, param: Raw | None) -> Steps[PolicyDecisions]:
        validator = compiled_validator(application.policy)
        try:
            return validator.decide(self._inputs, application.matched, document, param)
        except TooLong:
            self._inputs.meter.take_time()
            yield ()
            return validator.decide(self._inputs, application.matched, document, param)

    def _enforce(
        self,
        application: _Application,
        binding: ValidatingAdmissionPolicyBinding,
        decisions: PolicyDecisions,
        seconds: float,
    ) -> None:
        policy = application.policy
        for decision in decisions.decisions:
            if decision.is_denied:
                self._act(policy, binding, decision, seconds)
            else:
                self._count(policy, binding, "allow", decision.message, seconds)
        for annotation in decisions.annotations:
            if annotation.error:
                error = PolicyDecision(0, annotation.error, "", True, True, annotation.field, annotation.expression)
                self._fail(policy, binding, error, (_DENY,))
                self._deny(policy, binding, error)
                self._count(policy, binding, "deny", error.message, seconds)
                continue
            values, value = application.annotations.setdefault(annotation.key, []), _shortened(annotation.value)
            if value not in values:
                values.append(value)

    def _act(
        self,
        policy: ValidatingAdmissionPolicy,
        binding: ValidatingAdmissionPolicyBinding,
        decision: PolicyDecision,
        seconds: float,
    ) -> None:
        """Do with a failure what the binding says."""
        self._fail(policy, binding, decision, binding.spec.validationActions)
        name = policy.metadata.name
        for action in binding.spec.validationActions:
            if action == _DENY:
                self._deny(policy, binding, decision)
            elif action == _AUDIT:
                self._remarks.audit.setdefault(_FAILURE_ANNOTATION, _failure_annotation(binding, decision))
            elif action == _WARN:
                about = f"{SOURCE} '{name}' with binding '{binding.metadata.name}'"
                self._remarks.warnings.append(f"Validation failed for {about}: {decision.message}")
            else:
                continue
            self._count(policy, binding, action.lower(), decision.message, seconds)

    def _misconfigured(
        self,
        policy: ValidatingAdmissionPolicy,
        binding: ValidatingAdmissionPolicyBinding | None,
        error: ApiError | ConfigurationError,
    ) -> None:
        """Note that a policy or a binding cannot be applied, which denies the request unless errors are ignored."""
        if policy.spec.failurePolicy == IGNORE:
            return
        what = "policy" if binding is None else "binding"
        text = error.message if isinstance(error, ApiError) else str(error)
        decision = PolicyDecision(0, f"failed to configure {what}: {text}", "", True)
        self._fail(policy, binding, decision, (_DENY,))
        self._deny(policy, binding, decision)

    def _fail(
        self,
        policy: ValidatingAdmissionPolicy,
        binding: ValidatingAdmissionPolicyBinding | None,
        decision: PolicyDecision,
        actions: tuple[str, ...],
    ) -> None:
        self._remarks.failures.append(
            Failure(
                f"{SOURCE} {policy.metadata.name}",
                "" if binding is None else binding.metadata.name,
                decision.field,
                decision.expression,
                decision.message,
                tuple(actions),
            )
        )

    def _deny(
        self,
        policy: ValidatingAdmissionPolicy,
        binding: ValidatingAdmissionPolicyBinding | None,
        decision: PolicyDecision,
    ) -> None:
        if self.denial is None:
            through = "" if binding is None else f" with binding '{binding.metadata.name}'"
            message = f"{SOURCE} '{policy.metadata.name}'{through} denied request: {decision.message}"
            self.denial = refusal(self._attributes, message, decision.reason or "Invalid")

    def _count(
        self,
        policy: ValidatingAdmissionPolicy,
        binding: ValidatingAdmissionPolicyBinding,
        action: str,
        message: str,
        seconds: float,
    ) -> None:
        check = PolicyCheck(policy.metadata.name, binding.metadata.name, action, _error_type(message), seconds)
        self._remarks.checks.append(check)


def refusal(attributes: Attributes, message: str, reason: str) -> ApiError:
    """Return the refusal of a request by a policy: as of something forbidden, whatever the reason."""
    group, _, resource = attributes.resource
    name = requested_name(attributes)
    shown = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource, "causes": [{"message": message}]}
    return failure(_CODES.get(reason, 422), reason, f"{shown} {go_quote(name)} is forbidden: {message}", details)


def _unconverted(error: ApiError) -> ConfigurationError:
    return ConfigurationError(f"failed to convert object version: {error.message}")


def requested_name(attributes: Attributes) -> str:
    """Return the name of the object as refusals give it."""
    if attributes.name:
        return attributes.name
    document = attributes.object
    if document is None:
        return "Unknown"
    if not has_metadata(document):
        return "Unknown/errorGettingName"
    metadata = document.get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "Unknown")


def _error_type(message: str) -> str:
    """Return the kind of an error as metrics know it; to them, a validation that fails is an invalid one."""
    if message.startswith("compilation"):
        return "compile_error"
    if message.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"


def _failure_annotation(binding: ValidatingAdmissionPolicyBinding, decision: PolicyDecision) -> str:
    value = GoStruct(
        message=decision.message,
        policy=binding.spec.policyName,
        binding=binding.metadata.name,
        expressionIndex=decision.number,
        validationActions=list(binding.spec.validationActions),
    )
    return go_json([value])


def _shortened(value: str) -> str:
    encoded = value.encode("utf-8", "surrogatepass")
    return (
        value if len(encoded) <= _MAX_ANNOTATION_BYTES else encoded[:_MAX_ANNOTATION_BYTES].decode("utf-8", "replace")
    )
