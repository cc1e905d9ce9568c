"""Keep a pool of HTTP connections to one API server. Kubernetes: Go's http.Transport.

A connection sends a request as bytes and returns an `Answer`, or a `Stream` for a watch. At most `most` of a pool are
open, further requests wait in line; watches have connections of their own that do not count.
"""

import asyncio
import os
import socket
import ssl
from collections import deque
from contextlib import suppress
from typing import Any, cast
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpResponseParser

from moorage.client.protocol import NotSent, Unreachable

MAX_ANSWER_BYTES = 256 * 1024 * 1024  # a page of 500 large objects
MAX_HEADERS = 256
DIAL_SECONDS = 10.0
IDLE_SECONDS = 45.0  # less than the idle timeout of servers, so that no write meets a closing connection
CLOSED = "the connection was closed"
_KEEP_ALIVE_SECONDS = 30
_PAUSE_ABOVE = 4 * 1024 * 1024  # unread bytes of a stream
_IN_A_TURN = 256 * 1024  # bytes of an answer that are read before others have their turn


class BrokenConnection(Unreachable):
    """The connection ended before the answer. `answered`: part of the answer had arrived."""

    def __init__(self, server: str, why: str, answered: bool) -> None:
        super().__init__(f"{server}: {why}")
        self.why, self.answered = why, answered


class Answer:
    """Status, headers and body; or a `stream` for the rest of the body."""

    __slots__ = ("body", "headers", "status", "stream")

    def __init__(
        self, status: int, headers: list[tuple[bytes, bytes]], body: bytes, stream: "Stream | None" = None
    ) -> None:
        self.status, self.headers, self.body, self.stream = status, headers, body, stream

    def header(self, name: bytes) -> str:
        """Return a header's value, by its lower-case name."""
        return next((value.decode("latin-1") for key, value in self.headers if key.lower() == name), "")


class Stream:
    """A body that arrives in pieces. The server is slowed down while nothing is read."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._paused = False
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """Wait for and return what has arrived; empty at the end. Raises BrokenConnection."""
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        piece = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        return piece

    def feed(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > _PAUSE_ABOVE and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        self._wake()

    def end(self, error: Exception | None) -> None:
        self._ended, self._error = True, self._error or error
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None


class Connection(asyncio.Protocol):
    """The connection, an asyncio protocol."""

    def __init__(self, server: str, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._parser: Any = HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self.max_answer_bytes = max_answer_bytes
        self._waiter: asyncio.Future[Answer] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._streaming = False  # whether the request wants a stream
        self._stream: Stream | None = None
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._size = 0  # of all that has come since the last request, but not of a stream
        self._in_turn = 0  # of an answer, read in this turn of the event loop
        self._answered = False
        self._settled = self._loop.time()  # when the last answer was complete, or when it began to wait for a request
        self.usable = True
        self.requests = 0

    def send(self, request: bytes, timeout: float, *, stream: bool = False) -> "asyncio.Future[Answer]":
        """Send a request; return a future for its answer. With `stream`, `seconds` limit its start only."""
        assert self._transport is not None
        self._waiter = waiter = self._loop.create_future()
        self._answered, self._size, self._status = False, 0, 0
        self._streaming = stream
        self.requests += 1
        self._timer = self._loop.call_later(timeout, self._give_up, f"no answer within {timeout:g} seconds")
        self._transport.write(request)
        return waiter

    @property
    def has_headers(self) -> bool:
        """Whether the headers of the answer have come."""
        return bool(self._status)

    def is_idle_for(self, seconds: float) -> bool:
        return self._loop.time() - self._settled > seconds

    def give_up_after(self, seconds: float, why: str) -> None:
        self._timer = self._loop.call_later(seconds, self._give_up, why)

    def close(self) -> None:
        """Close it; pending requests fail with BrokenConnection."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    def _give_up(self, why: str) -> None:
        self._fail(why)
        self.close()

    def _fail(self, why: str) -> None:
        self.usable = False
        error = BrokenConnection(self._server, why, self._answered)
        if self._stream is not None:
            self._stream.end(error)
            self._stream = None
        self._settle(None, error)

    def _settle(self, answer: Answer | None, error: Exception | None = None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            if answer is not None:
                waiter.set_result(answer)
            elif error is not None:
                waiter.set_exception(error)

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's does not derive from it

    def data_received(self, data: bytes) -> None:
        if self._waiter is None and self._stream is None:
            self._give_up("sent something that was not asked for")
            return
        self._answered = True
        if self._stream is None:
            self._size += len(data)
            if self._size > self.max_answer_bytes:
                self._give_up_much()
                return
            self._make_room(len(data))
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._give_up(f"does not speak HTTP: {error}")

    def _make_room(self, size: int) -> None:
        """Let others have their turn: a connection that has much to read would be read on for as long as it has."""
        if self._transport is None or self._in_turn >= _IN_A_TURN:
            return
        self._in_turn += size
        if self._in_turn >= _IN_A_TURN:
            self._transport.pause_reading()
            self._loop.call_soon(self._read_on, self._transport)

    def _read_on(self, transport: asyncio.Transport) -> None:
        self._in_turn = 0
        if not transport.is_closing():
            transport.resume_reading()

    def _give_up_much(self) -> None:
        self._give_up(f"answered with more than {self.max_answer_bytes} bytes")

    def connection_lost(self, error: Exception | None) -> None:
        self.usable = False
        if self._waiter is None and self._stream is None:
            self._settle(None)
            return
        if error is None and self._ends_with_connection():
            self.on_message_complete()
        else:
            self._fail(f"the connection broke off: {error}" if error else CLOSED)

    def _ends_with_connection(self) -> bool:
        """Return whether the body ends with the connection, as in HTTP/1.0."""
        if not self._status:
            return False
        names = {name.lower() for name, _ in self._headers}
        return b"content-length" not in names and b"transfer-encoding" not in names

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._status = 0
        self._headers, self._body = [], []

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) >= MAX_HEADERS:
            self._give_up(f"sent more than {MAX_HEADERS} headers")
        else:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if self._streaming and self._status == 200 and self._transport is not None:
            self._stream = Stream(self._transport)
            self._settle(Answer(200, self._headers, b"", self._stream))
        elif self._length() > self.max_answer_bytes:
            self._give_up_much()

    def _length(self) -> int:
        """Return how long the body is said to be. The parser has read the number."""
        return max((int(value) for name, value in self._headers if name.lower() == b"content-length"), default=0)

    def on_body(self, piece: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(piece)
        else:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        if 100 <= self._status < 200:
            return
        if self._stream is not None:
            self._stream.end(None)
            self._stream = None
            self._settle(None)
            self.close()
            return
        if not self._parser.should_keep_alive():
            self.usable = False
        self._settled = self._loop.time()
        body, self._body = self._body, []  # which would be held as long as the connection
        self._settle(Answer(self._status, self._headers, body[0] if len(body) == 1 else b"".join(body)))


class ConnectionPool:
    """Idle and busy connections, and requests that wait for one."""

    def __init__(
        self,
        server: str,
        tls: ssl.SSLContext | None,
        *,
        server_name: str = "",
        most: int = 64,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        """`server_name`: the name in the server's certificate, if not the host of `server`."""
        url = urlsplit(server)
        self.server = server
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._tls, self._server_name, self._most = tls, server_name or self._host, most
        self._max_answer_bytes = max_answer_bytes
        self._idle: list[Connection] = []
        self._open = 0  # connections that are being made, used, or idle
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()
        self._busy: set[Connection] = set()
        self._closed = self._retired = False

    @property
    def idle(self) -> int:
        """How many connections nothing is asked on."""
        return len(self._idle)

    @property
    def waiting(self) -> int:
        """How many requests wait for a connection."""
        return len(self._waiting)

    async def take(self) -> Connection:
        """Return a connection for one request. Raises Unreachable."""
        connection = self.take_idle()
        if connection is None:
            connection = await (self._wait() if self._open >= self._most else self._dial_counted())
            self._busy.add(connection)
        return connection

    def take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and not connection.is_idle_for(IDLE_SECONDS):
                self._busy.add(connection)
                return connection
            connection.close()
            self._open -= 1
        return None

    async def _wait(self) -> Connection:
        waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            connection = await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._hand_on(waiter.result())  # the waiter was cancelled meanwhile
            raise
        # None: permission to open one.
        return connection if connection is not None else await self._dial_counted(counted=True)

    async def _dial_counted(self, counted: bool = False) -> Connection:
        if not counted:
            self._open += 1
        try:
            return await self._dial()
        except BaseException:
            self._hand_on(None)
            raise

    def give_back(self, connection: Connection) -> None:
        self._busy.discard(connection)
        if self._retired:
            connection.close()
        self._hand_on(connection if connection.usable else None)

    def _hand_on(self, connection: Connection | None) -> None:
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is None:
            self._open -= 1
        else:
            self._idle.append(connection)

    async def _dial(self) -> Connection:
        if self._closed:
            raise NotSent(f"{self.server}: this client is closed")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(DIAL_SECONDS):
                transport, connection = await loop.create_connection(
                    lambda: Connection(self.server, self._max_answer_bytes),
                    self._host,
                    self._port,
                    ssl=self._tls,
                    server_hostname=self._server_name if self._tls is not None else None,
                )
        except TimeoutError:
            raise NotSent(f"{self.server}: no connection within {DIAL_SECONDS:g} seconds") from None
        except ssl.SSLCertVerificationError as error:
            raise NotSent(f"{self.server}: the server's certificate is not trusted: {error.verify_message}") from None
        except (OSError, UnicodeError) as error:
            raise NotSent(f"{self.server}: {_why(error)}") from None
        _detect_dead_peers(transport)
        return connection

    async def dial_stream(self) -> Connection:
        """Return a connection for a watch; call `end_stream` afterwards. Raises Unreachable."""
        connection = await self._dial()
        self._busy.add(connection)
        return connection

    def end_stream(self, connection: Connection) -> None:
        self._busy.discard(connection)
        connection.close()

    def close_idle(self) -> None:
        """Close the connections that have not been asked anything for long, and forget those that were closed."""
        kept = [one for one in self._idle if one.usable and not one.is_idle_for(IDLE_SECONDS)]
        self._open -= len(self._idle) - len(kept)
        for connection in self._idle:
            if connection not in kept:
                connection.close()
        self._idle = kept

    def retire(self) -> None:
        """Close idle connections now and busy ones after their request."""
        self._retired = True
        for connection in self._idle:
            connection.close()

    def close(self) -> None:
        """Close all; pending requests fail with Unreachable."""
        self._closed = True
        for connection in (*self._idle, *self._busy):
            connection.close()
        self._idle.clear()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()


def _why(error: OSError | UnicodeError) -> str:
    """Describe a connection error without error number and address."""
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection: {(error.reason or str(error)).replace('_', ' ').lower()}"
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or str(error)


def _detect_dead_peers(transport: asyncio.BaseTransport) -> None:
    """Enable TCP keep-alive, so that a watch notices a dead peer within minutes."""
    raw_socket = transport.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
        raw_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_SECONDS)
