"""One connection: bytes → requests → the handler → answers in the order of the requests.

In: what the transport receives, fed to llhttp. Out: `Request`s for the server's handler, its answers on the wire.
Requests that arrive early (pipelined) wait here; a client that sends too much, too slowly or nonsense is refused with a
Status and closed. Nothing in here starts a timer: `server` sweeps over all connections and calls `check`.
Kubernetes: net/http's conn, MaxInFlight and timeout filters. Next: `streaming`, for answers that go on.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, cast

import httptools

from moorage.model.api_error import ApiError, bad_request, failure, internal, request_too_large, timeout
from moorage.model.api_error import too_many_requests as too_many
from moorage.serve.http.messages import Peer, Request, Response, Stream
from moorage.serve.http.rendering import CONTINUE, compress, render_head, render_refusal, wants_compression
from moorage.serve.http.streaming import send_stream

if TYPE_CHECKING:
    from moorage.serve.http.server import Server

_NEVER = float("inf")
_JOIN_BELOW = 64 * 1024  # bytes: a body that is not worth a write of its own
_THREAD_ABOVE = 1024 * 1024  # bytes: a body whose compression would hold up the event loop
_ENOUGH_PROGRESS = 64 * 1024  # bytes: less than this read within the time for unread answers is not reading


class Connection(asyncio.Protocol):
    """Two halves that know little of each other: one receives requests into `_waiting`, the other answers them."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.limits = server.limits
        self.loop = server.loop
        self.transport: asyncio.Transport = None  # type: ignore[assignment]  # until connection_made
        self.lost = False
        self.streaming = False
        self.task: asyncio.Task[None] | None = None
        self._parser: Any = None
        self._peer = Peer("")
        self._waiting: deque[Request | ApiError] = deque()
        # receiving
        self._url = b""
        self._headers: dict[str, str] = {}
        self._head_bytes = 0
        self._header_count = 0
        self._in_head = False
        self._body: list[bytes] = []
        self._body_bytes = 0
        self._deaf = False  # whatever else the client sends is not looked at
        self._reading = True
        self._owes_continue = False
        self._receive_by = _NEVER
        # answering
        self._closing = False  # after the answers to what has been received
        self._answer_by = _NEVER
        self._timed_out = False
        self._blocked: asyncio.Future[None] | None = None
        self._blocked_at = 0.0
        self._blocked_bytes = 0

    # ── the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._receive_by = self.loop.time() + self.limits.head_seconds
        self._parser = httptools.HttpRequestParser(self)
        self._peer = _peer_of(self.transport)
        self.transport.set_write_buffer_limits(high=self.limits.unread_bytes)
        if not self.server.admit(self):
            self._refuse(failure(503, "ServiceUnavailable", "too many connections, please try again later"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._deaf = True
        self._parser = None
        self._waiting.clear()
        self._unblock()
        if self.streaming and self.task is not None:
            self.task.cancel()
        self.server.forget(self)

    def eof_received(self) -> bool:
        """A client that has said all it wants to say may still wait for the answer; one that only listens has gone."""
        if self.task is None or self.streaming:
            return False
        self._closing = True
        self._deaf = True
        return self.transport.get_extra_info("ssl_object") is None

    def pause_writing(self) -> None:
        if self._blocked is None:
            self._blocked = self.loop.create_future()
            self._blocked_at = self.loop.time()
            self._blocked_bytes = self.transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        self._unblock()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > self.limits.head_bytes + len(data):
                self._refuse(_head_too_large())
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._deaf = (
                True  # no protocol but HTTP is spoken here: the request is answered, then the connection closes
            )
            self._closing = True
        except httptools.HttpParserError as error:
            if not self._deaf:
                self._refuse(bad_request(f"malformed HTTP request: {error}"))

    # ── llhttp's calls

    def on_message_begin(self) -> None:
        self._url = b""
        self._headers = {}
        self._head_bytes = 0
        self._header_count = 0
        self._in_head = True
        self._receive_by = self.loop.time() + self.limits.head_seconds

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url
        if len(self._url) > self.limits.request_line_bytes and not self._deaf:
            self._refuse(failure(414, "RequestURITooLong", f"limit is {self.limits.request_line_bytes} bytes"))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        self._head_bytes += len(name) + len(value) + 4
        if self._deaf:
            return
        if self._header_count > self.limits.header_count or self._head_bytes > 2 * self.limits.head_bytes:
            self._refuse(_head_too_large())
            return
        if not self._in_head:
            return  # a trailer
        key = _KNOWN_NAMES.get(name) or name.decode("latin-1").lower()
        text = value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._deaf:
            return
        headers = self._headers
        if "host" not in headers and self._parser.get_http_version() != "1.0":
            self._refuse(bad_request("missing required Host header"))
            return
        length = headers.get("content-length")
        if length is not None and int(length) > self.limits.body_bytes:
            self._refuse(_body_too_large(self.limits.body_bytes))
            return
        if length is not None or "transfer-encoding" in headers:
            self._receive_by = self.loop.time() + self.limits.body_seconds
        if "expect" in headers:
            if headers["expect"].lower() != "100-continue":
                self._refuse(failure(417, "ExpectationFailed", "the only expectation that is met is 100-continue"))
            elif self.task is None:
                self.transport.write(CONTINUE)
            else:
                self._owes_continue = True

    def on_body(self, data: bytes) -> None:
        if self._deaf:
            return
        self._body_bytes += len(data)
        if self._body_bytes > self.limits.body_bytes:
            self._refuse(_body_too_large(self.limits.body_bytes))
        else:
            self._body.append(data)

    def on_message_complete(self) -> None:
        if self._deaf:
            return
        parser = self._parser
        body = self._body
        request = Request(
            parser.get_method().decode("latin-1"),
            self._url.decode("latin-1"),
            self._headers,
            (body[0] if len(body) == 1 else b"".join(body)) if body else b"",
            self._peer,
            parser.get_http_version(),
            parser.should_keep_alive(),
        )
        if body:
            self._body = []
            self._body_bytes = 0
        self._owes_continue = False
        self._receive_by = _NEVER
        if not request.keep_alive:
            self._deaf = True
        self._wait_for_answer(request)

    # ── answering

    def _wait_for_answer(self, request: Request | ApiError) -> None:
        self._waiting.append(request)
        if self.task is None:
            self.task = self.loop.create_task(self._answer_waiting())
            self.server.tasks.add(self.task)
        elif len(self._waiting) >= self.limits.pipelined and self._reading and not self._deaf:
            self._reading = False
            self.transport.pause_reading()

    async def _answer_waiting(self) -> None:
        task = self.task
        try:
            while self._waiting:
                request = self._waiting.popleft()
                if isinstance(request, ApiError):
                    self._send(_UNREADABLE, render_refusal(request), False)
                    self._linger()
                    return
                await self._answer(request)
                if self._closing or not request.keep_alive:
                    self.transport.close()
                    return
                if self._blocked is not None:
                    await self.writable()
            self._listen()
        finally:
            self.task = None
            if task is not None:
                self.server.tasks.discard(task)

    async def _answer(self, request: Request) -> None:
        server = self.server
        if server.requests >= self.limits.requests and not server.is_long_running(request):
            server.turned_away += 1
            self._send(request, render_refusal(too_many(_TOO_MANY)), request.keep_alive)
            return
        server.requests += 1
        self._answer_by = self.loop.time() + self.limits.answer_seconds
        try:
            answer = await server.handler(request)
            if isinstance(answer, Response) and wants_compression(request, answer):
                large = len(answer.body) > _THREAD_ABOVE
                answer = await self.loop.run_in_executor(None, compress, answer) if large else compress(answer)
        except ApiError as error:
            answer = render_refusal(error)
        except asyncio.CancelledError:
            if not self._timed_out:
                raise
            self._timed_out = False
            answer = render_refusal(timeout("Timeout: request did not complete within the allotted timeout"))
        except Exception:
            server.log.exception("Request failed", method=request.method, path=request.path)
            answer = render_refusal(internal("the request could not be completed; the server's log says why"))
        finally:
            server.requests -= 1
            self._answer_by = _NEVER
        if isinstance(answer, Stream):
            server.streams += 1
            self.streaming = True
            try:
                await send_stream(self, request, answer)
            finally:
                self.streaming = False
                server.streams -= 1
        else:
            self._send(request, answer, request.keep_alive and not self._closing)

    def _send(self, request: Request, answer: Response, keep_alive: bool) -> None:
        if self.lost:
            return
        body = answer.body
        has_body = answer.status not in _WITHOUT_BODY
        head = render_head(request, answer, len(body) if has_body else None, keep_alive)
        if request.method == "HEAD" or not has_body:
            self.transport.write(head)
        elif len(body) < _JOIN_BELOW:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)

    def _listen(self) -> None:
        """All is answered: wait for the next request, or for the rest of one."""
        if self.lost:
            return
        if self._owes_continue:
            self._owes_continue = False
            self.transport.write(CONTINUE)
        if self._receive_by == _NEVER:
            self._receive_by = self.loop.time() + self.limits.idle_seconds
        if not self._reading:
            self._reading = True
            self.transport.resume_reading()

    @property
    def is_blocked(self) -> bool:
        return self._blocked is not None

    async def writable(self) -> None:
        """Wait until the client has read most of what it was sent."""
        while self._blocked is not None and not self.lost:
            await asyncio.shield(self._blocked)

    # ── refusing and closing

    def _refuse(self, error: ApiError) -> None:
        """The client gets this after the answers it waits for, and nothing after this."""
        self._deaf = True
        self._receive_by = _NEVER
        self._body = []
        self._wait_for_answer(error)

    def _linger(self) -> None:
        """To close at once while a client sends would reset the connection, and the client might not read why."""
        self._closing = True
        self._receive_by = self.loop.time() + self.limits.linger_seconds

    def _unblock(self) -> None:
        blocked, self._blocked = self._blocked, None
        if blocked is not None and not blocked.done():
            blocked.set_result(None)

    def finish(self) -> None:
        """The server stops: end the stream properly, answer what is waiting, then close."""
        self._closing = True
        self._deaf = True
        if self.task is None:
            self.transport.close()
        elif self.streaming:
            self.task.cancel()

    def check(self, now: float) -> None:
        """Close or abort if anything has taken longer than it may."""
        if self._blocked is not None and now > self._blocked_at + self.limits.unread_seconds:
            unread = self.transport.get_write_buffer_size()
            if self.streaming or self._blocked_bytes - unread < _ENOUGH_PROGRESS:
                self.server.cut_off += 1
                self.transport.abort()
                return
            self._blocked_at, self._blocked_bytes = now, unread
        if now > self._answer_by and self.task is not None:
            self._timed_out = True
            self._answer_by = _NEVER
            self.task.cancel()
        elif now > self._receive_by and self._reading:
            self._receive_by = _NEVER
            if self._closing or self.task is not None:
                self.transport.close() if self.task is None else self.transport.abort()
            elif self._in_head or self._headers:
                self._refuse(failure(408, "Timeout", "the request was not received in time"))
            else:
                self.transport.close()


def _peer_of(transport: asyncio.Transport) -> Peer:
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert") or {}
    subject = tuple(pair for names in certificate.get("subject", ()) for pair in names)
    return Peer(f"{address[0]}:{address[1]}" if address else "", subject)


def _head_too_large() -> ApiError:
    return failure(431, "RequestHeaderFieldsTooLarge", "the request's header fields are too large")


def _body_too_large(limit: int) -> ApiError:
    return request_too_large(f"Request entity too large: limit is {limit}")


_TOO_MANY = "too many requests, please try again later"
_UNREADABLE = Request("", "/", keep_alive=False)
_WITHOUT_BODY = frozenset({204, 304})
_KNOWN_NAMES = {
    spelling.encode(): name
    for name in (
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    )
    for spelling in (name, name.title())
}
