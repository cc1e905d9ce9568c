"""Give several API servers one address: pass TCP connections on to those whose /readyz answers.

A new connection goes to the ready server with the fewest connections. One that cannot be reached is left out at once,
and the next one is tried; connections to one that has died are closed, so that clients come back to another. Where none
is ready any that answers is used: reads may go on there. TLS ends at the API servers. Health is checked on a connection
that stays open: the kernel closes the connections of a process that dies, so a death is noticed at once. A server that
does not answer in time, such as one that is stopped, is given up only while another one answers. Kubernetes: the load
balancer of kubeadm's high-availability topology, health-checked on /readyz.
"""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from typing import cast

from moorage.telemetry.logs import get_logger

CONNECT_SECONDS = 1.0
_MOST_UNSENT = 1024 * 1024  # bytes: the other side is not read from while so much waits to be sent
_MOST_EARLY = 64 * 1024
_BACKLOG = 1024
_LOG = get_logger("balancer")


class Backend:
    """An API server. `answers`: its last health check was answered; `is_ready`: it said that it is ready."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name, self.host, self.port = name, host, port
        self.answers = False
        self.is_ready = False
        self.pairs: set[_Client] = set()

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """Where it is in the order of those to try, the lowest first."""
        return not self.is_ready, not self.answers, len(self.pairs)


class Balancer:
    """Start it, stop it. Health checks set what is known of the backends by `mark`."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self.backends = list(backends)
        self.port = 0
        self._listener: asyncio.Server | None = None
        self._clients: set[_Client] = set()

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError; with `port` 0 the port is in `self.port`."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _Client(self), host, port, backlog=_BACKLOG)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._listener is None:
            return
        self._listener.close()
        for client in list(self._clients):
            client.close()
        await asyncio.sleep(0)
        await self._listener.wait_closed()
        self._listener = None

    def mark(self, backend: Backend, *, answers: bool, is_ready: bool = False) -> None:
        """Record what a health check found. Connections to one that does not answer any more are closed."""
        before = backend.answers, backend.is_ready
        backend.answers, backend.is_ready = answers, is_ready
        if before != (answers, is_ready):
            state = "ready" if is_ready else "not ready" if answers else "down"
            _LOG.info("API server", name=backend.name, state=state, connections=len(backend.pairs))
        if not answers:
            for client in list(backend.pairs):
                if client.is_connected:  # the others try the next one by themselves
                    client.close()

    def in_order(self) -> list[Backend]:
        return sorted(self.backends, key=lambda backend: backend.rank)

    # ── what connections tell

    def welcome(self, client: "_Client") -> None:
        self._clients.add(client)

    def forget(self, client: "_Client") -> None:
        self._clients.discard(client)


class _Half(asyncio.Protocol):
    """One side of a pair of connections: what comes in goes out on the other side."""

    transport: asyncio.Transport | None = None
    other: "_Half | None" = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=_MOST_UNSENT)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def eof_received(self) -> bool:
        if self.other is None or self.other.transport is None:
            return False
        with suppress(OSError, RuntimeError):  # the other side has closed meanwhile
            self.other.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class _Client(_Half):
    """The side of the client, which looks for a backend."""

    def __init__(self, balancer: Balancer) -> None:
        self._balancer = balancer
        self._backend: Backend | None = None
        self._looking: asyncio.Task[None] | None = None
        self._early: list[bytes] = []  # what has come before there is a backend
        self._early_eof = self._is_paused = False

    @property
    def is_connected(self) -> bool:
        return self.other is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._balancer.welcome(self)
        self._looking = asyncio.get_running_loop().create_task(self._look())

    def data_received(self, data: bytes) -> None:
        if self.other is not None:
            super().data_received(data)
            return
        self._early.append(data)
        if sum(map(len, self._early)) > _MOST_EARLY and self.transport is not None:
            self.transport.pause_reading()
            self._is_paused = True

    def eof_received(self) -> bool:
        if self.other is None:
            self._early_eof = True
            return True
        return super().eof_received()

    async def _look(self) -> None:
        """Connect to the first backend that can be reached; close the connection if there is none."""
        loop = asyncio.get_running_loop()
        for backend in self._balancer.in_order():
            backend.pairs.add(self)  # counts from now on: a crowd that comes at once is spread
            self._backend = backend
            server = _Half()
            server.other = self
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    await loop.create_connection(lambda made=server: made, backend.host, backend.port)  # type: ignore[misc]
            except (OSError, TimeoutError) as error:
                backend.pairs.discard(self)
                self._backend = None
                if not isinstance(error, TimeoutError):  # it may only be slow: health checks decide
                    self._balancer.mark(backend, answers=False)
                continue
            if self.transport is None or self.transport.is_closing():
                if server.transport is not None:
                    server.transport.abort()
                return
            self._begin(server)
            return
        _LOG.warning("No API server can be reached")
        self.close()

    def _begin(self, server: _Half) -> None:
        """Pass on what has come, and what comes from now on."""
        self.other = server
        assert server.transport is not None
        assert self.transport is not None
        server.transport.writelines(self._early)
        self._early.clear()
        if self._early_eof:
            server.transport.write_eof()
        elif self._is_paused:
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._balancer.forget(self)
        if self._backend is not None:
            self._backend.pairs.discard(self)

    def close(self) -> None:
        """Close both sides without waiting for what has not been sent."""
        for half in (self, self.other):
            if half is not None and half.transport is not None:
                half.transport.abort()


EVERY_SECONDS = 0.5
ANSWER_SECONDS = 3.0
RETRY_SECONDS = 0.1
_MAX_BODY = 64 * 1024
_REQUEST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nUser-Agent: moorage-balancer\r\n\r\n"


class HealthCheck:
    """Follows one backend until it is cancelled. `context` trusts the authority of the cluster."""

    def __init__(self, balancer: Balancer, backend: Backend, context: ssl.SSLContext | None) -> None:
        self._balancer, self._backend, self._context = balancer, backend, context

    async def run(self) -> None:
        while True:
            try:
                await self._follow()
            except TimeoutError:
                if any(other.answers for other in self._balancer.backends if other is not self._backend):
                    self._balancer.mark(self._backend, answers=False)
                else:
                    self._balancer.mark(self._backend, answers=self._backend.answers, is_ready=False)
            except (OSError, EOFError, ValueError):
                self._balancer.mark(self._backend, answers=False)
            await asyncio.sleep(RETRY_SECONDS)

    async def _follow(self) -> None:
        """Ask until the connection ends. Raises OSError, EOFError, TimeoutError, ValueError."""
        backend = self._backend
        name = "localhost" if self._context is not None else None
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection(
                backend.host, backend.port, ssl=self._context, server_hostname=name
            )
        try:
            while True:
                async with asyncio.timeout(ANSWER_SECONDS):
                    writer.write(_REQUEST)
                    status = await _status(reader)
                self._balancer.mark(backend, answers=True, is_ready=status == 200)
                with suppress(TimeoutError):
                    async with asyncio.timeout(EVERY_SECONDS):
                        await reader.read(1)
                        raise EOFError
        finally:
            writer.transport.abort()


async def _status(reader: asyncio.StreamReader) -> int:
    """Read an answer; return its status. Raises EOFError, ValueError."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    length = 0
    for line in head[1:]:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    if length > _MAX_BODY:
        raise ValueError(f"a health check of {length} bytes")
    await reader.readexactly(length)
    return int(head[0].split(" ")[1])
