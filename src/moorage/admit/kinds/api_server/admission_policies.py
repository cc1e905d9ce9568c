"""Validate admission policies and their bindings.

In: views. Out: field errors. Kubernetes: ValidateValidatingAdmissionPolicy, ValidateMutatingAdmissionPolicy, their
bindings and updates.
"""

from collections.abc import Sequence

from moorage.admit.kinds.api_server.policy_expressions import PolicyExpressions, validate_conditions
from moorage.admit.kinds.api_server.webhooks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATIONS,
    validate_resource_names,
    validate_rule,
)
from moorage.admit.kinds.devices.shared import validate_conditions as validate_status_conditions
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.warnings import static_name_warnings
from moorage.admit.metadata import (
    path_segment_errors,
    subdomain_errors,
    validate_dns_subdomain,
    validate_label_name,
    validate_label_selector,
    validate_object_meta,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import byte_length, dns1035_label_errors
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.extension import admission_policies as views

_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCHES = ("ApplyConfiguration", "JSONPatch")
_MUTATED = ("*", "CONNECT", "CREATE", "UPDATE")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_MAX_ANNOTATIONS, _MAX_VALUE_LENGTH = 20, 5 * 1024
_ONE_ITEM = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"
_is_identifier = whole(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)

PolicySpec = views.ValidatingAdmissionPolicySpec | views.MutatingAdmissionPolicySpec


@reads_text("a", "_", "1")
def is_identifier(name: str) -> bool:
    return _is_identifier(name) and name not in _RESERVED


def validate_validating_policy(policy: views.ValidatingAdmissionPolicy, options: ValidationOptions) -> FieldErrors:
    return _validate_validating(policy, None)


def validate_validating_policy_update(
    new: views.ValidatingAdmissionPolicy, old: views.ValidatingAdmissionPolicy, options: ValidationOptions
) -> FieldErrors:
    return _validate_validating(new, old.spec)


def _validate_validating(policy: views.ValidatingAdmissionPolicy, old: PolicySpec | None) -> FieldErrors:
    yield from validate_object_meta(policy.metadata, "metadata", namespaced=False, any_finalizer=True)
    spec = policy.spec
    expressions = PolicyExpressions(spec)
    yield from _validate_shared(spec, old, expressions)
    if not spec.validations and not spec.auditAnnotations:
        yield field.required("spec.validations", _ONE_ITEM)
        yield field.required("spec.auditAnnotations", _ONE_ITEM)
        return
    for index, validation in enumerate(spec.validations):
        yield from _validate_validation(validation, f"spec.validations[{index}]", expressions)
    yield from _validate_annotations(policy.metadata.name, spec.auditAnnotations, expressions)


def _validate_annotations(
    policy: str, annotations: Sequence[views.AuditAnnotation], expressions: PolicyExpressions
) -> FieldErrors:
    if len(annotations) > _MAX_ANNOTATIONS:
        shown = [{"Key": each.key, "ValueExpression": each.valueExpression} for each in annotations]
        detail = f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations"
        yield field.invalid("spec.auditAnnotations", AsJSON(shown), detail)
    seen = set[str]()
    for index, annotation in enumerate(annotations):
        at = f"spec.auditAnnotations[{index}]"
        yield from validate_label_name(f"{policy}/{annotation.key}", f"{at}.key")
        yield from _validate_value(annotation.valueExpression, f"{at}.valueExpression", expressions)
        if annotation.key in seen:
            yield field.duplicate(f"{at}.key", annotation.key)
        seen.add(annotation.key)


def _validate_value(expression: str, path: str, expressions: PolicyExpressions) -> list[FieldError]:
    text = expression.strip()
    if not text:
        return [field.required(path, "valueExpression is not specified")]
    if byte_length(text) > _MAX_VALUE_LENGTH:
        return [field.required(path, f"must not exceed {_MAX_VALUE_LENGTH} bytes in length")]
    return expressions.audit_value(expression, path)


def _validate_shared(spec: PolicySpec, old: PolicySpec | None, expressions: PolicyExpressions) -> FieldErrors:
    """Check what both kinds of policies have: what they fail with, what they match, parameters and variables."""
    yield from _required_or_one_of(spec.failurePolicy, FAILURE_POLICIES, "spec.failurePolicy")
    if spec.paramKind is not None:
        yield from _validate_param_kind(spec.paramKind, "spec.paramKind")
    if spec.matchConstraints is None:
        yield field.required("spec.matchConstraints")
    else:
        yield from _validate_resources(spec.matchConstraints, "spec.matchConstraints")
        if not spec.matchConstraints.resourceRules:
            yield field.required("spec.matchConstraints.resourceRules")
        if isinstance(spec, views.MutatingAdmissionPolicySpec):
            yield from _validate_mutated(spec.matchConstraints, "spec.matchConstraints")
    if old is None or (old.matchConditions, old.paramKind) != (spec.matchConditions, spec.paramKind):
        has_params = spec.paramKind is not None
        yield from validate_conditions(spec.matchConditions, "spec.matchConditions", has_params=has_params)
    for index, variable in enumerate(spec.variables):
        yield from _validate_variable(variable, f"spec.variables[{index}]", expressions)


def _validate_variable(variable: views.Variable, path: str, expressions: PolicyExpressions) -> FieldErrors:
    if not variable.name.strip():
        yield field.required(f"{path}.name", "name is not specified")
    elif not is_identifier(variable.name):
        yield field.invalid(f"{path}.name", variable.name, "must be a valid CEL identifier")
    if variable.expression.strip():
        yield from expressions.variable(variable, f"{path}.expression")
    else:
        yield field.required(f"{path}.expression", "expression is not specified")


def _required_or_one_of(value: str | None, supported: Sequence[str], path: str) -> list[FieldError]:
    """Check a member of an enumeration that must not be absent; an empty one is unknown."""
    return [field.required(path)] if value is None else field.one_of(value, supported, path)


def _validate_param_kind(kind: views.ParamKind, path: str) -> FieldErrors:
    at = f"{path}.apiVersion"
    if not kind.apiVersion:
        yield field.required(at)
    elif kind.apiVersion.count("/") > 1:
        yield field.invalid(at, kind.apiVersion, f"unexpected GroupVersion string: {kind.apiVersion}")
    else:
        group, _, version = kind.apiVersion.rpartition("/")
        if group and (messages := subdomain_errors(group)):
            yield field.invalid(at, group, ",".join(messages))
        if not version:
            yield field.invalid(at, kind.apiVersion, "version must be specified")
        elif wrong := dns1035_label_errors(version):
            yield field.invalid(at, version, ",".join(wrong))
    if not kind.kind:
        yield field.required(f"{path}.kind")
    elif wrong := dns1035_label_errors(kind.kind.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        yield field.invalid(f"{path}.kind", kind.kind, detail)


def _validate_resources(resources: views.MatchResources, path: str) -> FieldErrors:
    yield from _required_or_one_of(resources.matchPolicy, MATCH_POLICIES, f"{path}.matchPolicy")
    for name in ("namespaceSelector", "objectSelector"):
        selector = getattr(resources, name)
        if selector is None:
            yield field.required(f"{path}.{name}")
        else:
            yield from validate_label_selector(selector, f"{path}.{name}", STRICT)
    for name in ("resourceRules", "excludeResourceRules"):
        rule: views.NamedRuleWithOperations
        for index, rule in enumerate(getattr(resources, name)):
            at = f"{path}.{name}[{index}]"
            yield from validate_resource_names(rule.resourceNames, f"{at}.resourceNames")
            yield from validate_rule(rule, at)


def _validate_mutated(resources: views.MatchResources, path: str) -> FieldErrors:
    for rule in resources.resourceRules:
        for operation in rule.operations:
            yield from field.one_of(operation, _MUTATED, f"{path}.resourceRules.operations")


def _validate_validation(validation: views.Validation, path: str, expressions: PolicyExpressions) -> FieldErrors:
    if validation.expression.strip():
        yield from expressions.validation(validation.expression, f"{path}.expression")
    else:
        yield field.required(f"{path}.expression", "expression is not specified")
    text, message = validation.messageExpression, validation.message
    if text and not text.strip():
        yield field.invalid(f"{path}.messageExpression", text, "must be non-empty if specified")
    elif text:
        yield from expressions.message(text, f"{path}.messageExpression")
    if message and not message.strip():
        yield field.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        yield field.invalid(f"{path}.message", message, "must not contain line breaks")
    yield from field.one_of(validation.reason, _REASONS, f"{path}.reason")


def validate_mutating_policy(policy: views.MutatingAdmissionPolicy, options: ValidationOptions) -> FieldErrors:
    return _validate_mutating(policy, None)


def validate_mutating_policy_update(
    new: views.MutatingAdmissionPolicy, old: views.MutatingAdmissionPolicy, options: ValidationOptions
) -> FieldErrors:
    return _validate_mutating(new, old.spec)


def _validate_mutating(policy: views.MutatingAdmissionPolicy, old: PolicySpec | None) -> FieldErrors:
    yield from validate_object_meta(policy.metadata, "metadata", namespaced=False, any_finalizer=True)
    spec = policy.spec
    expressions = PolicyExpressions(spec)
    yield from _validate_shared(spec, old, expressions)
    if not spec.mutations:
        yield field.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.mutations):
        yield from _validate_mutation(mutation, f"spec.mutations[{index}]", expressions)
    yield from field.required_one_of(spec.reinvocationPolicy, REINVOCATIONS, "spec.reinvocationPolicy")


def _validate_mutation(mutation: views.Mutation, path: str, expressions: PolicyExpressions) -> FieldErrors:
    kind = mutation.patchType
    if kind not in _PATCHES:
        yield from field.required_one_of(kind, _PATCHES, f"{path}.patchType")
        return
    own, other = ("jsonPatch", "applyConfiguration") if kind == "JSONPatch" else ("applyConfiguration", "jsonPatch")
    patch = getattr(mutation, own)
    if patch is None:
        yield field.required(f"{path}.{own}", f"must be specified when patchType is {kind}")
    elif not patch.expression.strip():
        yield field.required(f"{path}.{own}.expression")
    else:
        yield from expressions.mutation(patch.expression.strip(), kind, f"{path}.{own}.expression")
    if getattr(mutation, other) is not None:
        yield field.invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}")


Policy = views.ValidatingAdmissionPolicy | views.MutatingAdmissionPolicy
BindingSpec = views.ValidatingAdmissionPolicyBindingSpec | views.MutatingAdmissionPolicyBindingSpec
PolicyBinding = views.ValidatingAdmissionPolicyBinding | views.MutatingAdmissionPolicyBinding


def validate_binding(binding: PolicyBinding, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(binding.metadata, "metadata", namespaced=False, any_finalizer=True)
    spec: BindingSpec = binding.spec
    if spec.policyName:
        yield from validate_dns_subdomain(spec.policyName, "spec.policyName")
    else:
        yield field.required("spec.policyName")
    if spec.paramRef is not None:
        yield from _validate_param_ref(spec.paramRef, "spec.paramRef")
    if spec.matchResources is not None:
        yield from _validate_resources(spec.matchResources, "spec.matchResources")
    if isinstance(spec, views.ValidatingAdmissionPolicyBindingSpec):
        yield from _validate_actions(spec.validationActions, "spec.validationActions")
    elif spec.matchResources is not None:
        yield from _validate_mutated(spec.matchResources, "spec.matchResources")


def validate_binding_update(new: PolicyBinding, old: PolicyBinding, options: ValidationOptions) -> FieldErrors:
    return validate_binding(new, options)


def _validate_param_ref(reference: views.ParamRef, path: str) -> FieldErrors:
    name, selector = reference.name, reference.selector
    yield from (field.invalid(f"{path}.name", name, message) for message in path_segment_errors(name) if name)
    if name and selector is not None:
        yield field.forbidden(f"{path}.name", _EXCLUSIVE)
    if selector is not None:
        yield from validate_label_selector(selector, f"{path}.selector", STRICT)
        if name:
            yield field.forbidden(f"{path}.selector", _EXCLUSIVE)
    elif not name:
        yield field.required(path, "one of name or selector must be specified")
    action = reference.parameterNotFoundAction
    yield from field.required_one_of(action, _NOT_FOUND_ACTIONS, f"{path}.parameterNotFoundAction")


def _validate_actions(actions: tuple[str, ...], path: str) -> FieldErrors:
    seen = set[str]()
    for index, action in enumerate(actions):
        yield from field.one_of(action, _ACTIONS, f"{path}[{index}]")
        if action in seen:
            yield field.duplicate(f"{path}[{index}]", AsJSON(action))
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield field.invalid(path, AsJSON(actions), detail)
    if not seen:
        yield field.required(path, "at least one validation action is required")


def _validate_policy_status(
    new: views.ValidatingAdmissionPolicy, old: views.ValidatingAdmissionPolicy, gates: GateSet
) -> FieldErrors:
    checking = new.status.typeChecking
    for index, warning in enumerate(checking.expressionWarnings if checking is not None else ()):
        path = f"status.typeChecking.expressionWarnings[{index}]"
        if not warning.warning:
            yield field.required(f"{path}.warning")
        if not warning.fieldRef.strip():
            yield field.required(f"{path}.fieldRef")
    yield from validate_status_conditions(new.status.conditions, "status.conditions")


def _warnings(written: Policy | PolicyBinding) -> list[str]:
    return static_name_warnings(written.metadata)


ROWS: Rows = {
    views.ValidatingAdmissionPolicy: KindRow(
        validate_validating_policy,
        validate_validating_policy_update,
        defaults.default_admission_policy,
        strategies.prepare_counted,
        validate_status=_validate_policy_status,
        has_generation=True,
        warnings=_warnings,
    ),
    views.MutatingAdmissionPolicy: KindRow(
        validate_mutating_policy,
        validate_mutating_policy_update,
        defaults.default_admission_policy,
        strategies.prepare_counted,
        has_generation=True,
        warnings=_warnings,
    ),
    **{
        view: KindRow(
            validate_binding,
            validate_binding_update,
            defaults.default_policy_binding,
            strategies.prepare_counted,
            has_generation=True,
            warnings=_warnings,
        )
        for view in (views.ValidatingAdmissionPolicyBinding, views.MutatingAdmissionPolicyBinding)
    },
}
