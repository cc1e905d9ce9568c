"""Admission waits for answers of webhooks, in steps that any thread may make."""

from moorage.admit.extension.steps import (
    NOT_CALLED,
    NOT_CONVERTED,
    ConversionAnswer,
    ConversionCall,
    Steps,
    WebhookAnswer,
    WebhookCall,
    advance,
    answers_of_converters,
    answers_of_webhooks,
    without_calls,
)

FIRST = WebhookCall("hooks", "a.example.com", None, {}, 5.0, is_mutating=True)
SECOND = WebhookCall("checks", "b.example.com", None, {}, 5.0, is_mutating=False)
CONVERSION = ConversionCall("widgets.example.com", None, "example.com/v2", {})


def two_calls() -> Steps[list[WebhookAnswer]]:
    answers = yield from answers_of_webhooks([FIRST])
    return [*answers, *(yield from answers_of_webhooks([SECOND, SECOND]))]


def conversion() -> Steps[list[ConversionAnswer]]:
    return [*(yield from answers_of_converters([CONVERSION]))]


def no_call() -> Steps[str]:
    yield from ()
    return "done"


def test_a_step_ends_at_calls_or_with_the_result() -> None:
    steps = two_calls()
    step = advance(steps)
    assert (step.calls, step.is_over) == ([FIRST], False)
    step = advance(steps, [WebhookAnswer(review={})])
    assert (step.calls, step.is_over) == ([SECOND, SECOND], False)
    step = advance(steps, [WebhookAnswer(failure="x"), WebhookAnswer(failure="y")])
    assert step.is_over
    assert step.result == [WebhookAnswer(review={}), WebhookAnswer(failure="x"), WebhookAnswer(failure="y")]


def test_admission_without_calls_is_over_in_one_step() -> None:
    assert advance(no_call()).result == "done"


def test_webhooks_that_are_not_called_are_told_to_admission() -> None:
    assert without_calls(two_calls()) == [NOT_CALLED] * 3


def test_conversions_are_calls_as_well() -> None:
    steps = conversion()
    assert advance(steps).calls == [CONVERSION]
    assert advance(steps, [ConversionAnswer({})]).result == [ConversionAnswer({})]
    assert without_calls(conversion()) == [NOT_CONVERTED]
