"""Listen for connections, and check the deadlines of all of them in one sweep.

Counters are plain integers for metrics to read: `requests` and `streams` now, `turned_away` and `cut_off` since the
start. Kubernetes: genericapiserver's SecureServingInfo.
"""

import asyncio
import os
import resource
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from moorage.serve.http.connection import Connection
from moorage.serve.http.messages import AnswerLog, Handler, Request
from moorage.serve.http.receiving import Gate, Limits
from moorage.telemetry.logs import get_logger

_HANDSHAKE_SECONDS = 10.0
_GOODBYE_SECONDS = 1.0
_LAST_WORDS_SECONDS = 1.0
_BACKLOG = 1024
_OTHER_FILES = 128  # what the process may have open beside connections: the store, logs, libraries
_PROBES = (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4))  # seconds, seconds, tries


class Server:
    """Start it, await `stop`. One event loop; threads only compress large answers."""

    def __init__(
        self,
        handler: Handler,
        limits: Limits | None = None,
        gate: Gate = lambda request: None,
        is_long_running: Callable[[Request], bool] = lambda request: "watch=" in request.query_text,
        request_log: AnswerLog | None = None,
        end_streams: Callable[[], None] | None = None,
        client_gone: Callable[["asyncio.Task[None]"], None] = lambda task: None,
    ) -> None:
        """`gate` sees the head of a request before its body is received, and may raise ApiError.

        `end_streams` is called when the server stops: sources of streams then say what is left to say, and end.
        `client_gone` is told of the task that makes an answer that no client will read, and may cancel it.
        """
        self.handler = handler
        self.limits = _within_open_files(Limits() if limits is None else limits)
        self.gate = gate
        self.is_long_running = is_long_running
        self.log = get_logger("http")
        self.request_log = request_log
        self._end_streams = end_streams
        self.client_gone = client_gone
        self.loop: asyncio.AbstractEventLoop = None  # type: ignore[assignment]  # until start
        self.connections: set[Connection] = set()
        self.tasks: set[asyncio.Task[None]] = set()
        self.requests = 0
        self.streams = 0
        self.turned_away = 0
        self.cut_off = 0
        self.port = 0
        self.is_stopping = False
        self._listener: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._empty: asyncio.Event | None = None

    async def start(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        """Listen. Raises OSError if the address is taken; with `port` 0 the port is in `self.port`."""
        self.loop = asyncio.get_running_loop()
        try:
            self._listener = await self.loop.create_server(
                lambda: Connection(self),
                host,
                port,
                ssl=context,
                backlog=_BACKLOG,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS if context else None,
                ssl_shutdown_timeout=_GOODBYE_SECONDS if context else None,
            )
        except OSError as error:
            if error.errno is None or error.errno < 0:  # a name that cannot be resolved
                raise
            raise OSError(error.errno, os.strerror(error.errno)) from None  # the loop repeats where that was
        for listening in self._listener.sockets:
            _notice_dead_peers(listening)
        self.port = self._listener.sockets[0].getsockname()[1]
        self._schedule_sweep()

    async def stop(self, grace: float) -> None:
        """Accept no new connections, let requests finish, end streams, abort the rest after `grace` seconds."""
        if self._listener is None:
            return
        self.is_stopping = True
        self._listener.close()
        until = self.loop.time() + grace
        for connection in list(self.connections):
            connection.finish(ends_stream=self._end_streams is None)
        if self._end_streams is not None:
            self._end_streams()
            await self._wait_until_empty(min(grace, _LAST_WORDS_SECONDS))
            for connection in list(self.connections):
                connection.finish()
        if self.connections:
            await self._wait_until_empty(until - self.loop.time())
            if self.connections:
                self.log.warning("Aborting connections that did not end in time", connections=len(self.connections))
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self.connections):
            connection.transport.abort()
        tasks = list(self.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._listener.wait_closed()
        self._listener = None

    async def _wait_until_empty(self, seconds: float) -> None:
        if self.connections:
            self._empty = asyncio.Event()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), max(0.0, seconds))

    # ── what connections tell

    def welcome(self, connection: Connection) -> int:
        self.connections.add(connection)
        return len(self.connections)

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if not self.connections and self._empty is not None:
            self._empty.set()

    def _schedule_sweep(self) -> None:
        self._sweep = self.loop.call_later(self.limits.sweep_seconds, self._check_all)

    def _check_all(self) -> None:
        now = self.loop.time()
        for connection in list(self.connections):
            connection.check(now)
        self._schedule_sweep()


def _within_open_files(limits: Limits) -> Limits:
    """Limit connections to the files that the process may open, after raising that limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections + limits.connections // 10 + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if raised > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    return replace(limits, connections=min(limits.connections, max(1, (raised - _OTHER_FILES) * 10 // 11)))


def _notice_dead_peers(listening: socket.socket) -> None:
    """Enable TCP keep-alive, which accepted connections inherit, to notice watchers that are gone."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES:
        if hasattr(socket, name):
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
