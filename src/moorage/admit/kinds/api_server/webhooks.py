"""Validate admission webhooks: rules, match conditions and CEL expressions, which admission policies have, too.

CEL is imported with the first expression. Kubernetes: ValidateMutatingWebhookConfiguration,
ValidateValidatingWebhookConfiguration and their updates; the compiler of apiserver's admission/plugin/cel. Differs: no
webhook is called, and a warning says so; `request` and `namespaceObject` are of unknown type, and expressions that make
patches are parsed only.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from moorage.admit.kinds.row import Default, KindRow, Rows
from moorage.admit.messages.warnings import NOT_CALLED
from moorage.admit.metadata import (
    has_invalid_label_value,
    path_segment_errors,
    subdomain_errors,
    validate_label_name,
    validate_label_selector,
    validate_object_meta,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.custom.webhook_client import validate_webhook_client
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, invalid
from moorage.model.names import dns1035_label_errors
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.extension import admission_policies as views

if TYPE_CHECKING:
    from moorage.match.cel.environment import Environment

_is_identifier = whole(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
#: Names of the types that an expression may have.
TEXT, TEXT_OR_NULL = ("string",), ("string", "null_type")


@reads_text("a", "_", "1")
def is_identifier(name: str) -> bool:
    return _is_identifier(name) and name not in _RESERVED


@cache
def _environment(has_params: bool, has_authorizer: bool, has_variables: bool) -> "Environment":
    from moorage.match.cel import types
    from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment

    known = dict.fromkeys(("object", "oldObject", "request", "namespaceObject"), types.DYN)
    if has_params:
        known["params"] = types.DYN
    if has_variables:
        known["variables"] = types.DYN
    if has_authorizer:
        known |= {"authorizer": types.AUTHORIZER, "authorizer.requestResource": types.RESOURCE_CHECK}
    return Environment(KUBERNETES_FUNCTIONS, variables=known)


def validate_expression(
    expression: str,
    path: str,
    *,
    has_params: bool,
    has_authorizer: bool = True,
    has_variables: bool = False,
    results: tuple[str, ...] = ("bool",),
) -> list[FieldError]:
    """Check that an expression compiles to one of these types; with none, to any."""
    from moorage.match.cel import types
    from moorage.match.cel.program import compile_expression, render_issues

    program = compile_expression(expression, _environment(has_params, has_authorizer, has_variables))
    if isinstance(program, list):
        return [invalid(path, expression, render_issues(expression, program))]
    kind = program.result_type
    if not results or kind.declared_name in results or kind in (types.DYN, types.ANY):
        return []
    names = " ".join(results)
    wanted = names if len(results) == 1 else f"one of [{names}]"
    return [invalid(path, expression, f"must evaluate to {wanted} but got {kind.declared_name}")]


def validate_syntax(expression: str, path: str) -> list[FieldError]:
    """Check that an expression can be parsed."""
    from moorage.match.cel.parse.parser import parse
    from moorage.match.cel.parse.syntax import Source
    from moorage.match.cel.program import render_issues

    try:
        syntax = parse(Source(expression))
    except RecursionError:
        return [invalid(path, expression, "max recursion depth exceeded")]
    return [invalid(path, expression, render_issues(expression, syntax))] if isinstance(syntax, list) else []


FAILURE_POLICIES, MATCH_POLICIES = ("Fail", "Ignore"), ("Equivalent", "Exact")
REINVOCATIONS = ("IfNeeded", "Never")
_SIDE_EFFECTS, _NO_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown"), ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_CONDITIONS = 64

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


def validate_conditions(conditions: tuple[views.MatchCondition, ...], path: str, *, has_params: bool) -> FieldErrors:
    if len(conditions) > _MAX_CONDITIONS:
        yield field.too_many(path, len(conditions), _MAX_CONDITIONS)
    seen = set[str]()
    for index, condition in enumerate(conditions):
        at, expression = f"{path}[{index}]", condition.expression.strip()
        if expression:
            yield from validate_expression(expression, f"{at}.expression", has_params=has_params)
        else:
            yield field.required(f"{at}.expression")
        if not condition.name:
            yield field.required(f"{at}.name")
            continue
        yield from validate_label_name(condition.name, f"{at}.name")
        if condition.name in seen:
            yield field.duplicate(f"{at}.name", condition.name)
        seen.add(condition.name)


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
        warnings=lambda configuration: [NOT_CALLED] if configuration.webhooks else [],
    )


ROWS: Rows = {
    views.MutatingWebhookConfiguration: _row(defaults.default_mutating_webhooks),
    views.ValidatingWebhookConfiguration: _row(defaults.default_validating_webhooks),
}
