"""Call webhooks over TLS: post reviews and return what they answer, or why they could not be called.

Nothing of the client whose request is reviewed goes with a call: no token, no cookie, no certificate. Redirects are
not followed and proxies not asked. A call ends at its deadline, whatever the webhook does meanwhile, and holds no more
of an answer than there may be; large documents are encoded and decoded in other threads.

Kubernetes: apiserver/pkg/util/webhook with client-go/rest. Differs: redirects are not followed; answers, connections
and waiting calls are bounded.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from time import perf_counter
from typing import Any, Final

import msgspec

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.admit.extension.webhooks.failures import CallFailed as Unreadable
from moorage.admit.extension.webhooks.reading import CALL, read_review
from moorage.client.http_connections import IDLE_SECONDS, Answer
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import go_quote
from moorage.serve.requests.long_work import LongWork, is_large
from moorage.serve.webhooks.connections import BrokenAnswer, HostPort, Locate, WebhookConnections
from moorage.serve.webhooks.failures import CallFailed, refusal
from moorage.serve.webhooks.targets import BadTarget, WebhookTarget, target_of
from moorage.serve.webhooks.trust import trusting

#: A patch of the largest object there may be, in base64, and what is around it.
MAX_ANSWER_BYTES: Final = 8 * 1024 * 1024
_MOST_TARGETS: Final = 200
_MUCH_YAML: Final = 2048  # which takes as long as many times so much JSON
_FEW_PARTS, _FEW_CHARACTERS = 2_000, 64 * 1024
_HEAD: Final = (
    "POST {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-apiserver-admission\r\nContent-Length: {length}\r\n"
    "Accept: application/json, */*\r\nContent-Type: application/json\r\nAccept-Encoding: identity\r\n\r\n"
)
_encode = msgspec.json.Encoder().encode
_NO_CLIENT: Final = "could not get REST client: "


class NoAnswer(Exception):
    """A webhook gave no document. The text says why, as Kubernetes' client does.

    `code` is that of its answer, or 503. `is_unusable`: nothing could be sent for what the clientConfig says.
    """

    def __init__(self, why: str, code: int = 503, *, is_unusable: bool = False) -> None:
        super().__init__(why)
        self.code, self.is_unusable = code, is_unusable


class WebhookClient:
    """Calls webhooks, and keeps connections to them."""

    def __init__(self, locate: Locate | None = None, long_work: LongWork | None = None) -> None:
        """Call what `locate` finds; without it URLs only."""
        self._locate = locate or _only_urls
        self._long_work = long_work or LongWork()
        self._lookups = LongWork()
        self._targets: OrderedDict[WebhookTarget, WebhookConnections] = OrderedDict()
        self._making: dict[WebhookTarget, asyncio.Task[WebhookConnections]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    async def answer(self, calls: Sequence[WebhookCall]) -> list[WebhookAnswer]:
        """Call webhooks, all at the same time."""
        if len(calls) == 1:
            return [await self._answer(calls[0])]
        return list(await asyncio.gather(*map(self._answer, calls)))

    async def _answer(self, call: WebhookCall) -> WebhookAnswer:
        began = perf_counter()
        query = f"?timeout={go_seconds(call.timeout_seconds)}"
        try:
            answer, review = await self._post(call.client, call.review, query, call.timeout_seconds, MAX_ANSWER_BYTES)
        except NoAnswer as failure:
            text = f"{_NO_CLIENT if failure.is_unusable else CALL}{failure}"
            return WebhookAnswer(failure=text, code=failure.code, seconds=perf_counter() - began)
        return WebhookAnswer(review=review, seconds=perf_counter() - began, size=len(answer.body))

    async def post(self, client: Any, review: Any, query: str, seconds: float, max_answer_bytes: int) -> Any:
        """Post a document to where a clientConfig says, and return the document in the answer. Raises NoAnswer."""
        return (await self._post(client, review, query, seconds, max_answer_bytes))[1]

    async def _post(
        self, client: Any, review: Any, query: str, seconds: float, max_answer_bytes: int
    ) -> tuple[Answer, Any]:
        try:
            target = target_of(client)
            body = await self._encoded(review)
            head = _HEAD.format(target=target.request_target(query), host=target.authority, length=len(body))
            try:
                connections = await self._connections(target)
                answer, connection = await connections.ask(head.encode("ascii") + body, seconds, max_answer_bytes)
            except CallFailed as failure:
                raise NoAnswer(f"Post {go_quote(target.url(query))}: {failure}") from None
            finally:
                self._sweep_later()
            try:
                return answer, await self._document(answer)
            finally:
                connections.release(connection)
        except BadTarget as error:
            raise NoAnswer(str(error), 500, is_unusable=True) from None
        except (BrokenAnswer, UnicodeEncodeError, ApiError) as error:
            raise NoAnswer(str(error)) from None

    async def _encoded(self, review: Any) -> bytes:
        return _encode(review) if is_small(review) else await self._long_work.run(_encode, review)

    async def _connections(self, target: WebhookTarget) -> WebhookConnections:
        """Return the connections to a target. Raises BadTarget."""
        connections = self._targets.get(target)
        if connections is None:
            # The first of all that ask at the same time reads the authorities, in a thread.
            making = self._making.get(target)
            if making is None:
                making = self._making[target] = asyncio.get_running_loop().create_task(self._made(target))
            connections = await asyncio.shield(making)
        self._targets.move_to_end(target)
        return connections

    async def _made(self, target: WebhookTarget) -> WebhookConnections:
        try:
            context = await self._long_work.run(trusting, target.authorities)
        finally:
            del self._making[target]
        connections = self._targets[target] = WebhookConnections(target, context, self._locate, self._lookups)
        if len(self._targets) > _MOST_TARGETS:
            self._targets.popitem(last=False)[1].retire()
        return connections

    async def _document(self, answer: Answer) -> Any:
        """Return the document of an answer. Raises NoAnswer."""
        body = answer.body
        is_success = 200 <= answer.status <= 206
        if is_success and not body:
            content_type = answer.header(b"content-type") or "application/json"
            raise NoAnswer(f"0-length response with status code: {answer.status} and content type: {content_type}")
        if is_large(body) or (len(body) > _MUCH_YAML and body[:1] != b"{"):
            document, problem = await self._long_work.run(_read, body)
        else:
            document, problem = _read(body)
        if not is_success:
            raise _failure_in(document, answer.status) or NoAnswer(refusal(answer, body), answer.status)
        if problem:
            raise NoAnswer(problem)
        if failure := _failure_in(document, 500):
            raise failure
        return document

    def _sweep_later(self) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close_idle)

    def _close_idle(self) -> None:
        self._sweep = None
        for connections in self._targets.values():
            connections.close_idle()
        if any(connections.idle for connections in self._targets.values()):
            self._sweep_later()

    def close(self) -> None:
        """Close all connections. Calls that are being made fail."""
        if self._sweep is not None:
            self._sweep.cancel()
        for connections in self._targets.values():
            connections.close()
        self._targets.clear()


async def _only_urls(target: WebhookTarget) -> HostPort:
    if target.service is None:
        return HostPort(target.host, target.port)
    raise CallFailed(f"service {go_quote(target.service[1])} not found")


def go_seconds(seconds: float) -> str:
    """Return a number of seconds as a webhook is told it: whole ones, in Go's notation."""
    whole = max(1, -int(-seconds // 1))
    minutes, left = divmod(whole, 60)
    return f"{minutes}m{left}s" if minutes else f"{left}s"


def is_small(document: Any) -> bool:
    """Return whether it takes no time to encode a document. It does not look further than it must to know."""
    characters, parts, open_parts = 0, 0, [document]
    while open_parts:
        part = open_parts.pop()
        if isinstance(part, dict):
            open_parts += part.values()
        elif isinstance(part, list):
            open_parts += part
        elif isinstance(part, str):
            characters += len(part)
        parts += 1
        if characters > _FEW_CHARACTERS or parts + len(open_parts) > _FEW_PARTS:
            return False
    return True


def _read(body: bytes) -> tuple[Any, str]:
    """Return the document, and what is wrong with it."""
    try:
        return read_review(body), ""
    except Unreadable as unreadable:
        return None, unreadable.reason.removeprefix(CALL)


def _failure_in(document: Any, code: int) -> NoAnswer | None:
    """Return the failure that a Status describes; None if the document is none, or a success."""
    if not isinstance(document, dict) or document.get("kind") != "Status" or document.get("status") == "Success":
        return None
    given = document.get("code")
    return NoAnswer(str(document.get("message") or "unknown"), given if type(given) is int else code)
