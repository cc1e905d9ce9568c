"""Ask an authorizer: whether a user may do something with a resource or a path.

An `AuthorizerValue` is the variable `authorizer` of admission; what it asks is answered by the callable that it holds.
The base environment declares these names everywhere, also where no variable holds an authorizer, so
`taint.key.check('get')` is a wrong overload and not an unknown function.
Kubernetes: apiserver/pkg/cel/library/authz.go, with the selectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from moorage.match.cel import types
from moorage.match.cel.functions import (
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Interval,
    actual_size,
    fixed,
    row,
)
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors

CHECK_COST = 350_000
_LIST_BASE = 10
# A selector's requirement takes at least two characters, and costs a list and a struct.
_REQUIREMENTS_PER_CHARACTER = 0.5
_REQUIREMENT_COST = 50.0


class Check(NamedTuple):
    """What is asked. With a path, nothing is asked about a resource."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    field_selector: str = ""
    label_selector: str = ""


class AuthorizerAnswer(Protocol):
    """What an authorizer answers."""

    @property
    def allowed(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def error(self) -> str: ...


#: Who asks: None is the user of the request, else the namespace and name of a service account.
Account = tuple[str, str] | None
Authorize = Callable[[Account, Check], AuthorizerAnswer]


@dataclass(slots=True, frozen=True)
class AuthorizerValue(OpaqueValue):
    """An authorizer for a user. `check_cost` is less where the rest is added after evaluation."""

    authorize: Authorize
    account: Account = None
    check_cost: int = CHECK_COST
    cel_type = types.AUTHORIZER


@dataclass(slots=True, frozen=True)
class PathCheck(OpaqueValue):
    """A check of a path that is not one of a resource."""

    authorizer: AuthorizerValue
    path: str
    cel_type = types.PATH_CHECK


@dataclass(slots=True, frozen=True)
class GroupCheck(OpaqueValue):
    """A check within an API group, for which a resource is to be named."""

    authorizer: AuthorizerValue
    group: str
    cel_type = types.GROUP_CHECK


@dataclass(slots=True, frozen=True)
class ResourceCheck(OpaqueValue):
    """A check of a resource, to which the verb is added."""

    authorizer: AuthorizerValue
    check: Check
    cel_type = types.RESOURCE_CHECK


@dataclass(slots=True, frozen=True)
class DecisionValue(OpaqueValue):
    """An answer."""

    answer: AuthorizerAnswer
    cel_type = types.DECISION


def _path(authorizer: AuthorizerValue, path: str) -> PathCheck:
    if not path.strip():
        raise CelError("path must not be empty")
    return PathCheck(authorizer, path)


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> AuthorizerValue:
    if dns1123_subdomain_errors(name):
        raise CelError("Invalid service account name")
    if dns1123_label_errors(namespace):
        raise CelError("Invalid service account namespace")
    return AuthorizerValue(authorizer.authorize, (namespace, name), authorizer.check_cost)


def _resource(group: GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise CelError("resource must not be empty")
    return ResourceCheck(group.authorizer, Check("", group.group, resource))


def _with(field: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    """Return the function that fills in one field of a check."""

    def fill(check: ResourceCheck, value: str) -> ResourceCheck:
        return replace(check, check=check.check._replace(**{field: value}))

    return fill


def _check_path(check: PathCheck, verb: str) -> DecisionValue:
    authorizer = check.authorizer
    return DecisionValue(authorizer.authorize(authorizer.account, Check(verb, path=check.path)))


def _check_resource(check: ResourceCheck, verb: str) -> DecisionValue:
    authorizer = check.authorizer
    return DecisionValue(authorizer.authorize(authorizer.account, check.check._replace(verb=verb)))


def _check_estimate(*_: Argument) -> CallEstimate:
    return CallEstimate(fixed(CHECK_COST))


def _selector_interval(size: Interval) -> Interval:
    requirements = size.by_factor(_REQUIREMENTS_PER_CHARACTER).by_factor(_REQUIREMENT_COST)
    return fixed(_LIST_BASE).plus(size.by_factor(STRING_FACTOR)).plus(requirements)


def _selector_estimate(_: Argument, selector: Argument) -> CallEstimate:
    return CallEstimate(_selector_interval(selector.size))


def _selector_cost(values: Sequence[Any]) -> int:
    return _selector_interval(fixed(actual_size(values[1]))).max


def _check_cost(values: Sequence[Any]) -> int:
    check = values[0]
    return check.authorizer.check_cost if isinstance(check, PathCheck | ResourceCheck) else CHECK_COST


_CHECKS = (_check_estimate, _check_cost)
_SELECTORS = (_selector_estimate, _selector_cost)
FUNCTIONS = (
    row("Authorizer.path(string) -> PathCheck", "authorizer_path", _path),
    row("Authorizer.group(string) -> GroupCheck", "authorizer_group", GroupCheck),
    row("Authorizer.serviceAccount(string, string) -> Authorizer", "authorizer_serviceaccount", _service_account),
    row("GroupCheck.resource(string) -> ResourceCheck", "groupcheck_resource", _resource),
    row("ResourceCheck.subresource(string) -> ResourceCheck", "resourcecheck_subresource", _with("subresource")),
    row("ResourceCheck.namespace(string) -> ResourceCheck", "resourcecheck_namespace", _with("namespace")),
    row("ResourceCheck.name(string) -> ResourceCheck", "resourcecheck_name", _with("name")),
    row("PathCheck.check(string) -> Decision", "pathcheck_check", _check_path, *_CHECKS),
    row("ResourceCheck.check(string) -> Decision", "resourcecheck_check", _check_resource, *_CHECKS),
    row("Decision.errored() -> bool", "decision_errored", lambda decision: bool(decision.answer.error)),
    row("Decision.error() -> string", "decision_error", lambda decision: decision.answer.error),
    row("Decision.allowed() -> bool", "decision_allowed", lambda decision: decision.answer.allowed),
    row("Decision.reason() -> string", "decision_reason", lambda decision: decision.answer.reason),
    row(
        "ResourceCheck.fieldSelector(string) -> ResourceCheck",
        "authorizer_fieldselector",
        _with("field_selector"),
        *_SELECTORS,
    ),
    row(
        "ResourceCheck.labelSelector(string) -> ResourceCheck",
        "authorizer_labelselector",
        _with("label_selector"),
        *_SELECTORS,
    ),
)
