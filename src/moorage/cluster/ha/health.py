"""Check the health of API servers for the balancer: ask /readyz again and again on a connection that stays open.

The kernel closes the connections of a process that dies, so that a death is noticed at once and not at the next check.
A server that does not answer in time, such as one that is stopped, is given up only while another one answers.
"""

import asyncio
import ssl
from contextlib import suppress

from moorage.cluster.ha.balancer import Backend, Balancer

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
