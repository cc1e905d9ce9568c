"""Answer SelfSubjectReviews, access reviews and rules reviews, which are created and never stored.

Kubernetes: SelfSubjectReview, the SubjectAccessReview family and SelfSubjectRulesReview.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.messages.rejections import internal_form
from moorage.match.label_selector import compile_label_selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.names import label_key_errors, label_value_errors
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement, ObjectMeta
from moorage.model.types.request import (
    FieldSelectorAttributes,
    FieldSelectorRequirement,
    LabelSelectorAttributes,
    LocalSubjectAccessReview,
    NonResourceAttributes,
    ResourceAttributes,
    SelfSubjectAccessReview,
    SubjectAccessReview,
)
from moorage.model.types.view import ABSENT_LIST
from moorage.serve.access.authorization import Attributes, Authorization
from moorage.serve.pki.authentication import User
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.resources.selector_parameters import field_terms

Raw = dict[str, Any]
_AccessReview = SelfSubjectAccessReview | SubjectAccessReview | LocalSubjectAccessReview


class Reviewer(NamedTuple):
    """Who asks for a review, when, in the path of which namespace, and what decides and knows users."""

    user: User
    now: str
    namespace: str
    authorization: Authorization
    authenticator: Authenticator


def who_am_i(raw: Raw, asking: Reviewer) -> Raw:
    return {"metadata": {"creationTimestamp": asking.now}, "status": {"userInfo": shown_user(asking.user)}}


def shown_user(user: User) -> Raw:
    info: Raw = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra.items()}
    return info


def may_i(raw: Raw, asking: Reviewer) -> Raw:
    review = convert_view(raw, SelfSubjectAccessReview)
    _refuse((*_attribute_errors(review), *_selector_errors(review), *_metadata_errors(review.metadata)))
    return _decided(raw, review, asking.user, asking.authorization)


def may_they(raw: Raw, asking: Reviewer) -> Raw:
    review = convert_view(raw, SubjectAccessReview)
    _refuse((*_subject_errors(review), *_metadata_errors(review.metadata)))
    return _decided(raw, review, _subject(review), asking.authorization)


def may_they_in_namespace(raw: Raw, asking: Reviewer) -> Raw:
    """Answer for the namespace of the path, which the document must not contradict."""
    given = (raw.get("metadata") or {}).get("namespace")
    if given and given != asking.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    raw = {**raw, "metadata": {**(raw.get("metadata") or {}), "namespace": asking.namespace}}
    review = convert_view(raw, LocalSubjectAccessReview)
    resource, path = review.spec.resourceAttributes, review.spec.nonResourceAttributes
    errors = [*_subject_errors(review), *_metadata_errors(review.metadata, except_for=" except for namespace")]
    if resource is not None and resource.namespace != asking.namespace:
        errors.append(invalid("spec.resourceAttributes.namespace", resource.namespace, "must match metadata.namespace"))
    if path is not None:
        errors.append(
            invalid("spec.nonResourceAttributes", AsJSON(internal_form(path)), "disallowed on this kind of request")
        )
    _refuse(errors)
    return _decided(raw, review, _subject(review), asking.authorization)


def what_may_i(raw: Raw, asking: Reviewer) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not spec.get("namespace"):
        raise bad_request("no namespace on request")
    rules = asking.authorization.rules_for(asking.user, spec["namespace"])
    status = {
        "resourceRules": [
            written_rule(rule, ("apiGroups", "resources", "resourceNames")) for rule in rules.rules if rule.resources
        ],
        "nonResourceRules": [written_rule(rule, ("nonResourceURLs",)) for rule in rules.rules if rule.nonResourceURLs],
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    return {"metadata": {}, "spec": {}, "status": status}


def written_rule(rule: Any, names: Sequence[str]) -> Raw:
    """Return these fields of a rule as Go writes them: verbs always, the others if there are any."""
    verbs = None if rule.verbs is ABSENT_LIST else list(rule.verbs)
    return {"verbs": verbs} | {name: list(values) for name in names if (values := getattr(rule, name))}


def _decided(raw: Raw, review: _AccessReview, user: User, authorization: Authorization) -> Raw:
    attributes, ignored = _asked(review.spec.resourceAttributes, review.spec.nonResourceAttributes)
    decision = authorization.authorize(user, attributes)
    status: Raw = {"allowed": decision.allowed}
    if decision.denied:
        status["denied"] = True
    if decision.reason:
        status["reason"] = decision.reason
    if errors := [decision.error] * bool(decision.error) + ignored:
        status["evaluationError"] = "; ".join(errors)
    return {"metadata": raw.get("metadata") or {}, "spec": raw["spec"], "status": status}


def _subject(review: SubjectAccessReview | LocalSubjectAccessReview) -> User:
    spec = review.spec
    return User(spec.user, spec.uid, tuple(spec.groups), spec.extra)


def _asked(resource: ResourceAttributes | None, path: NonResourceAttributes | None) -> tuple[Attributes, list[str]]:
    """Return what is asked for, and which selectors are ignored."""
    if resource is None:
        return Attributes(path.verb, path=path.path) if path is not None else Attributes(""), []
    fields, ignored = "", list[str]()
    if resource.fieldSelector is not None:
        fields, broken = _field_terms(resource.fieldSelector)
        ignored += _ignored("fieldSelector", broken, bool(fields))
    if resource.labelSelector is not None:
        ignored += _ignored("labelSelector", *_label_problems(resource.labelSelector))
    namespace, verb, group, version, plural, subresource, name = msgspec.structs.astuple(resource)[:7]
    return Attributes(verb, group, version, plural, subresource, namespace, name, "", fields, True), ignored


def _ignored(name: str, broken: bool, partially: bool) -> list[str]:
    how = "partially ignored" if partially else "ignored"
    return [f"spec.resourceAttributes.{name} {how} due to parse error"] if broken else []


def _field_terms(selector: FieldSelectorAttributes) -> tuple[str, bool]:
    """Return the terms that can be understood as one text, and whether there are others."""
    if selector.rawSelector:
        try:
            field_terms(selector.rawSelector)
        except ApiError:
            return "", True
        return selector.rawSelector, False
    operators = {"In": "=", "NotIn": "!="}
    understood = [
        f"{requirement.key}{operators[requirement.operator]}{_escaped(requirement.values[0])}"
        for requirement in selector.requirements
        if requirement.operator in operators and len(requirement.values) == 1
    ]
    return ",".join(understood), len(understood) < len(selector.requirements)


def _escaped(value: str) -> str:
    """Write a value so that it stays one value in a field selector."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")


def _label_problems(selector: LabelSelectorAttributes) -> tuple[bool, bool]:
    """Return whether anything cannot be understood, and whether anything else can."""
    if selector.rawSelector:
        try:
            parse_selector(selector.rawSelector)
        except SelectorError:
            return True, False
        return False, True
    good = sum(map(_is_understood, selector.requirements))
    return good < len(selector.requirements), good > 0


def _is_understood(requirement: LabelSelectorRequirement) -> bool:
    try:
        compile_label_selector(LabelSelector(matchExpressions=(requirement,)))
    except SelectorError:
        return False
    return True


def _attribute_errors(review: _AccessReview) -> FieldErrors:
    resource, path = review.spec.resourceAttributes, review.spec.nonResourceAttributes
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield invalid("spec.nonResourceAttributes", AsJSON(internal_form(path)), why)
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid("spec.resourceAttributes", None, why)


def _subject_errors(review: SubjectAccessReview | LocalSubjectAccessReview) -> FieldErrors:
    yield from _attribute_errors(review)
    if not review.spec.user and not review.spec.groups:
        yield invalid("spec.user", "", "at least one of user or group must be specified")
    yield from _selector_errors(review)


def _selector_errors(review: _AccessReview) -> FieldErrors:
    resource = review.spec.resourceAttributes
    for name in ("fieldSelector", "labelSelector") if resource is not None else ():
        selector = getattr(resource, name)
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{name}"
        if selector.rawSelector and selector.requirements:
            why = "may not specified at the same time as requirements"
            yield invalid(f"{path}.rawSelector", selector.rawSelector, why)
        if not selector.rawSelector and not selector.requirements:
            why = f"when {path} is specified, requirements or rawSelector is required"
            yield required(f"{path}.requirements", why)
        for number, requirement in enumerate(selector.requirements):
            yield from _requirement_errors(requirement, f"{path}.requirements[{number}]", name == "labelSelector")


def _requirement_errors(
    requirement: FieldSelectorRequirement | LabelSelectorRequirement, path: str, of_labels: bool
) -> FieldErrors:
    """Check a requirement; an operator that is not known may be one of a newer client."""
    values = requirement.values
    if not of_labels and not requirement.key:
        yield required(f"{path}.key", "must be specified")
    if requirement.operator in ("In", "NotIn") and not values:
        yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    if requirement.operator in ("Exists", "DoesNotExist") and values:
        yield forbidden(f"{path}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    if of_labels:
        yield from [invalid(f"{path}.key", requirement.key, text) for text in label_key_errors(requirement.key)]
        for number, value in enumerate(values):
            yield from [invalid(f"{path}.values[{number}]", value, text) for text in label_value_errors(value)]


def _metadata_errors(metadata: ObjectMeta, *, except_for: str = "") -> FieldErrors:
    compared = msgspec.structs.replace(metadata, managedFields=(), namespace="" if except_for else metadata.namespace)
    if compared != ObjectMeta():
        yield invalid("metadata", AsJSON(internal_form(metadata)), f"must be empty{except_for}")


def _refuse(errors: Sequence[FieldError]) -> None:
    """Raise ApiError 422 for a review, whose kind Kubernetes does not name."""
    if not errors:
        return
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
    details = {"group": "authorization.k8s.io", "causes": causes}
    raise _invalid(errors, details)


def _invalid(errors: Sequence[FieldError], details: Raw) -> ApiError:
    texts = ", ".join(map(str, errors))
    shown = f"[{texts}]" if len(errors) > 1 else texts
    return failure(422, "Invalid", f'.authorization.k8s.io "" is invalid: {shown}', details)
