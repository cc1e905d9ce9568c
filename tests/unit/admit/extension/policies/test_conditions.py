"""Match conditions of webhooks and policies: what they answer, and when they take time."""

from typing import Any

import pytest
from tests.unit.admit.extension.plain_world import PlainWorld, config_map, creation

from moorage.admit.extension.attributes import UserInfo
from moorage.admit.extension.matching.matcher import versioned
from moorage.admit.extension.policies.conditions import ConditionsAnswer, aggregate, match_webhook_conditions
from moorage.admit.extension.policies.inputs import RequestInputs
from moorage.admit.extension.steps import advance, without_calls
from moorage.match.cel.libraries.authz import Check
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import ValidatingWebhook


def webhook(*expressions: str, failure_policy: str = "Fail") -> ValidatingWebhook:
    conditions = [{"name": f"c{index}", "expression": expression} for index, expression in enumerate(expressions)]
    return convert_view(
        {"name": "w", "matchConditions": conditions, "failurePolicy": failure_policy}, ValidatingWebhook
    )


def inputs(*worlds: PlainWorld, **data: Any) -> RequestInputs:
    return RequestInputs(creation(config_map(data=data)), worlds[0] if worlds else PlainWorld())


def answer(hook: ValidatingWebhook, given: RequestInputs) -> ConditionsAnswer:
    attributes = given.attributes
    return without_calls(match_webhook_conditions(hook, given, versioned(attributes, attributes.kind, given.world)))


@pytest.mark.parametrize(
    ("expressions", "failure_policy", "expected"),
    [
        ((), "Fail", ConditionsAnswer(True)),
        (("object.data.a == 'x'",), "Fail", ConditionsAnswer(True)),
        (("true", "object.data.a == 'y'"), "Fail", ConditionsAnswer(False, failed="c1", at_fault=1)),
        (("object.data.b == 'y'", "false"), "Fail", ConditionsAnswer(False, failed="c1", at_fault=1)),
        (
            ("true", "object.data.b == 'y'"),
            "Fail",
            ConditionsAnswer(False, "expression 'object.data.b == 'y'' resulted in error: no such key: b", at_fault=1),
        ),
        (("object.data.b == 'y'", "true"), "Ignore", ConditionsAnswer(False)),
        (
            ("1 / 0 == 1", "1 / 0 == 1", "int(object.data.a) == 1"),
            "Fail",
            ConditionsAnswer(
                False,
                "[expression '1 / 0 == 1' resulted in error: division by zero, expression 'int(object.data.a) == 1'"
                " resulted in error: type conversion error from 'string' to 'int']",
            ),
        ),
        (
            ("variables.x",),
            "Fail",
            ConditionsAnswer(
                False,
                "compilation error: compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables'"
                " (in container '')\n | variables.x\n | ^",
            ),
        ),
    ],
)
def test_conditions_answer_no_before_errors(
    expressions: tuple[str, ...], failure_policy: str, expected: ConditionsAnswer
) -> None:
    assert answer(webhook(*expressions, failure_policy=failure_policy), inputs(a="x")) == expected


LONG = "object.data.all(k, object.data.all(l, object.data.all(m, k + l + m != '')))"


def test_long_conditions_are_evaluated_after_a_pause_and_within_their_budget() -> None:
    given = inputs(**{f"k{number}": "v" for number in range(20)})
    attributes = given.attributes
    steps = match_webhook_conditions(webhook(LONG), given, versioned(attributes, attributes.kind, given.world))
    first = advance(steps)
    assert not first.is_over
    assert list(first.calls) == []
    assert advance(steps, []).result == ConditionsAnswer(True)


def test_conditions_share_a_budget() -> None:
    two = "!authorizer.path('/a').check('get').allowed() && !authorizer.path('/b').check('get').allowed()"
    exhausted = "validation failed due to running out of cost budget, no further validation rules will be run"
    assert answer(webhook(*[two] * 3), inputs()) == ConditionsAnswer(True)
    assert answer(webhook(*[two] * 4), inputs()) == ConditionsAnswer(False, exhausted)


def test_authorizer_checks_are_asked_once_and_are_not_long() -> None:
    world = PlainWorld()
    world.allows = lambda user, question: question.verb == "approve" and user.name == "alice"
    given = inputs(world, a="x")
    check = "authorizer.group('vec.example.com').resource('widgets').namespace('team-a').check('approve').allowed()"
    steps = match_webhook_conditions(
        webhook(check, check), given, versioned(given.attributes, given.attributes.kind, world)
    )
    assert advance(steps).result == ConditionsAnswer(True)
    assert world.asked == [Check("approve", "vec.example.com", "widgets", namespace="team-a")]


def test_service_accounts_are_asked_about_with_their_groups() -> None:
    world = PlainWorld()
    users: list[UserInfo] = []

    def allow(user: UserInfo, _: Check) -> bool:
        users.append(user)
        return True

    world.allows = allow
    check = "authorizer.serviceAccount('team-a', 'builder').path('/healthz').check('get').allowed()"
    assert answer(webhook(check), inputs(world)) == ConditionsAnswer(True)
    assert users[0].name == "system:serviceaccount:team-a:builder"
    assert world.asked == [Check("get", path="/healthz")]


def test_three_checks_exceed_the_cost_of_one_expression() -> None:
    check = "authorizer.path('/{}').check('get').allowed()"
    three = " || ".join(check.format(number) for number in range(3))
    error = f"expression '{three}' resulted in error: operation cancelled: actual cost limit exceeded"
    assert answer(webhook(three), inputs()) == ConditionsAnswer(False, error)


def test_errors_are_aggregated_without_repetition() -> None:
    assert aggregate(["a"]) == aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"
