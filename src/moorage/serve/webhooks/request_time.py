"""Limit the time that webhooks take for one request, all of them together.

Kubernetes: requestTimeoutUpperBound of the handlers of writes. Differs: the time begins when admission does, and
ends no other work.
"""

from contextvars import ContextVar, Token
from math import inf
from time import monotonic
from typing import Final

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall

REQUEST_SECONDS: Final = 34.0
_ENDS: ContextVar[float] = ContextVar("_ENDS", default=inf)
OUT_OF_TIME: Final = WebhookAnswer(failure="failed to call webhook: context deadline exceeded", is_out_of_time=True)


def begin_request() -> Token[float]:
    """Let the time of a request begin, which the current task answers. See `end_request`."""
    return _ENDS.set(monotonic() + REQUEST_SECONDS)


def end_request(begun: Token[float]) -> None:
    _ENDS.reset(begun)


def seconds_left() -> float:
    return _ENDS.get() - monotonic()


def cut_short(call: WebhookCall, left: float) -> WebhookCall:
    return call if call.timeout_seconds <= left else call._replace(timeout_seconds=left)


def answered(call: WebhookCall, answer: WebhookAnswer, left: float) -> WebhookAnswer:
    """Return the answer to a call; one that failed may have done so because the time of the request was over."""
    is_over = bool(answer.failure) and left < call.timeout_seconds and answer.seconds >= left
    return answer._replace(is_out_of_time=True) if is_over else answer
