"""Match a request with a policy, a binding or a webhook, in the version of the object that their rules name.

Kubernetes: plugin/policy/matching, policy_matcher.go of plugin/policy/generic, ShouldCallHook of
plugin/webhook/generic up to the match conditions, NewVersionedAttributes.
Differs: a rule is compared before selectors, since it costs less; the answer and the errors stay the same.
"""

from typing import NamedTuple

from moorage.admit.extension.attributes import Attributes, ObjectKind, ObjectResource
from moorage.admit.extension.kept import Kept
from moorage.admit.extension.matching.rules import RequestRule, compile_rules
from moorage.admit.extension.matching.selectors import matches_namespace, matches_object
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, failure, internal
from moorage.model.types.extension.admission_policies import MatchResources, MutatingWebhook, ValidatingWebhook
from moorage.model.types.meta import LabelSelector

_EQUIVALENT = "Equivalent"


class Matched(NamedTuple):
    """The resource that rules matched, which is another version of that of the request under Equivalent."""

    resource: ObjectResource
    kind: ObjectKind


class Versioned(NamedTuple):
    """The objects of a request in the version that was matched."""

    kind: ObjectKind
    object: Raw | None
    old: Raw | None


class Constraints(NamedTuple):
    """What a policy, a binding or a webhook matches, compiled. A selector may be the text of an error instead."""

    rules: tuple[RequestRule, ...]
    exclusions: tuple[RequestRule, ...]
    is_equivalent: bool
    namespaces: Selector | str
    objects: Selector | str


class _UnknownKind(Exception):
    """The kind of an equivalent resource is not known."""


def match_resources(
    constraints: MatchResources | None, attributes: Attributes, world: ExtensionWorld
) -> Matched | None:
    """Match a request with the matchConstraints of a policy or the matchResources of a binding.

    Raises ApiError, whose message a policy reports as an error of its configuration.
    """
    compiled = _MATCH_RESOURCES.of(constraints) if constraints is not None else None
    if compiled is None:
        raise failure(500, "InternalError", "policy contained no match constraints, a required field")
    try:
        return _match(compiled, attributes, world, matches_without_rules=True)
    except _UnknownKind as error:
        raise failure(500, "InternalError", str(error)) from None


def compiled_resources(constraints: MatchResources) -> Constraints:
    """Return the matchConstraints of a policy, or the matchResources of a binding, compiled."""
    return _MATCH_RESOURCES.of(constraints)


def rules_of_resources(constraints: MatchResources) -> tuple[tuple[RequestRule, ...], bool]:
    """Return the rules, of which a request has to match one, and whether other versions of its resource count, too."""
    compiled = _MATCH_RESOURCES.of(constraints)
    return compiled.rules, compiled.is_equivalent


def rules_of_webhook(webhook: MutatingWebhook | ValidatingWebhook) -> tuple[tuple[RequestRule, ...], bool]:
    """Return the rules of a webhook, and whether other versions count, too."""
    compiled = _WEBHOOKS.of(webhook)
    return compiled.rules, compiled.is_equivalent


def match_webhook(
    webhook: MutatingWebhook | ValidatingWebhook, attributes: Attributes, world: ExtensionWorld
) -> Matched | None:
    """Match a request with the rules and selectors of a webhook. Raises ApiError."""
    try:
        return _match(_WEBHOOKS.of(webhook), attributes, world)
    except _UnknownKind as error:
        raise internal(str(error)) from None


def versioned(attributes: Attributes, kind: ObjectKind, world: ExtensionWorld) -> Versioned:
    """Return object and old object of a request in another version. Raises ApiError."""
    return Versioned(kind, _converted(attributes.object, kind, world), _converted(attributes.old, kind, world))


def _converted(document: Raw | None, kind: ObjectKind, world: ExtensionWorld) -> Raw | None:
    if document is None:
        return None
    version = f"{kind.group}/{kind.version}" if kind.group else kind.version
    if document.get("apiVersion") == version and document.get("kind") == kind.kind:
        return document
    return world.convert(document, kind)


def _match(
    constraints: Constraints, attributes: Attributes, world: ExtensionWorld, *, matches_without_rules: bool = False
) -> Matched | None:
    if constraints.rules or not matches_without_rules:
        matched = match_rules(constraints.rules, constraints.is_equivalent, attributes, world)
    else:
        matched = Matched(attributes.resource, attributes.kind)
    if matched is None or _is_excluded(constraints, attributes, world):
        return None
    return matched if _is_selected(constraints, attributes, world) else None


def _is_selected(constraints: Constraints, attributes: Attributes, world: ExtensionWorld) -> bool:
    """Return whether both selectors select the request. A selector's no comes before the error of the other."""
    problem: ApiError | None = None
    try:
        if not matches_namespace(_valid(constraints.namespaces), attributes, world):
            return False
    except ApiError as error:
        problem = error
    try:
        if not matches_object(_valid(constraints.objects), attributes):
            return False
    except ApiError as error:
        problem = problem or error
    if problem is not None:
        raise problem
    return True


def _valid(selector: Selector | str) -> Selector:
    if isinstance(selector, str):
        raise failure(500, "InternalError", selector)
    return selector


def _is_excluded(constraints: Constraints, attributes: Attributes, world: ExtensionWorld) -> bool:
    rules = constraints.exclusions
    return bool(rules) and match_rules(rules, constraints.is_equivalent, attributes, world) is not None


def match_rules(
    rules: tuple[RequestRule, ...], is_equivalent: bool, attributes: Attributes, world: ExtensionWorld
) -> Matched | None:
    """Return what one of the rules matches: the resource of the request, else another version of it."""
    own, name = attributes.resource, attributes.name
    for rule in rules:
        if rule.matches(attributes, own) and rule.matches_name(name):
            return Matched(own, attributes.kind)
    if not is_equivalent:
        return None
    equivalents = [other for other in world.served_versions(own, attributes.subresource) if other.resource != own]
    for rule in rules:
        for resource, kind in equivalents:
            if not rule.matches(attributes, resource):
                continue
            if not kind.kind:
                text = f"{resource.group}/{resource.version}, Resource={resource.resource}"
                raise _UnknownKind(f"unable to convert to {text}: unknown kind")
            if rule.matches_name(name):
                return Matched(resource, kind)
    return None


def _compile_resources(resources: MatchResources) -> Constraints:
    return Constraints(
        compile_rules(resources.resourceRules),
        compile_rules(resources.excludeResourceRules),
        resources.matchPolicy == _EQUIVALENT,
        _compile_selector(resources.namespaceSelector, "namespace"),
        _compile_selector(resources.objectSelector, "object"),
    )


def _compile_webhook(webhook: MutatingWebhook | ValidatingWebhook) -> Constraints:
    return Constraints(
        compile_rules(webhook.rules),
        (),
        webhook.matchPolicy == _EQUIVALENT,
        _compile_selector(webhook.namespaceSelector),
        _compile_selector(webhook.objectSelector),
    )


def _compile_selector(selector: LabelSelector | None, name: str = "") -> Selector | str:
    if selector is None and name:
        return f"a nil {name} selector was passed, please ensure selectors are initialized properly"
    try:
        return compile_label_selector(selector)
    except SelectorError as error:
        return internal(str(error)).message


_MATCH_RESOURCES: Kept[MatchResources, Constraints] = Kept(_compile_resources)
_WEBHOOKS: Kept[MutatingWebhook | ValidatingWebhook, Constraints] = Kept(_compile_webhook)
