"""Run the cases of a suite, and compare each answer with what the case expects."""

from collections.abc import AsyncIterator
from typing import NamedTuple

import msgspec

from moorage.admit.extension.remarks import Failure
from moorage.model.gates import GateSet
from moorage.policy.cases import (
    ALLOW,
    CaseUser,
    Expectation,
    PlacedCase,
    PolicySuite,
    UnreadableCases,
    subset_difference,
)
from moorage.policy.explaining import explain_policies
from moorage.policy.explanation_text import idle_policies
from moorage.policy.server import PolicyAnswer, PolicyCluster, PolicyRequest
from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User, account_groups, account_of_user


class CaseResult(NamedTuple):
    """What came of a case. `problems` say what differs from its expectation; `error`, why it could not be run."""

    case: PlacedCase
    answer: PolicyAnswer | None
    problems: tuple[str, ...] = ()
    error: str = ""

    @property
    def passed(self) -> bool:
        return not self.problems and not self.error


async def run_suite(suite: PolicySuite, gates: GateSet) -> AsyncIterator[CaseResult]:
    """Yield the result of each case. Raises UnreadableCases if the API server refuses what is in the cluster."""
    cluster = await PolicyCluster.made(gates, [*suite.objects, *suite.policies])
    for case in suite.cases:
        user = user_of(case.case.user)
        request = PolicyRequest(case.operation, case.object, case.old, user, case.case.subresource)
        try:
            answer = await cluster.ask(request, f"{case.file}:{case.line}")
        except UnreadableCases as error:
            yield CaseResult(case, None, error=str(error))
        else:
            problems = differences(case.case.expectation, answer)
            if problems and answer.decision == ALLOW:
                objects = [*suite.objects, *suite.policies]
                problems += idle_policies(await explain_policies(objects, request, gates))
            yield CaseResult(case, answer, tuple(problems))


def user_of(given: str | CaseUser) -> User:
    """Return a user with the groups that the API server would give it. Without a name it is the administrator."""
    if not given:
        return ADMIN
    user = CaseUser(given) if isinstance(given, str) else given
    namespace, account = account_of_user(user.name)
    groups = [*user.groups, *(account_groups(namespace) if account else ()), AUTHENTICATED]
    return User(user.name, user.uid, tuple(dict.fromkeys(groups)), user.extra)


def differences(expected: Expectation, answer: PolicyAnswer) -> list[str]:
    """Say what differs from what was expected."""
    if answer.decision != expected.decision:
        return [f"expected {expected.decision}, got {answer.decision}{_because(answer)}"]
    problems = []
    if expected.message and expected.message not in answer.message:
        problems.append(f"expected a message with {expected.message!r}, got {answer.message!r}")
    if expected.warnings is not None:
        problems += _warning_differences(expected.warnings, answer.warnings)
    if expected.object is not None and (difference := subset_difference(expected.object, answer.object or {})):
        problems.append(f"the object as admitted: {difference}")
    for name, text in (expected.audit or {}).items():
        given = answer.remarks.audit.get(name)
        if given is None:
            problems.append(f"expected the audit annotation {name}, which is absent")
        elif text not in given:
            problems.append(f"expected the audit annotation {name} with {text!r}, got {given!r}")
    return problems


def _because(answer: PolicyAnswer) -> str:
    if answer.message:
        return f": {answer.message}"
    return ": no policy has refused it" if answer.decision == ALLOW else ""


def _warning_differences(wanted: tuple[str, ...], given: tuple[str, ...]) -> list[str]:
    """Compare warnings, in any order: each that is wanted is part of one, and there are no others."""
    left = list(given)
    problems = []
    for text in wanted:
        found = next((warning for warning in left if text in warning), None)
        if found is None:
            problems.append(f"expected a warning with {text!r}")
        else:
            left.remove(found)
    return [*problems, *(f"unexpected warning {warning!r}" for warning in left)]


class FailedExpression(msgspec.Struct, frozen=True):
    """An expression of a policy that a request does not pass, for reports."""

    policy: str
    binding: str
    field: str
    expression: str
    message: str
    actions: tuple[str, ...]


def failed_expressions(answer: PolicyAnswer) -> list[FailedExpression]:
    return [_failed(failure) for failure in answer.remarks.failures]


def _failed(failure: Failure) -> FailedExpression:
    return FailedExpression(*failure)
