"""Serve webhooks that misbehave, on real sockets: the bytes of each answer are written as they are told."""

import asyncio
import base64
import datetime
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from moorage.admit.extension.steps import WebhookCall
from moorage.model.types.extension.admission_policies import WebhookClientConfig
from moorage.serve.pki.certificates import Authority, Issued

#: Answers one connection: reads what it likes, and writes what it likes.
Behave = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

NOW = datetime.datetime.now(datetime.UTC)
AUTHORITY = Authority.create(NOW)
OK = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u","allowed":true}}'


class Hostile(NamedTuple):
    """A server: its port, and how many connections it has had."""

    port: int
    accepted: list[int]

    def call(self, *, path: str = "/x", seconds: float = 5, bundle: bytes | None = None) -> WebhookCall:
        authorities = AUTHORITY.issued.certificate if bundle is None else bundle
        client = WebhookClientConfig(
            url=f"https://127.0.0.1:{self.port}{path}", caBundle=base64.b64encode(authorities).decode()
        )
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}
        return WebhookCall("hooks", "a.example.com", client, review, seconds, False)

    def post(self, seconds: int = 5) -> str:
        """What texts begin with."""
        return f'failed to call webhook: Post "https://127.0.0.1:{self.port}/x?timeout={seconds}s": '


def context_of(issued: Issued) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as directory:
        pair = Path(directory, "pair.pem")
        pair.write_bytes(issued.key + issued.certificate)
        context.load_cert_chain(pair)
    return context


@asynccontextmanager
async def serving(
    behave: Behave, context: ssl.SSLContext | None = None, *, has_tls: bool = True
) -> AsyncGenerator[Hostile, None]:
    """Serve; without a context with the certificate that callers expect."""
    accepted: list[int] = []
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.append(1)
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await behave(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    tls = context or context_of(AUTHORITY.issue_server(["127.0.0.1"]))
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls if has_tls else None)
    try:
        yield Hostile(server.sockets[0].getsockname()[1], accepted)
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def request_of(reader: asyncio.StreamReader) -> bytes:
    """Read one request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return head + await reader.readexactly(length)


def plain(body: bytes, status: str = "200 OK", content_type: str = "application/json", headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def saying(answer: bytes) -> Behave:
    """Answer every request on a connection with these bytes."""

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_of(reader)
            writer.write(answer)
            await writer.drain()

    return behave


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)
    await asyncio.sleep(3600)


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send the body of an answer byte by byte, for ever."""
    await request_of(reader)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.005)


def flood(head: bytes, piece: bytes, pieces: int) -> Behave:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(head)
        for _ in range(pieces):
            writer.write(piece)
            await writer.drain()

    return behave
