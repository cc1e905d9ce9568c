"""A client of the API that knows nothing of Moorage's own: HTTP/1.1 over TLS, byte by byte.

In: a kubeconfig. Out: `Answer`s; watches as lines; or the bare streams, for those who send what is no HTTP.
"""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import yaml

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_MAX_HEAD = 1 << 20


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Access:
    """Where the server is and how to be let in: by the token of the kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
        server = urlsplit(cluster["server"])
        assert server.hostname is not None
        assert server.port is not None
        self.host, self.port = server.hostname, server.port
        self.token: str = user["token"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)

    async def connect(self) -> Streams:
        return await asyncio.open_connection(self.host, self.port, ssl=self.context, limit=_MAX_HEAD)


class WireClient:
    """One connection, opened when it is needed and again when it is gone. One request at a time."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._streams: Streams | None = None

    async def ask(self, method: str, target: str, body: bytes = b"", headers: dict[str, str] | None = None) -> Answer:
        """Raises OSError or EOFError if there is no answer: then nobody knows what became of the request."""
        reader, writer = await self._open()
        try:
            writer.write(self._request(method, target, body, headers or {}))
            answer = await read_answer(reader, is_head=method == "HEAD")
            if answer.headers.get("transfer-encoding") == "chunked":  # as long lists are
                chunks = [chunk async for chunk in _chunks(reader)]
                answer = answer._replace(body=b"".join(chunks))
        except BaseException:
            self.close()
            raise
        if answer.headers.get("connection") == "close":
            self.close()
        return answer

    async def watch(self, target: str) -> AsyncIterator[Any]:
        """Events, until the server ends. Raises TooOld if the revision is forgotten."""
        reader, writer = await self._open()
        try:
            writer.write(self._request("GET", target, b"", {}))
            status, headers = await read_head(reader)
            if status == 410:
                raise TooOld
            assert status == 200, await _read_body(reader, headers)
            rest = b""
            while chunk := await _read_chunk(reader):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    yield json.loads(line)
        finally:
            self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def _open(self) -> Streams:
        if self._streams is None:
            self._streams = await self._access.connect()
        return self._streams

    def _request(self, method: str, target: str, body: bytes, headers: dict[str, str]) -> bytes:
        head = {"Host": "moorage", "Authorization": f"Bearer {self._access.token}", "Content-Length": str(len(body))}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in {**head, **headers}.items())]
        return "\r\n".join([*lines, "", ""]).encode("utf-8") + body

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ignored: object) -> None:
        self.close()


class TooOld(Exception):
    """410: list again."""


async def read_answer(reader: asyncio.StreamReader, *, is_head: bool = False) -> Answer:
    """Of an answer that goes on, such as a watch, the head only."""
    status, headers = await read_head(reader)
    while status == 100:
        status, headers = await read_head(reader)
    has_body = not is_head and "content-length" in headers
    return Answer(status, headers, await _read_body(reader, headers) if has_body else b"")


async def read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("utf-8", "replace").split("\r\n")[:-2]
    version, status = first.split(" ")[:2]
    assert version == "HTTP/1.1", first
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(status), headers


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    return await reader.readexactly(int(headers["content-length"]))


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while chunk := await _read_chunk(reader):
        yield chunk


async def _read_chunk(reader: asyncio.StreamReader) -> bytes:
    size = int((await reader.readline()).strip() or b"0", 16)
    data = await reader.readexactly(size)
    await reader.readline()
    return data
