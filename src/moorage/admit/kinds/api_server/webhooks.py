"""Validate admission webhooks, and the rules of which requests they are for, which admission policies have, too.

Kubernetes: ValidateMutatingWebhookConfiguration, ValidateValidatingWebhookConfiguration and their updates.
"""

from collections.abc import Sequence

import msgspec

from moorage.admit.kinds.api_server.policy_expressions import validate_conditions
from moorage.admit.kinds.row import Default, KindRow, Rows
from moorage.admit.messages.warnings import static_name_warnings
from moorage.admit.metadata import (
    has_invalid_label_value,
    path_segment_errors,
    subdomain_errors,
    validate_label_selector,
    validate_object_meta,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.custom.webhook_client import validate_webhook_client
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.names import dns1035_label_errors
from moorage.model.types.extension import admission_policies as views

FAILURE_POLICIES, MATCH_POLICIES = ("Fail", "Ignore"), ("Equivalent", "Exact")
REINVOCATIONS = ("IfNeeded", "Never")
_SIDE_EFFECTS, _NO_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown"), ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REVIEW_VERSIONS = ("v1", "v1beta1")

Configuration = views.MutatingWebhookConfiguration | views.ValidatingWebhookConfiguration
Webhook = views.MutatingWebhook | views.ValidatingWebhook


class _Excuses(msgspec.Struct, frozen=True):
    """Mistakes of the old configuration that an update need not repair."""

    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    conditions: bool = False
    selectors: ValidationOptions = STRICT


def validate_webhooks(configuration: Configuration, options: ValidationOptions) -> FieldErrors:
    return _validate(configuration, _Excuses())


def validate_webhooks_update(new: Configuration, old: Configuration, options: ValidationOptions) -> FieldErrors:
    hooks = old.webhooks
    names = [hook.name for hook in hooks]
    had_invalid_value = any(
        has_invalid_label_value(selector)
        for hook in hooks
        for selector in (hook.namespaceSelector, hook.objectSelector)
    )
    return _validate(
        new,
        _Excuses(
            side_effects=any(hook.sideEffects not in _NO_SIDE_EFFECTS for hook in hooks),
            review_versions=any(
                hook.admissionReviewVersions and not set(_REVIEW_VERSIONS).intersection(hook.admissionReviewVersions)
                for hook in hooks
            ),
            names=len(set(names)) < len(names),
            conditions=[hook.matchConditions for hook in new.webhooks] == [hook.matchConditions for hook in hooks],
            selectors=msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=had_invalid_value),
        ),
    )


def _validate(configuration: Configuration, excuses: _Excuses) -> FieldErrors:
    yield from validate_object_meta(configuration.metadata, "metadata", namespaced=False, any_finalizer=True)
    seen = set[str]()
    hooks: Sequence[Webhook] = configuration.webhooks
    for index, hook in enumerate(hooks):
        path = f"webhooks[{index}]"
        yield from _validate_webhook(hook, path, excuses)
        versions = hook.admissionReviewVersions
        yield from _validate_review_versions(versions, f"{path}.admissionReviewVersions", excuses.review_versions)
        if hook.name and hook.name in seen and not excuses.names:
            yield field.duplicate(f"{path}.name", hook.name)
        seen.add(hook.name)


def _validate_webhook(hook: Webhook, path: str, excuses: _Excuses) -> FieldErrors:
    yield from _validate_qualified_name(hook.name, f"{path}.name")
    for index, rule in enumerate(hook.rules):
        yield from validate_rule(rule, f"{path}.rules[{index}]")
    yield from field.one_of(hook.failurePolicy, FAILURE_POLICIES, f"{path}.failurePolicy")
    yield from field.one_of(hook.matchPolicy, MATCH_POLICIES, f"{path}.matchPolicy")
    allowed = _SIDE_EFFECTS if excuses.side_effects else _NO_SIDE_EFFECTS
    if hook.sideEffects is None:
        yield field.required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}")
    yield from field.one_of(hook.sideEffects, allowed, f"{path}.sideEffects")
    if hook.timeoutSeconds is not None and not 1 <= hook.timeoutSeconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield field.invalid(f"{path}.timeoutSeconds", hook.timeoutSeconds, detail)
    for name, selector in (("namespaceSelector", hook.namespaceSelector), ("objectSelector", hook.objectSelector)):
        if selector is not None:
            yield from validate_label_selector(selector, f"{path}.{name}", excuses.selectors)
    if isinstance(hook, views.MutatingWebhook):
        yield from field.one_of(hook.reinvocationPolicy, REINVOCATIONS, f"{path}.reinvocationPolicy")
    yield from validate_webhook_client(hook.clientConfig, f"{path}.clientConfig")
    if not excuses.conditions:
        yield from validate_conditions(hook.matchConditions, f"{path}.matchConditions", has_params=False)


def _validate_qualified_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [field.required(path)]
    if messages := subdomain_errors(name):
        return [field.invalid(path, name, ",".join(messages))]
    if name.count(".") < 2:
        return [field.invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _validate_review_versions(versions: tuple[str, ...], path: str, is_excused: bool) -> FieldErrors:
    known = ", ".join(_REVIEW_VERSIONS)
    if not versions:
        yield field.required(path, f"must specify one of {known}")
        return
    seen = set[str]()
    for index, version in enumerate(versions):
        if version in seen:
            yield field.invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        yield from (field.invalid(f"{path}[{index}]", version, text) for text in dns1035_label_errors(version))
    if not is_excused and not seen.intersection(_REVIEW_VERSIONS):
        yield field.invalid(path, AsJSON(versions), f"must include at least one of {known}")


def validate_rule(rule: views.RuleWithOperations, path: str) -> FieldErrors:
    """Check which requests a webhook or a policy is for."""
    operations = rule.operations
    if not operations:
        yield field.required(f"{path}.operations")
    yield from _validate_alone(operations, f"{path}.operations", "operations")
    for index, operation in enumerate(operations):
        yield from field.one_of(operation, _OPERATIONS, f"{path}.operations[{index}]")
    for name, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = getattr(rule, name)
        if not values:
            yield field.required(f"{path}.{name}")
        yield from _validate_alone(values, f"{path}.{name}", what)
    for index, version in enumerate(rule.apiVersions):
        if not version:
            yield field.required(f"{path}.apiVersions[{index}]")
    yield from _validate_resources(rule.resources, f"{path}.resources")
    yield from field.one_of(rule.scope, _SCOPES, f"{path}.scope")


def _validate_alone(values: tuple[str, ...], path: str, what: str) -> list[FieldError]:
    if len(values) < 2 or "*" not in values:
        return []
    return [field.invalid(path, AsJSON(values), f"if '*' is present, must not specify other {what}")]


def _validate_resources(resources: tuple[str, ...], path: str) -> FieldErrors:
    if not resources:
        yield field.required(path)
    all_below, everywhere = set[str](), set[str]()
    has_plain = False
    for index, text in enumerate(resources):
        at = f"{path}[{index}]"
        if not text:
            yield field.required(at)
            continue
        resource, slash, below = text.partition("/")
        if not slash:
            has_plain = text != "*"
            continue
        if resource in all_below:
            yield field.invalid(at, text, f"if '{resource}/*' is present, must not specify {text}")
        if below in everywhere:
            yield field.invalid(at, text, f"if '*/{below}' is present, must not specify {text}")
        if below == "*":
            all_below.add(resource)
        if resource == "*":
            everywhere.add(below)
    if len(resources) > 1 and "*/*" in resources:
        yield field.invalid(path, AsJSON(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and has_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield field.invalid(path, AsJSON(resources), detail)


def validate_resource_names(names: tuple[str, ...], path: str) -> FieldErrors:
    seen = set[str]()
    for index, name in enumerate(names):
        yield from (field.invalid(f"{path}[{index}]", name, message) for message in path_segment_errors(name))
        if name in seen:
            yield field.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _row(default: Default) -> KindRow:
    return KindRow(
        validate_webhooks,
        validate_webhooks_update,
        default,
        strategies.prepare_counted,
        has_generation=True,
        counted="webhooks",
        warnings=lambda configuration: static_name_warnings(configuration.metadata),
    )


ROWS: Rows = {
    views.MutatingWebhookConfiguration: _row(defaults.default_mutating_webhooks),
    views.ValidatingWebhookConfiguration: _row(defaults.default_validating_webhooks),
}
