"""Send single requests to one API server, each once, and tell apart what is known of their fate.

The project's own connections, without its client's retries: a history must show what one request was answered.
"""

import ssl
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from tests.faults.check.history import Fate

from moorage.client.http_connections import BrokenConnection, ConnectionPool, Stream
from moorage.client.kubeconfig.access import Access, tls_context
from moorage.client.protocol import NotSent

REQUEST_SECONDS = 15.0
_encode = msgspec.json.encode
_decode = msgspec.json.decode

MERGE_PATCH = "application/merge-patch+json"


class Reply(NamedTuple):
    """What came back. `code` 0: nothing did."""

    fate: Fate
    code: int = 0
    body: Any = None
    why: str = ""

    @property
    def revision(self) -> int:
        metadata = self.body.get("metadata") if isinstance(self.body, dict) else None
        return int(metadata.get("resourceVersion") or 0) if isinstance(metadata, dict) else 0


class Wire:
    """A client of one API server."""

    def __init__(self, name: str, access: Access, tls: ssl.SSLContext | None = None) -> None:
        url = urlsplit(access.server)
        self.name = name
        self._pool = ConnectionPool(access.server, tls or tls_context(access), most=256)
        head = f" HTTP/1.1\r\nHost: {url.netloc}\r\nUser-Agent: faults\r\nAccept: application/json\r\n"
        self._head = (head + (f"Authorization: Bearer {access.token}\r\n" if access.token else "")).encode()

    def _render(self, method: str, path: str, document: Any, media_type: str) -> bytes:
        body = b"" if document is None else _encode(document)
        head = b"%s %s%s" % (method.encode(), path.encode(), self._head)
        if body:
            head += f"Content-Type: {media_type}\r\n".encode()
        return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    async def send(
        self,
        method: str,
        path: str,
        document: Any = None,
        media_type: str = "application/json",
        *,
        seconds: float = REQUEST_SECONDS,
    ) -> Reply:
        """Send one request, once."""
        try:
            connection = await self._pool.take()
        except NotSent as error:
            return Reply(Fate.FAILED, why=str(error))
        try:
            answer = await connection.send(self._render(method, path, document, media_type), seconds)
        except BrokenConnection as error:
            return Reply(Fate.UNKNOWN, why=str(error))
        except BaseException:
            connection.close()
            raise
        finally:
            self._pool.give_back(connection)
        try:
            body = _decode(answer.body) if answer.body else None
        except msgspec.DecodeError as error:
            return Reply(Fate.UNKNOWN, answer.status, why=str(error))
        return Reply(_fate(answer.status), answer.status, body)

    async def watch(self, path: str, seconds: float = REQUEST_SECONDS) -> "WatchStream | Reply":
        """Begin a watch; a reply if it is refused or the server cannot be reached."""
        try:
            connection = await self._pool.dial_stream()
        except NotSent as error:
            return Reply(Fate.FAILED, why=str(error))
        try:
            answer = await connection.send(self._render("GET", path, None, ""), seconds, stream=True)
        except BrokenConnection as error:
            self._pool.end_stream(connection)
            return Reply(Fate.UNKNOWN, why=str(error))
        except BaseException:
            self._pool.end_stream(connection)
            raise
        if answer.stream is None:
            self._pool.end_stream(connection)
            return Reply(_fate(answer.status), answer.status)
        return WatchStream(answer.stream, lambda: self._pool.end_stream(connection))

    def close(self) -> None:
        self._pool.close()


class WatchStream:
    """Events of a watch, in batches."""

    def __init__(self, stream: Stream, close: Any) -> None:
        self._stream, self.close = stream, close
        self._rest = b""

    async def next(self) -> list[Any] | None:
        """Return the next events; None at the end, however it came."""
        while True:
            try:
                piece = await self._stream.read()
            except BrokenConnection:
                return None
            if not piece:
                return None
            *lines, self._rest = (self._rest + piece).split(b"\n")
            if lines:
                return [_decode(line) for line in lines if line]


def _fate(status: int) -> Fate:
    """Say what an answer means. 504: upstream's and our word for a write that may have happened."""
    if 200 <= status < 300:
        return Fate.DONE
    if status in (404, 409):
        return Fate.REFUSED
    return Fate.UNKNOWN if status == 504 else Fate.FAILED
