"""The authorization library: its functions are declared, but no expression here can ever hold an authorizer.

Kubernetes: apiserver/pkg/cel/library/authz.go, with the selectors. The base environment declares these names
everywhere, so `taint.key.check('get')` is a wrong overload and not an unknown function. There is no authorizer
variable, hence no value these could be called on, and one implementation serves all of them.
"""

from __future__ import annotations

from typing import Any, NoReturn

from moorage.match.cel.functions import (
    STRING_FACTOR,
    CallEstimate,
    EstimateContext,
    Function,
    Node,
    Overload,
    fixed,
)
from moorage.match.cel.types import (
    AUTHORIZER,
    BOOL,
    DECISION,
    GROUP_CHECK,
    PATH_CHECK,
    RESOURCE_CHECK,
    STRING,
    Type,
)
from moorage.match.cel.values import CelError

_CHECK_COST = 350_000
_LIST_BASE = 10
# A selector's requirement takes at least two characters, and costs a list and a struct.
_REQUIREMENTS_PER_CHARACTER = 0.5
_REQUIREMENT_COST = 50.0


def _unreachable(*_values: Any) -> NoReturn:
    raise CelError("no such overload")


def _check_estimate(_context: EstimateContext, _receiver: Node | None, _arguments: Any) -> CallEstimate:
    return CallEstimate(fixed(_CHECK_COST))


def _selector_estimate(context: EstimateContext, _receiver: Node | None, arguments: Any) -> CallEstimate:
    length = context.size(arguments[0])
    requirements = length.by_factor(_REQUIREMENTS_PER_CHARACTER).by_factor(_REQUIREMENT_COST)
    return CallEstimate(fixed(_LIST_BASE).plus(length.by_factor(STRING_FACTOR)).plus(requirements))


def _row(name: str, overload_id: str, params: tuple[Type, ...], result: Type) -> Function:
    return Function(name, (Overload(overload_id, params, result, _unreachable, member=True),))


def _selector(name: str, overload_id: str) -> Function:
    return Function(
        name,
        (
            Overload(
                overload_id,
                (RESOURCE_CHECK, STRING),
                RESOURCE_CHECK,
                _unreachable,
                member=True,
                estimate=_selector_estimate,
            ),
        ),
    )


FUNCTIONS = (
    _row("path", "authorizer_path", (AUTHORIZER, STRING), PATH_CHECK),
    _row("group", "authorizer_group", (AUTHORIZER, STRING), GROUP_CHECK),
    _row("serviceAccount", "authorizer_serviceaccount", (AUTHORIZER, STRING, STRING), AUTHORIZER),
    _row("resource", "groupcheck_resource", (GROUP_CHECK, STRING), RESOURCE_CHECK),
    _row("subresource", "resourcecheck_subresource", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    _row("namespace", "resourcecheck_namespace", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    _row("name", "resourcecheck_name", (RESOURCE_CHECK, STRING), RESOURCE_CHECK),
    Function(
        "check",
        (
            Overload("pathcheck_check", (PATH_CHECK, STRING), DECISION, _unreachable, True, _check_estimate),
            Overload("resourcecheck_check", (RESOURCE_CHECK, STRING), DECISION, _unreachable, True, _check_estimate),
        ),
    ),
    _row("errored", "decision_errored", (DECISION,), BOOL),
    _row("error", "decision_error", (DECISION,), STRING),
    _row("allowed", "decision_allowed", (DECISION,), BOOL),
    _row("reason", "decision_reason", (DECISION,), STRING),
    _selector("fieldSelector", "authorizer_fieldselector"),
    _selector("labelSelector", "authorizer_labelselector"),
)
