"""The webhook's process on a port of the kernel's choice, certificates in a folder, and a client that trusts one."""

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from moorage.attached import names
from moorage.attached.webhook.process import WebhookProcess, WebhookSettings
from moorage.serve.pki.certificates import Authority

Raw = dict[str, Any]
NAME = f"{names.WEBHOOK}.{names.NAMESPACE}.svc"


def days_ago(days: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=days)


def write_certificate(directory: Path, *names: str, days: float = 0, trusted: bytes = b"") -> bytes:
    """Write a new certificate of a new authority, whose certificate is returned; `trusted` are others in ca.crt."""
    authority = Authority.create(days_ago(days))
    issued = authority.issue_server(names or (NAME, "127.0.0.1"))
    directory.mkdir(exist_ok=True)
    (directory / "ca.crt").write_bytes(trusted + authority.issued.certificate)
    (directory / "tls.crt").write_bytes(issued.certificate)
    (directory / "tls.key").write_bytes(issued.key)
    return authority.issued.certificate


class Answered(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    @property
    def document(self) -> Raw:
        document: Raw = msgspec.json.decode(self.body)
        return document


class Talk:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def begin(cls, port: int, trusted: bytes) -> "Talk":
        context = ssl.create_default_context(cadata=trusted.decode())
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=NAME))

    async def ask(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Answered:
        sent = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {content_type}\r\nContent-Length: {len(sent)}\r\n"
        self._writer.write(f"{head}\r\n".encode() + sent)
        return await self.answer()

    async def answer(self) -> Answered:
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        length = next(int(line[16:]) for line in head.split("\r\n") if line.lower().startswith("content-length: "))
        return Answered(status, await self._reader.readexactly(length))

    def begin_request(self, path: str, body: bytes) -> None:
        """Send the head of a request and half of its body."""
        self._writer.write(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        self._writer.write(body[: len(body) // 2])

    def end_request(self, body: bytes) -> None:
        self._writer.write(body[len(body) // 2 :])

    def close(self) -> None:
        self._writer.close()


@asynccontextmanager
async def serving(directory: Path, **settings: Any) -> AsyncIterator[WebhookProcess]:
    process = WebhookProcess(WebhookSettings(directory, **settings))
    await process.start()
    try:
        yield process
    finally:
        await process.stop()
