"""A real HTTP server on a real socket, which says what a test tells it to: the transport's other half."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from moorage.client.kubeconfig.access import Access


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Reply:
    """What the server does with a request: writes bytes, waits, hangs up."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def raw(self, data: bytes) -> None:
        self._writer.write(data)

    def say(self, status: int, body: Any, headers: str = "") -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.raw(f"HTTP/1.1 {status} Whatever\r\n{headers}Content-Length: {len(content)}\r\n\r\n".encode() + content)

    def begin_chunks(self) -> None:
        self.raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data: bytes) -> None:
        self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def hang_up(self) -> None:
        self._writer.transport.abort()


Answering = Callable[[Asked, Reply], Awaitable[None]]


class SmallServer:
    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.asked: list[Asked] = []
        self.connections = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (h.partition(":") for h in head[1:-2])}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = Asked(method, target, headers, body)
                self.asked.append(asked)
                await self.answering(asked, Reply(writer))
        self._writers.discard(writer)
        writer.close()

    def hang_up_on_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def small_server(
    answering: Answering, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[SmallServer, Access]]:
    server = SmallServer(answering)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    scheme = "https" if tls is not None else "http"
    try:
        yield server, Access(f"{scheme}://127.0.0.1:{port}", origin="a test")
    finally:
        server.hang_up_on_all()
        listener.close()
        await listener.wait_closed()
