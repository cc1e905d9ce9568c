"""Decide what a user may do, and let a user act as another one where that is allowed (`kubectl --as`).

Every request is authorized by its method and path; so are impersonation, reviews and the checks against escalation:
`authorize(user, attributes)` returns a `Decision`. `system:masters` may do everything; then the authorizers of
`--authorization-mode` are asked in order until one decides. Each header Impersonate-User, -Group, -Uid and -Extra-…
must be allowed by itself. Kubernetes: the authorizer interface, the union of authorizers, the privileged-group
authorizer, the request info resolver, the impersonation filter.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol
from urllib.parse import unquote

from moorage.match.label_selector import parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.go.quoting import go_quote
from moorage.model.text.patterns import whole
from moorage.model.types.policy import PolicyRule
from moorage.serve.http.messages import IMPERSONATION, SEPARATOR, Query, Request, is_flag_set
from moorage.serve.pki.authentication import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    User,
    account_groups,
    account_of_user,
)
from moorage.serve.resources.selector_parameters import field_terms


class Attributes(NamedTuple):
    """What is asked for: a verb on a resource, or on a path. `resource_attributes` makes the first."""

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    #: The field selector of a list, watch or deletecollection.
    fields: str = ""
    is_resource: bool = False


def resource_attributes(
    verb: str,
    group: str,
    resource: str,
    *,
    subresource: str = "",
    namespace: str = "",
    name: str = "",
    fields: str = "",
) -> Attributes:
    return Attributes(verb, group, "v1", resource, subresource, namespace, name, "", fields, True)


class Decision(NamedTuple):
    """An answer, and why. Neither `allowed` nor `denied` is no opinion: the next authorizer is asked."""

    allowed: bool
    reason: str = ""
    denied: bool = False
    error: str = ""


class Rules(NamedTuple):
    """The rules of a user in a namespace; `error` names what could not be evaluated."""

    rules: Sequence[PolicyRule] = ()
    error: str = ""
    incomplete: bool = False


class Authorizer(Protocol):
    """Decides what users may do. An authorizer that cannot list rules says so in `Rules.error`."""

    def authorize(self, user: User, attributes: Attributes) -> Decision: ...

    def rules_for(self, user: User, namespace: str) -> Rules: ...


ALLOWED = Decision(True)
NO_OPINION = Decision(False)


class Authorization:
    """Asks authorizers in order. The first that allows or denies decides; without any, nothing is allowed."""

    def __init__(self, authorizers: Sequence[Authorizer] = ()) -> None:
        self._authorizers = tuple(authorizers)

    def authorize(self, user: User, attributes: Attributes) -> Decision:
        if MASTERS in user.groups:
            return ALLOWED
        reasons, errors = [], []
        for authorizer in self._authorizers:
            decision = authorizer.authorize(user, attributes)
            if decision.allowed or decision.denied:
                return decision
            if decision.reason:
                reasons.append(decision.reason)
            if decision.error:
                errors.append(decision.error)
        if not reasons and not errors:
            return NO_OPINION
        return Decision(False, "\n".join(reasons), error=aggregate(errors))

    def rules_for(self, user: User, namespace: str) -> Rules:
        """Return all that a user may do in a namespace, of every authorizer."""
        answers = [authorizer.rules_for(user, namespace) for authorizer in self._authorizers]
        return Rules(
            [rule for one in answers for rule in one.rules],
            aggregate([answer.error for answer in answers if answer.error]),
            any(answer.incomplete for answer in answers),
        )

    def check(self, user: User, attributes: Attributes) -> None:
        """Raise ApiError 403 if a user may not do what is asked for."""
        decision = self.authorize(user, attributes)
        if not decision.allowed:
            raise denied(user, attributes, decision.reason)


def aggregate(errors: Sequence[str]) -> str:
    """Return several errors as one text, each of them once, as Go's aggregates print."""
    once = list(dict.fromkeys(errors))
    return f"[{', '.join(once)}]" if len(once) > 1 else "".join(once)


_PREFIXES = ("api", "apis")
_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")
_WITH_SELECTORS = ("list", "watch", "deletecollection")


def attributes_of(request: Request) -> Attributes:
    """Return what a request asks for, by its method and path alone: the kind need not exist."""
    path = request.path
    segments = path.strip("/").split("/")
    if segments[0] not in _PREFIXES or len(segments) < (3 if segments[0] == "api" else 4):
        return Attributes(request.method.lower(), path=path)
    start = 1 if segments[0] == "api" else 2
    group, version, rest = segments[1] if start == 2 else "", segments[start], segments[start + 1 :]
    verb = _VERBS.get(request.method, "")
    by_path = rest[0] == "watch" and len(rest) > 1
    if by_path:
        verb, rest = "watch", rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    if not name and verb == "get":
        name = _name_in_selector(request)
        verb = "watch" if is_flag_set(request.query.get("watch", "false")) else "list"
    elif not name and verb == "delete":
        verb = "deletecollection"
    # The selectors of old watch paths do not count: Kubernetes does not honour them everywhere.
    has_selectors = verb in _WITH_SELECTORS and request.query_text and not by_path
    fields = request.query.get("fieldSelector") if has_selectors else ""
    return Attributes(verb, group, version, resource, subresource, namespace, name, "", fields, True)


def _name_in_selector(request: Request) -> str:
    """Return the name of the only object that a field selector lets through."""
    name = required_value(request.query.get("fieldSelector"), "metadata.name")
    if name and not _is_readable(request.query):
        return ""
    return "" if name in (".", "..") or "/" in name or "%" in name else name


_is_number = whole(r"[+-]?[0-9]{1,19}")


def _is_readable(query: Query) -> bool:
    """Return whether the other parameters of a list can be read; else Kubernetes does not look at any of them."""
    if any(text and not _is_number(text) for text in map(query.get, ("limit", "timeoutSeconds"))):
        return False
    try:
        parse_selector(query.get("labelSelector"))
    except SelectorError:
        return False
    return True


def required_value(fields: str, field: str) -> str:
    """Return the one value of a field that a field selector lets through, or an empty text."""
    if field not in fields:
        return ""
    try:
        terms = field_terms(fields)
    except ApiError:
        return ""
    return next((value for found, is_equal, value in terms if found == field and is_equal), "")


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def denied(user: User, attributes: Attributes, reason: str = "") -> ApiError:
    """Return the 403 for what a user may not do."""
    sentence = f"User {go_quote(user.name)} cannot {attributes.verb} "
    if not attributes.is_resource:
        sentence += f"path {go_quote(attributes.path)}"
    else:
        resource = f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
        where = f"in the namespace {go_quote(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
        sentence += f"resource {go_quote(resource)} in API group {go_quote(attributes.group)} {where}"
    sentence = sentence.translate(_HTML) + (f": {reason}" if reason else "")
    whom = f"{attributes.resource}.{attributes.group}" if attributes.group else attributes.resource
    subject = (
        f"{whom} {go_quote(attributes.name)} is forbidden"
        if attributes.name
        else f"{whom} is forbidden"
        if whom
        else "forbidden"
    )
    details = {"name": attributes.name, "group": attributes.group, "kind": attributes.resource}
    return failure(403, "Forbidden", f"{subject}: {sentence}", details)


_EXTRA = "impersonate-extra-"
_IMPERSONATE = "impersonate"
_AUTHENTICATION = "authentication.k8s.io"


def acting_user(user: User, headers: dict[str, str], authorization: Authorization) -> User:
    """Return the user that a request is to be answered for. Raises ApiError 400 and 403."""
    return _impersonated(user, headers, authorization) if IMPERSONATION in "".join(headers) else user


def describe_user(user: User) -> str:
    return f"{user.name or '<empty>'}[{','.join(user.groups)}]" if user.groups else user.name or "<empty>"


def _impersonated(user: User, headers: dict[str, str], authorization: Authorization) -> User:
    name = headers.get("impersonate-user", "").partition(SEPARATOR)[0]
    groups = headers["impersonate-group"].split(SEPARATOR) if "impersonate-group" in headers else []
    uid = headers.get("impersonate-uid", "").partition(SEPARATOR)[0]
    extra = {
        unquote(header[len(_EXTRA) :]): tuple(values.split(SEPARATOR))
        for header, values in headers.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        if groups or uid or extra:
            named = [f"Group {group}" for group in groups] + [f"UserExtra {key}" for key in extra] + ["UID"] * bool(uid)
            raise bad_request(f"requested [{', '.join(named)}] without impersonating a user")
        return user
    namespace, account = account_of_user(name)
    attributes = [resource_attributes(_IMPERSONATE, "", "users", name=name)]
    if account:
        attributes = [resource_attributes(_IMPERSONATE, "", "serviceaccounts", namespace=namespace, name=account)]
    attributes += [resource_attributes(_IMPERSONATE, "", "groups", name=group) for group in groups]
    attributes += [
        resource_attributes(_IMPERSONATE, _AUTHENTICATION, "userextras", subresource=key, name=value)
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        attributes.append(resource_attributes(_IMPERSONATE, _AUTHENTICATION, "uids", name=uid))
    for attribute in attributes:
        authorization.check(user, attribute)
    if account and not groups:
        groups = [*account_groups(namespace)]
    return User(name, uid, _with_implied(name, groups), extra)


def _with_implied(name: str, groups: list[str]) -> tuple[str, ...]:
    if name == ANONYMOUS.name:
        return tuple(groups) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    known = AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return tuple(groups) if known else (*groups, AUTHENTICATED)
