"""Declare the authorization library, whose functions no expression here can call: none holds an authorizer.

Kubernetes: apiserver/pkg/cel/library/authz.go, with the selectors. The base environment declares these names
everywhere, so `taint.key.check('get')` is a wrong overload and not an unknown function. There is no authorizer
variable, hence no value these could be called on, and one implementation serves all of them.
"""

from __future__ import annotations

from moorage.match.cel.functions import (
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Estimate,
    Function,
    fixed,
    no_such_overload,
    row,
)

_CHECK_COST = 350_000
_LIST_BASE = 10
# A selector's requirement takes at least two characters, and costs a list and a struct.
_REQUIREMENTS_PER_CHARACTER = 0.5
_REQUIREMENT_COST = 50.0


def _check_estimate(*_: Argument) -> CallEstimate:
    return CallEstimate(fixed(_CHECK_COST))


def _selector_estimate(_: Argument, selector: Argument) -> CallEstimate:
    requirements = selector.size.by_factor(_REQUIREMENTS_PER_CHARACTER).by_factor(_REQUIREMENT_COST)
    return CallEstimate(fixed(_LIST_BASE).plus(selector.size.by_factor(STRING_FACTOR)).plus(requirements))


def _row(signature: str, overload_id: str, estimate: Estimate | None = None) -> Function:
    return row(signature, overload_id, no_such_overload, estimate)


FUNCTIONS = (
    _row("Authorizer.path(string) -> PathCheck", "authorizer_path"),
    _row("Authorizer.group(string) -> GroupCheck", "authorizer_group"),
    _row("Authorizer.serviceAccount(string, string) -> Authorizer", "authorizer_serviceaccount"),
    _row("GroupCheck.resource(string) -> ResourceCheck", "groupcheck_resource"),
    _row("ResourceCheck.subresource(string) -> ResourceCheck", "resourcecheck_subresource"),
    _row("ResourceCheck.namespace(string) -> ResourceCheck", "resourcecheck_namespace"),
    _row("ResourceCheck.name(string) -> ResourceCheck", "resourcecheck_name"),
    _row("PathCheck.check(string) -> Decision", "pathcheck_check", _check_estimate),
    _row("ResourceCheck.check(string) -> Decision", "resourcecheck_check", _check_estimate),
    _row("Decision.errored() -> bool", "decision_errored"),
    _row("Decision.error() -> string", "decision_error"),
    _row("Decision.allowed() -> bool", "decision_allowed"),
    _row("Decision.reason() -> string", "decision_reason"),
    _row("ResourceCheck.fieldSelector(string) -> ResourceCheck", "authorizer_fieldselector", _selector_estimate),
    _row("ResourceCheck.labelSelector(string) -> ResourceCheck", "authorizer_labelselector", _selector_estimate),
)
