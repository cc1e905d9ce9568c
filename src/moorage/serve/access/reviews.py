"""Answer reviews: who am I, may I, what may I. They are created and never stored.

Kubernetes: SelfSubjectReview, SelfSubjectAccessReview and SelfSubjectRulesReview.
"""

from typing import Any

from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import FieldError, invalid
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.request import NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview
from moorage.serve.access.authorization import Attributes, authorize, rules_for
from moorage.serve.pki.authentication import User

Raw = dict[str, Any]


def who_am_i(raw: Raw, user: User, now: str) -> Raw:
    info: Raw = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra.items()}
    return {"metadata": {"creationTimestamp": now}, "status": {"userInfo": info}}


def may_i(raw: Raw, user: User, now: str) -> Raw:
    try:
        review: SelfSubjectAccessReview = convert_view(raw, SelfSubjectAccessReview)
    except ConversionError as error:
        raise bad_request(str(error)) from None
    resource, path = review.spec.resourceAttributes, review.spec.nonResourceAttributes
    if resource is not None and path is not None:
        shown = {"Path": path.path, "Verb": path.verb}
        why = "cannot be specified in combination with resourceAttributes"
        raise _invalid(invalid("spec.nonResourceAttributes", shown, why))
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(invalid("spec.resourceAttributes", None, why))
    decision = authorize(user, _asked(resource, path))
    status: Raw = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    return {"metadata": {}, "spec": raw["spec"], "status": status}


def _asked(resource: ResourceAttributes | None, path: NonResourceAttributes | None) -> Attributes:
    if resource is None:
        return Attributes(path.verb, path=path.path) if path is not None else Attributes("")
    return Attributes(
        resource.verb,
        resource.group,
        resource.version,
        resource.resource,
        resource.subresource,
        resource.namespace,
        resource.name,
    )


def what_may_i(raw: Raw, user: User, now: str) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not spec.get("namespace"):
        raise bad_request("no namespace on request")
    rules = rules_for(user)
    status = {
        "resourceRules": [
            {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
            for rule in rules
            if rule.resources
        ],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in rules if rule.paths
        ],
        "incomplete": False,
    }
    return {"metadata": {}, "spec": {}, "status": status}


def _invalid(error: FieldError) -> ApiError:
    """Return the 422 for a review, whose kind Kubernetes does not name."""
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path}]
    details = {"group": "authorization.k8s.io", "causes": causes}
    return failure(422, "Invalid", f'.authorization.k8s.io "" is invalid: {error}', details)
