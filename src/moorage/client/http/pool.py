"""Pool of connections to one API server. Kubernetes: Go's http.Transport.

At most `most` are open, further requests wait in line. Watches have connections of their own that do not count.
"""

import asyncio
import os
import socket
import ssl
from collections import deque
from contextlib import suppress
from urllib.parse import urlsplit

from moorage.client.http.connection import MAX_ANSWER_BYTES, Connection
from moorage.client.protocol import NotSent

DIAL_SECONDS = 10.0
IDLE_SECONDS = 45.0  # less than the idle timeout of servers, so that no write meets a closing connection
_KEEP_ALIVE_SECONDS = 30


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

    async def take(self) -> Connection:
        """Return a connection for one request. Raises Unreachable."""
        connection = self.take_idle()
        if connection is None:
            connection = await (self._wait() if self._open >= self._most else self._dial_counted())
            self._busy.add(connection)
        return connection

    def take_idle(self) -> Connection | None:
        """Return an idle connection without waiting, if there is one."""
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
        """Return a connection after its request."""
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
    found = transport.get_extra_info("socket")
    with suppress(OSError, AttributeError):
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_SECONDS)
