"""Keep TLS connections to one webhook: a few at a time, the same ones for further calls.

A dead webhook holds a bounded number of connections, and a bounded number of calls waits for them. Names are looked up
in threads of their own, so that a silent name server delays only the calls that need it. Addresses of a service
are asked for with each new connection. Kubernetes: Go's http.Transport and net.Dialer. Differs: Kubernetes bounds the
requests that it answers, not the calls of one webhook.
"""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

from moorage.client.http_connections import CLOSED, Answer, BrokenConnection, Connection, ConnectionPool
from moorage.serve.requests.long_work import LongWork
from moorage.serve.webhooks.failures import DEADLINE, END, CallFailed, dial_failure, handshake_failure, system_words
from moorage.serve.webhooks.targets import WebhookTarget

#: Connections to one webhook, those of them that are kept while nothing is asked, and calls that wait for one.
MOST_CONNECTIONS, MOST_IDLE, MOST_WAITING = 32, 4, 512
_MOST_ADDRESSES = 4
_HANDSHAKE_SECONDS = 10.0
_READING = "unexpected error when reading response body. Please retry. Original error: "


class HostPort(NamedTuple):
    """A host, by name or address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


#: Where a target is now. Raises CallFailed.
Locate = Callable[[WebhookTarget], Awaitable[HostPort]]


class BrokenAnswer(Exception):
    """The answer ended in the middle of its body. The text is all that there is to say."""


class WebhookConnections(ConnectionPool):
    """The connections to one webhook."""

    def __init__(self, target: WebhookTarget, tls: ssl.SSLContext, locate: Locate, lookups: LongWork) -> None:
        super().__init__(target.origin, tls, server_name=target.server_name, most=MOST_CONNECTIONS)
        self._target, self._locate, self._lookups = target, locate, lookups
        self._context = tls

    async def ask(self, request: bytes, seconds: float, max_answer_bytes: int) -> tuple[Answer, Connection]:
        """Send a request and return its answer, within this many seconds. Raises CallFailed, BrokenAnswer.

        The connection has to be released when the answer was read: no more answers are held than there are connections.
        """
        connection: Connection | None = None
        try:
            async with asyncio.timeout(seconds):
                connection = await self._take_bounded()
                try:
                    return await self._exchange(connection, request, seconds, max_answer_bytes), connection
                except BrokenConnection as broken:  # it is not asked again: it may have acted on what it was asked
                    raise _described(broken, connection) from None
        except TimeoutError:
            if connection is not None and connection.has_headers:
                raise BrokenAnswer(_READING + DEADLINE) from None
            raise CallFailed(DEADLINE) from None

    async def _take_bounded(self) -> Connection:
        if self.waiting >= MOST_WAITING:
            raise CallFailed(f"{MOST_CONNECTIONS} calls are being made, and {MOST_WAITING} more wait for their turn")
        return await self.take()

    async def _exchange(self, connection: Connection, request: bytes, seconds: float, most_bytes: int) -> Answer:
        connection.max_answer_bytes = most_bytes
        answer: Answer | None = None
        try:
            answer = await connection.send(request, 2 * seconds)  # the caller's time ends before
            return answer
        finally:
            if answer is None:
                connection.close()
                self.give_back(connection)

    def release(self, connection: Connection) -> None:
        """Let the connection be used for another call."""
        if self.idle >= MOST_IDLE:
            connection.close()
        self.give_back(connection)

    async def _dial(self) -> Connection:
        place = await self._locate(self._target)
        failure: CallFailed | None = None
        for address in await self._addresses(place):
            try:
                return await self._connect(HostPort(address, place.port))
            except CallFailed as error:
                failure = failure or error
        raise failure or CallFailed(f"dial tcp: lookup {place.host}: no such host")

    async def _addresses(self, place: HostPort) -> list[str]:
        with suppress(ValueError):
            ipaddress.ip_address(place.host)
            return [place.host]
        try:
            found = await self._lookups.run(_look_up, place)
        except (OSError, UnicodeError) as error:
            raise dial_failure(error if isinstance(error, OSError) else socket.gaierror(), "", place.host) from None
        return found[:_MOST_ADDRESSES]

    async def _connect(self, place: HostPort) -> Connection:
        try:
            plain = await _connected(place)
        except OSError as error:
            raise dial_failure(error, str(place), place.host) from None
        try:
            return await self._shake_hands(plain)
        except ssl.SSLError as error:
            raise handshake_failure(error, self._target.server_name) from None
        except ConnectionAbortedError:
            raise CallFailed(END) from None
        except OSError as error:
            raise CallFailed(f"read tcp {place}: read: {system_words(error)}" if error.errno else END) from None
        except (ValueError, UnicodeError) as error:
            raise CallFailed(f"tls: {error}") from None

    async def _shake_hands(self, plain: socket.socket) -> Connection:
        """Begin TLS. A handshake is not cancelled, which uvloop reports as an error: its connection is closed then."""
        handshake = asyncio.get_running_loop().create_connection(
            lambda: Connection(self.server),
            sock=plain,
            ssl=self._context,
            server_hostname=self._target.server_name,
            ssl_handshake_timeout=_HANDSHAKE_SECONDS,
        )
        task = asyncio.ensure_future(handshake)
        try:
            _, connection = await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_discard)
            raise
        return connection


async def _connected(place: HostPort) -> socket.socket:
    """Return a socket that is connected to an address. Raises OSError."""
    plain = socket.socket(socket.AF_INET6 if ":" in place.host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        plain.setblocking(False)
        await asyncio.get_running_loop().sock_connect(plain, (place.host, place.port))
    except BaseException:
        plain.close()
        raise
    return plain


def _discard(task: "asyncio.Task[tuple[asyncio.Transport, Connection]]") -> None:
    """Close the connection of a handshake that came too late."""
    if not task.cancelled() and task.exception() is None:
        task.result()[1].close()


def _look_up(place: HostPort) -> list[str]:
    entries = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def _described(broken: BrokenConnection, connection: Connection) -> CallFailed | BrokenAnswer:
    if connection.has_headers:
        return BrokenAnswer(_READING + ("unexpected EOF" if broken.why == CLOSED else broken.why))
    if broken.why == CLOSED:
        return CallFailed("unexpected EOF" if broken.answered else END)
    return CallFailed(broken.why)
