"""Record the store's own history: every change in etcd, read by etcd's JSON gateway, not by the code under test.

Goes on from the last revision at another member whenever a member ends, and so sees every change once. Kubernetes: what
`etcdctl watch --prefix /registry --rev 1` shows.
"""

import asyncio
import base64
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

_IDLE_SECONDS = 3.0
_LINE_BYTES = 64 * 1024 * 1024


class Recorded(NamedTuple):
    """One change. No value: the key was deleted. `seen` is when the recorder saw it."""

    revision: int
    key: str
    value: bytes | None
    seen: float


class _Kv(msgspec.Struct):
    key: str
    mod_revision: str
    value: str = ""


class _Event(msgspec.Struct):
    kv: _Kv
    type: str = "PUT"


class _Header(msgspec.Struct):
    revision: str = "0"


class _Result(msgspec.Struct):
    header: _Header = msgspec.field(default_factory=_Header)
    events: list[_Event] = []
    compact_revision: str = "0"


class _Line(msgspec.Struct):
    result: _Result | None = None


_LINES = msgspec.json.Decoder(_Line)


class HistoryLost(Exception):
    """etcd has forgotten a part of its history before it was read."""


class Recorder:
    """Tells `heard` of every change, in order, until cancelled."""

    def __init__(self, addresses: Sequence[tuple[str, int]], prefix: str, heard: Callable[[Recorded], None]) -> None:
        self._addresses, self._prefix, self._heard = list(addresses), prefix, heard
        self.revision = 0
        self._turn = 0

    async def run(self) -> None:
        while True:
            self._turn += 1
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError, msgspec.DecodeError):
                await self._follow(*self._addresses[self._turn % len(self._addresses)])
            await asyncio.sleep(0.05)

    async def _follow(self, host: str, port: int) -> None:
        begin, end = self._prefix.encode(), self._prefix.encode()[:-1] + bytes([self._prefix.encode()[-1] + 1])
        asked = {"key": _text(begin), "range_end": _text(end), "start_revision": str(self.revision + 1)}
        body = msgspec.json.encode({"create_request": asked})
        async with asyncio.timeout(_IDLE_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, limit=_LINE_BYTES)
        try:
            head = f"POST /v3/watch HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            async with asyncio.timeout(_IDLE_SECONDS):
                while (await reader.readline()) not in (b"\r\n", b""):
                    pass
            rest = b""
            while True:
                async with asyncio.timeout(_IDLE_SECONDS):
                    size = int((await reader.readline()).strip() or b"0", 16)
                    if not size:
                        return
                    rest += (await reader.readexactly(size + 2))[:-2]
                *lines, rest = rest.split(b"\n")
                for line in lines:
                    self._take(line)
        finally:
            writer.transport.abort()

    def _take(self, line: bytes) -> None:
        result = _LINES.decode(line).result
        if result is None:
            return
        if int(result.compact_revision):
            raise HistoryLost(f"revisions up to {result.compact_revision}, read up to {self.revision}")
        now = time.monotonic()
        for event in result.events:
            revision = int(event.kv.mod_revision)
            value = base64.b64decode(event.kv.value) if event.type == "PUT" else None
            self._heard(Recorded(revision, base64.b64decode(event.kv.key).decode(), value, now))
        if result.events:
            self.revision = max(self.revision, int(result.events[-1].kv.mod_revision))


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()


def read_json(value: bytes) -> Any:
    return msgspec.json.decode(value)


def read_file(directory: Path, after: int) -> list[Recorded]:
    """Return the changes after a revision in the file of an API server on SQLite that does not run."""
    with tempfile.TemporaryDirectory() as copy:
        for file in directory.glob("moorage.db*"):
            shutil.copy(file, copy)
        with closing(sqlite3.connect(Path(copy) / "moorage.db")) as connection:
            query = "SELECT revision, key, value FROM log WHERE revision > ? ORDER BY revision"
            rows = connection.execute(query, (after,)).fetchall()
    now = time.monotonic()
    return [Recorded(revision, "/registry" + _without_group(key), value, now) for revision, key, value in rows]


def _without_group(key: str) -> str:
    """Return a key as etcd would have it: without the API group before the resource."""
    first, _, rest = key[1:].partition("/")
    return f"/{rest}" if "." in first or first == "apps" else key
