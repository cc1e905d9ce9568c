"""Let admission wait for answers of webhooks, also for their conversions, without knowing how they are called.

Admission is a generator: it yields the calls that it needs answers to, all that may be made at the same time, and is
sent the answers in their order. The API server makes the calls and answers other clients meanwhile. Where no call is
needed the generator ends in its first step, and costs a function call.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar, cast

from moorage.admit.raw import Raw

Result = TypeVar("Result")


class WebhookCall(NamedTuple):
    """A review to be sent. `client` is the view of its clientConfig (url, service, caBundle).

    `timeout_seconds` is that of the webhook. The caller waits no longer than that, nor than the request has left, and
    tells the webhook which it is: `?timeout=5s`.
    """

    configuration: str
    webhook: str
    client: Any
    review: Raw
    timeout_seconds: float
    is_mutating: bool


class WebhookAnswer(NamedTuple):
    """The document that a webhook answered with (see `webhooks.reading`), or why it could not be called.

    `failure` is what messages have behind `failed calling webhook "x": `. It begins with `failed to call webhook: ` if
    something went wrong with the call or its answer (`failed to call webhook: Post "https://…": EOF`), or with
    `could not get REST client: ` if nothing could be sent for what the clientConfig says. `code` is only counted: that
    of the Status or HTTP answer of the webhook, or 500 without a client, or 503. `size` is that of the body in bytes:
    large answers are read in another thread. `is_out_of_time`: the time of the whole request is over, not only that of
    the webhook. `is_abandoned`: the client of the request has gone. `not_called`: webhooks are not called here at all
    (see `without_calls`), so this one has no say.
    """

    review: Any = None
    failure: str = ""
    code: int = 503
    seconds: float = 0.0
    size: int = 0
    is_out_of_time: bool = False
    is_abandoned: bool = False
    not_called: bool = False


class ConversionCall(NamedTuple):
    """A custom object that the webhook of its definition is to convert.

    `target` is what the world knows of the version that is wanted; `api_version` is its name.
    """

    definition: str
    target: Any
    api_version: str
    document: Raw


class ConversionAnswer(NamedTuple):
    """The converted object, or why the conversion failed, in the words of the converter.

    `is_large`: what is done with the object may take long. `not_called`: webhooks are not called here at all (see
    `without_calls`).
    """

    document: Raw | None = None
    failure: str = ""
    is_large: bool = False
    not_called: bool = False


Call = WebhookCall | ConversionCall
Answer = WebhookAnswer | ConversionAnswer

NOT_CALLED = WebhookAnswer(not_called=True)
NOT_CONVERTED = ConversionAnswer(not_called=True)


#: The calls of one step are all of one kind, and so are the answers to them.
Steps = Generator[Sequence[Call], Sequence[Answer], Result]


def answers_of_webhooks(calls: Sequence[WebhookCall]) -> Steps[Sequence[WebhookAnswer]]:
    """Wait for the answers to calls."""
    answers = yield calls
    return cast("Sequence[WebhookAnswer]", answers)


def answers_of_converters(calls: Sequence[ConversionCall]) -> Steps[Sequence[ConversionAnswer]]:
    """Wait for the conversions of objects."""
    answers = yield calls
    return cast("Sequence[ConversionAnswer]", answers)


class AdmissionStep(NamedTuple, Generic[Result]):
    """What admission came to: calls that it needs answers to, or its result."""

    calls: Sequence[Call]
    result: Result | None
    is_over: bool


def advance(steps: Steps[Result], answers: Sequence[Answer] | None = None) -> AdmissionStep[Result]:
    """Go on with admission until it needs answers, or is over: in any thread. Raises what admission raises."""
    try:
        calls = next(steps) if answers is None else steps.send(answers)
    except StopIteration as end:
        return AdmissionStep((), end.value, is_over=True)
    return AdmissionStep(calls, None, is_over=False)


def answered_by(steps: Steps[Result], answer: Callable[[Sequence[Call]], Sequence[Answer]]) -> Result:
    """Run admission to its end with a function that answers calls. Raises what admission raises."""
    answers: Sequence[Answer] | None = None
    try:
        while True:
            calls = next(steps) if answers is None else steps.send(answers)
            answers = answer(calls)
    except StopIteration as end:
        result: Result = end.value
        return result


def without_calls(steps: Steps[Result]) -> Result:
    """Run admission to its end where webhooks are not called: they have no say, and its remarks note each of them."""
    return answered_by(steps, not_answered)


def not_answered(calls: Sequence[Call]) -> Sequence[Answer]:
    """Return the answers where webhooks are not called."""
    return [NOT_CONVERTED if isinstance(call, ConversionCall) else NOT_CALLED for call in calls]
