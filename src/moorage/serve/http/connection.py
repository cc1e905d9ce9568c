"""Answer the requests of one connection, in their order.

Requests that arrive early (pipelined) wait here; a client that was refused is closed, one that does not read is cut
off. A stream, such as a watch, is asked for its next chunk only when the client has read most of what went before.
Nothing in here starts a timer: `server` sweeps over all connections and calls `check`. Kubernetes: net/http's conn, the
MaxInFlight and timeout filters, the watch handler's flush loop.
"""

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator
from time import perf_counter
from typing import TYPE_CHECKING, cast

from moorage.model.api_error import ApiError, failure, internal, shutting_down, timeout, too_many_requests
from moorage.serve.http.messages import (
    CONTINUE,
    LAST_CHUNK,
    WITHOUT_BODY,
    Peer,
    Request,
    Response,
    Stream,
    compress,
    compress_stream,
    render_chunk,
    render_head,
    render_refusal,
    wants_compression,
)
from moorage.serve.http.receiving import NEVER, Receiver
from moorage.serve.http.shown_target import shown_target
from moorage.telemetry.watchdog import Locals, Operation, operation

if TYPE_CHECKING:
    from moorage.serve.http.server import Server

_JOIN_BELOW = 64 * 1024  # bytes: a body that is not worth a write of its own
_THREAD_ABOVE = 1024 * 1024  # bytes: a body whose compression would hold up the event loop
_LARGE_BODY, _PIECE = 1024 * 1024, 256 * 1024  # bytes: a body that is not written at once, but so much in one go
_ENOUGH_PROGRESS = 64 * 1024  # bytes: to read less than this in the time for unread answers is not reading


def _request(local: Locals) -> Operation:
    request: Request = local["request"]
    agent = request.headers.get("user-agent", "")
    return Operation("request", {"method": request.method, "path": shown_target(request.target), "userAgent": agent})


class Connection(asyncio.Protocol):
    """Answers one client, with at most one task at a time."""

    def __init__(self, server: "Server") -> None:
        self.server = server
        self._lost = False
        self.stopping = False  # no stream is worth beginning
        self.is_blocked = False
        self.task: asyncio.Task[None] | None = None
        self._limits = server.limits
        self._loop = server.loop
        self._waiting: deque[Request | ApiError] = deque()
        self._streaming = False
        self._closing = False  # after the answers to what has been received
        self._reading = True
        self._owes_continue = False
        self._answer_by = NEVER
        self._close_by = NEVER
        self._timed_out = False
        self._unblocked: asyncio.Future[None] | None = None
        self._blocked_at = 0.0
        self._blocked_bytes = 0

    # ── the transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._receiver = Receiver(self._limits, self.server.gate, self._loop, _peer_of(self.transport), self)
        self.transport.set_write_buffer_limits(high=self._limits.unread_bytes)
        excess = self.server.welcome(self) - self._limits.connections
        if self.server.is_stopping:  # it was accepted before, and its handshake took longer
            self._receiver.stop()
            self.refuse(shutting_down())
        elif excess > self._limits.connections // 10:
            self.transport.abort()  # too many even to tell them why
        elif excess > 0:
            self._receiver.stop()
            self.refuse(failure(503, "ServiceUnavailable", "too many connections, please try again later"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._receiver.release()
        self._waiting.clear()
        self.resume_writing()
        if self.task is not None:
            if self._streaming:
                self.task.cancel()
            else:
                self.server.client_gone(self.task)
        self.server.forget(self)

    def eof_received(self) -> bool:
        """Keep the connection for answers that are under way; close it if there is none but a stream."""
        if self.task is None or self._streaming:
            return False
        self.stopping = self._closing = True
        self._receiver.stop()
        return self.transport.get_extra_info("ssl_object") is None

    def pause_writing(self) -> None:
        self.is_blocked = True
        self._blocked_at = self._loop.time()
        self._blocked_bytes = self.transport.get_write_buffer_size()

    def resume_writing(self) -> None:
        self.is_blocked = False
        unblocked, self._unblocked = self._unblocked, None
        if unblocked is not None and not unblocked.done():
            unblocked.set_result(None)

    @operation("receiving a request")
    def data_received(self, data: bytes) -> None:
        receiver = self._receiver
        if not receiver.deaf and not receiver.feed(data):
            self._closing = True

    # ── the receiving half's calls

    def received(self, request: Request) -> None:
        self._owes_continue = False
        self._wait_for_answer(request)

    def refuse(self, error: ApiError, request: Request | None = None) -> None:
        """Send this after the answers that are under way, and nothing more. `request` is what was read of it."""
        self._wait_for_answer(error)
        request_log = self.server.request_log
        if request is not None and request_log is not None and request_log.enabled():
            request_log.answered(request, render_refusal(error), 0.0)

    def expected(self) -> None:
        if self.task is None:
            self.transport.write(CONTINUE)
        else:
            self._owes_continue = True  # after the answers that come first

    # ── answering

    def _wait_for_answer(self, request: Request | ApiError) -> None:
        self._waiting.append(request)
        if self.task is None:
            self.task = self._loop.create_task(self._answer_waiting())
            self.server.tasks.add(self.task)
        elif len(self._waiting) >= self._limits.pipelined and self._reading:
            self._reading = False
            self.transport.pause_reading()

    async def _answer_waiting(self) -> None:
        task = self.task
        waiting = self._waiting
        try:
            while waiting:
                request = waiting.popleft()
                if isinstance(request, ApiError):
                    self._send(_UNREADABLE, render_refusal(request), False)
                    self._linger()
                    return
                await self._answer(request)
                if not self._stays_open(request):
                    self.transport.close()
                    return
                if self.is_blocked:
                    await self.writable()
            self._listen()
        finally:
            self.task = None
            if task is not None:
                self.server.tasks.discard(task)

    @operation(_request)
    async def _answer(self, request: Request) -> None:
        server = self.server
        request_log = server.request_log
        started = perf_counter() if request_log is not None and request_log.enabled() else None
        if server.requests >= self._limits.requests and not server.is_long_running(request):
            server.turned_away += 1
            refusal = render_refusal(too_many_requests("too many requests, please try again later"))
            self._send(request, refusal, self._stays_open(request))
            self._log(request, refusal, started)
            return
        server.requests += 1
        self._timed_out = False
        self._answer_by = self._loop.time() + self._limits.answer_seconds
        try:
            answer = await server.handler(request)
            if isinstance(answer, Stream):
                answer = compress_stream(answer) if wants_compression(request, answer) else answer
            elif wants_compression(request, answer):
                large = len(answer.body) > _THREAD_ABOVE
                answer = await self._loop.run_in_executor(None, compress, answer) if large else compress(answer)
        except ApiError as error:
            answer = render_refusal(error)
        except asyncio.CancelledError:
            if not self._timed_out or self.task is None:
                raise
            self.task.uncancel()
            answer = render_refusal(timeout("Timeout: request did not complete within the allotted timeout"))
        except Exception:
            server.log.exception("Request failed", method=request.method, path=request.path)
            answer = render_refusal(internal("the request could not be completed; the server's log says why"))
        finally:
            server.requests -= 1
            self._answer_by = NEVER
        if started is not None and request_log is not None:
            answer = request_log.identify(request, answer)
        if isinstance(answer, Stream):
            await self._send_stream(request, answer)
        elif len(answer.body) > _LARGE_BODY and request.method != "HEAD" and answer.status not in WITHOUT_BODY:
            await self._send_in_pieces(request, answer)
        else:
            self._send(request, answer, self._stays_open(request))
        self._log(request, answer, started)

    async def _send_in_pieces(self, request: Request, answer: Response) -> None:
        """Send a large body: to encrypt it all at once would hold up others, and a slow client takes no more memory."""
        if not self._lost:
            self.transport.write(render_head(request.version, answer, len(answer.body), self._stays_open(request)))
        body = memoryview(answer.body)
        for start in range(0, len(body), _PIECE):
            if self._lost:
                return
            self.transport.write(body[start : start + _PIECE])
            await (self.writable() if self.is_blocked else asyncio.sleep(0))

    async def _send_stream(self, request: Request, answer: Stream) -> None:
        """Send a watch, or an answer in chunks, which counts as a request until it is sent."""
        server, is_whole = self.server, answer.is_whole
        if is_whole:
            server.requests += 1
        else:
            server.streams += 1
            self._streaming = True
        try:
            await send_stream(self, request, answer)
        finally:
            if is_whole:
                server.requests -= 1
            else:
                self._streaming = False
                server.streams -= 1

    def _log(self, request: Request, answer: Response | Stream, started: float | None) -> None:
        request_log = self.server.request_log
        if started is not None and request_log is not None:
            request_log.answered(request, answer, perf_counter() - started)

    def _stays_open(self, request: Request) -> bool:
        return request.keep_alive and not (self._closing and not self._waiting)

    def _send(self, request: Request, answer: Response, keep_alive: bool) -> None:
        if self._lost:
            return
        body = b"" if request.method == "HEAD" or answer.status in WITHOUT_BODY else answer.body
        length = None if answer.status in WITHOUT_BODY else len(answer.body)
        head = render_head(request.version, answer, length, keep_alive)
        if len(body) < _JOIN_BELOW:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            self.transport.write(body)

    def _listen(self) -> None:
        if self._lost:
            return
        if self._owes_continue:
            self._owes_continue = False
            self.transport.write(CONTINUE)
        receiver = self._receiver
        if not receiver.in_message:
            receiver.due = self._loop.time() + self._limits.idle_seconds
        if not self._reading:
            self._reading = True
            self.transport.resume_reading()

    def is_lost(self) -> bool:
        return self._lost

    async def writable(self) -> None:
        """Wait until the client has read most of what it was sent, or has gone."""
        while self.is_blocked and not self._lost:
            self._unblocked = self._loop.create_future()
            await self._unblocked

    # ── closing

    def _linger(self) -> None:
        """Read on for a moment: closing while a client sends resets the connection before it reads the refusal."""
        self._close_by = self._loop.time() + self._limits.linger_seconds
        if not self._reading and not self._lost:
            self._reading = True
            self.transport.resume_reading()

    def finish(self, *, ends_stream: bool = True) -> None:
        """Close after the answer that is under way, and end a stream now, unless its source ends by itself.

        A request that has begun to come is received to its end and answered.
        """
        self.stopping = self._closing = True
        if self._receiver.in_message and not self._streaming:
            return
        self._receiver.stop()
        if self.task is None:
            self.transport.close()
        elif self._streaming and ends_stream:
            self.task.cancel()

    def check(self, now: float) -> None:
        if self.is_blocked and now > self._blocked_at + self._limits.unread_seconds:
            unread = self.transport.get_write_buffer_size()
            if self._blocked_bytes - unread < _ENOUGH_PROGRESS:
                self.server.cut_off += 1
                self.transport.abort()
                return
            self._blocked_at, self._blocked_bytes = now, unread
        if now > self._close_by:
            self._close_by = NEVER
            self.transport.close()
        elif now > self._answer_by and self.task is not None:
            self._answer_by = NEVER
            self._timed_out = True
            self.task.cancel()
        elif now > self._receiver.due and self._reading:
            was_in_message = self._receiver.in_message
            self._receiver.stop()
            if was_in_message:
                self.refuse(failure(408, "Timeout", "the request was not received in time"))
            else:
                self.transport.close()


def _peer_of(transport: asyncio.Transport) -> Peer:
    address = transport.get_extra_info("peername")
    certificate = transport.get_extra_info("peercert") or {}
    subject = tuple(pair for names in certificate.get("subject", ()) for pair in names)
    encrypted = transport.get_extra_info("ssl_object") if subject else None
    encoded = encrypted.getpeercert(binary_form=True) if encrypted is not None else None
    fingerprint = hashlib.sha256(encoded).hexdigest() if encoded else ""
    return Peer(f"{address[0]}:{address[1]}" if address else "", subject, fingerprint)


_UNREADABLE = Request("", "/", keep_alive=False)


async def send_stream(connection: Connection, request: Request, stream: Stream) -> None:
    """Send until the source ends, the client goes or the server stops."""
    transport, chunks = connection.transport, stream.chunks
    chunked = request.version != "1.0"
    if not chunked or connection.stopping:
        request.keep_alive = False
    ends_at_once = connection.stopping and not stream.is_whole
    is_head = request.method == "HEAD"
    if not connection.is_lost():
        transport.write(render_head(request.version, stream, None, request.keep_alive))
    if connection.is_lost() or ends_at_once or is_head:
        await _start_and_close(chunks)
        if chunked and not is_head and not connection.is_lost():
            transport.write(LAST_CHUNK)
        return
    try:
        async for data in chunks:
            if transport.is_closing():  # the client went while the next chunk was waited for
                return
            if data:
                transport.write(render_chunk(data) if chunked else data)
                if connection.is_blocked:
                    await connection.writable()
            if connection.is_lost():
                return
    except asyncio.CancelledError:
        request.keep_alive = False
        if connection.task is not None:
            connection.task.uncancel()
        if stream.is_whole:
            transport.abort()  # it would look complete
            return
        if connection.is_lost():
            return
    except Exception:
        connection.server.log.exception("Stream failed", method=request.method, path=request.path)
        transport.abort()  # without its last chunk the client knows that the stream is incomplete
        return
    finally:
        await _close(chunks)
    if chunked and not transport.is_closing():  # which `is_lost` is told of a moment later
        transport.write(LAST_CHUNK)


async def _start_and_close(chunks: AsyncIterator[bytes]) -> None:
    """Start a generator before closing it: one that never ran would not clean up."""

    async def first() -> None:
        await anext(chunks, b"")

    started = asyncio.ensure_future(first())
    await asyncio.sleep(0)
    started.cancel()
    await asyncio.gather(started, return_exceptions=True)
    await _close(chunks)


async def _close(chunks: AsyncIterator[bytes]) -> None:
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
