"""HTTP/1.1 by hand, for what well-behaved clients do not send: one connection, one request at a time."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from moorage.client.kubeconfig.access import tls_context

if TYPE_CHECKING:
    from moorage.client.kubeconfig.access import Access

_READ = 256 * 1024
_KEPT = 400


class Reply(NamedTuple):
    """The status, the first bytes of the body and its length. Status 0: the server closed the connection."""

    status: int
    start: bytes
    length: int
    seconds: float


class Wire:
    """A connection that is opened when it is needed. Of answers it keeps the first `kept` bytes."""

    def __init__(self, access: Access, kept: int = _KEPT) -> None:
        self._kept = kept
        parts = urlsplit(access.server)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 443
        self.tls = tls_context(access)
        self.token = access.token
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        self.reader, self.writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls, limit=2**20)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None

    def head(self, method: str, path: str, length: int, headers: dict[str, str]) -> bytes:
        lines = {"Host": self.host, "Authorization": f"Bearer {self.token}", "User-Agent": "stall", **headers}
        if length or method in ("POST", "PUT", "PATCH"):
            lines["Content-Length"] = str(length)
        text = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""]
        return "\r\n".join(text).encode()

    async def ask(
        self, method: str, path: str, body: bytes = b"", content_type: str = "application/json", **headers: str
    ) -> Reply:
        started = time.perf_counter()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            if self.writer is None:
                await self.open()
            assert self.reader is not None
            assert self.writer is not None
            if body:
                named["Content-Type"] = content_type
            self.writer.write(self.head(method, path, len(body), named) + body)
            status, start, length = await self._reply()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            self.close()
            return Reply(0, b"", 0, time.perf_counter() - started)
        return Reply(status, start, length, time.perf_counter() - started)

    async def _reply(self) -> tuple[int, bytes, int]:
        reader = self.reader
        assert reader is not None
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        status = int(head.split(" ", 2)[1])
        start = b""
        if "transfer-encoding: chunked" in head:
            length = 0
            while size := int(await reader.readuntil(b"\r\n"), 16):
                start = await self._skip(size, start)
                await reader.readexactly(2)
                length += size
            await reader.readexactly(2)
        else:
            at = head.find("content-length:")
            length = int(head[at + 15 :].split("\r", 1)[0]) if at >= 0 else 0
            start = await self._skip(length, start)
        if "connection: close" in head:
            self.close()
        return status, start, length

    async def _skip(self, length: int, start: bytes) -> bytes:
        assert self.reader is not None
        while length:
            data = await self.reader.read(min(length, _READ))
            if not data:
                raise EOFError
            length -= len(data)
            if len(start) < self._kept:
                start += data[: self._kept - len(start)]
        return start


async def gone(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError, asyncio.CancelledError):
        await writer.wait_closed()
