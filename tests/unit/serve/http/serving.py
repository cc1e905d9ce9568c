"""A server on a free port and a client that speaks bytes, for tests of what is on the wire."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import uvloop

from moorage.serve.http.messages import Handler, Request, Response
from moorage.serve.http.receiving import Gate, Limits
from moorage.serve.http.server import Server

_opened: list["Client"] = []


@asynccontextmanager
async def closing_clients() -> AsyncIterator[None]:
    """At the end, clients that are still connected vanish."""
    try:
        yield
    finally:
        while _opened:
            _opened.pop().vanish()
        await asyncio.sleep(0)


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run one example of a law on the event loop that the product uses."""

    async def whole() -> None:
        async with closing_clients():
            await main()

    uvloop.run(whole())


async def echo(request: Request) -> Response:
    """An answer that says what was asked."""
    said = {"method": request.method, "path": request.path, "body": request.body.decode("latin-1")}
    return Response(200, msgspec.json.encode(said))


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        said: dict[str, Any] = msgspec.json.decode(self.body)
        return said

    @property
    def reason(self) -> str:
        """The reason in the Status that every refusal has for a body."""
        assert self.json["kind"] == "Status"
        assert self.json["code"] == self.status
        return str(self.json["reason"])


class Client:
    """One connection, byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *lines: str, body: bytes = b"") -> None:
        """A request with a Host header: its first line and further headers."""
        first, *headers = lines
        self.writer.write("\r\n".join((f"{first} HTTP/1.1", "Host: here", *headers, "", "")).encode() + body)

    async def head(self) -> Answer:
        """Status line and headers of the next answer."""
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        return Answer(int(lines[0].split(" ")[1]), headers, b"")

    async def chunk(self) -> bytes:
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def answer(self) -> Answer:
        """The next answer, whole."""
        head = await self.head()
        if "transfer-encoding" not in head.headers:
            return head._replace(body=await self.reader.readexactly(int(head.headers.get("content-length", 0))))
        body = b""
        while piece := await self.chunk():
            body += piece
        return head._replace(body=body)

    async def is_closed(self) -> bool:
        """Waits for the server to close, without a word."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    def vanish(self) -> None:
        """Gone at once, without a goodbye."""
        if not self.writer.is_closing():
            linger_no_time = struct.pack("ii", 1, 0)
            self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_no_time)
        self.writer.transport.abort()


@asynccontextmanager
async def serving(
    handler: Handler = echo,
    limits: Limits | None = None,
    *,
    context: ssl.SSLContext | None = None,
    gate: Gate = lambda request: None,
) -> AsyncIterator[Server]:
    server = Server(handler, replace(limits or Limits(), linger_seconds=0.05), gate)
    await server.start("127.0.0.1", 0, context)
    try:
        yield server
    finally:
        await server.stop(1.0)
        assert not server.connections
        assert not server.tasks
        assert server.requests == server.streams == 0


async def connect(server: Server, context: ssl.SSLContext | None = None) -> Client:
    client = Client(*await asyncio.open_connection("127.0.0.1", server.port, ssl=context))
    _opened.append(client)
    return client
