"""Define requests as handlers see them, the two kinds of answers, and the bytes that answers become.

A path is decoded as a whole and split afterwards, as Go's URL.Path is: no name in Kubernetes has a slash. Kubernetes:
responsewriters.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote_plus, unquote_to_bytes

import msgspec

from moorage.model.api_error import ApiError

if TYPE_CHECKING:
    from moorage.serve.pki.authentication import User

Headers = tuple[tuple[str, str], ...]

#: How headers begin that say as whom to act, and what separates their values: names of users may have commas.
IMPERSONATION, SEPARATOR = "impersonate-", "\n"


class Peer(msgspec.Struct, eq=False):
    """The other end of a connection. `subject` is that of its certificate, if it has one that our authority signed.

    `fingerprint` is the SHA-256 digest of that certificate.
    """

    address: str
    subject: tuple[tuple[str, str], ...] = ()
    fingerprint: str = ""
    user: "User | None" = None


class Query:
    """The parameters of a query, each of which may be given several times. Parsed on first use."""

    __slots__ = ("_values",)

    def __init__(self, text: str) -> None:
        self._values: dict[str, list[str]] = {}
        for pair in text.split("&"):
            if pair:
                name, _, value = pair.partition("=")
                self._values.setdefault(unquote_plus(name), []).append(unquote_plus(value))

    def get(self, name: str, default: str = "") -> str:
        values = self._values.get(name)
        return values[0] if values else default

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def names(self) -> list[str]:
        return list(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values


_NO_QUERY = Query("")


def is_flag_set(text: str) -> bool:
    """Read a flag of a query: without a value, and with one that is not known, it is set, as in Kubernetes."""
    return text != "0" and text.lower() != "false"


class Request(msgspec.Struct, eq=False):
    """One complete request. Header names are in lower case; repeated headers are joined by commas or `SEPARATOR`.

    `audit` are the annotations that admission makes while the request is answered.
    """

    method: str
    target: str
    headers: dict[str, str] = {}
    body: bytes = b""
    peer: Peer = msgspec.field(default_factory=lambda: Peer(""))
    version: str = "1.1"
    keep_alive: bool = True
    path: str = ""
    query_text: str = ""
    user: "User | None" = None
    impersonator: "User | None" = None
    audit: dict[str, str] = {}
    _query: Query | None = None

    def __post_init__(self) -> None:
        self.path, self.query_text = split_target(self.target)

    @property
    def query(self) -> Query:
        if self._query is None:
            self._query = Query(self.query_text) if self.query_text else _NO_QUERY
        return self._query


class Response(msgspec.Struct, eq=False):
    """An answer whose body is at hand."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()


class Stream(msgspec.Struct, eq=False):
    """An answer of several chunks, each sent at once; the next is asked for when there is room for it.

    When the client has gone or the server stops, `chunks` is closed, so that its owner can clean up. An answer that
    `is_whole` ends by itself, and is sent to its end although the server stops.
    """

    chunks: AsyncIterator[bytes]
    content_type: str = "application/json"
    headers: Headers = ()
    status: int = 200
    is_whole: bool = False


Handler = Callable[[Request], Awaitable[Response | Stream]]


class AnswerLog(Protocol):
    """Where requests are logged, if that is enabled."""

    def enabled(self) -> bool: ...

    def identify(self, request: Request, answer: Response | Stream) -> Response | Stream:
        """Return the answer with what the log knows the request by."""

    def answered(self, request: Request, answer: Response | Stream, seconds: float) -> None: ...


def split_target(target: str) -> tuple[str, str]:
    path, _, query = target.partition("?")
    if not path.startswith("/") and "://" in path:  # the form that proxies are sent
        _, _, path = path.partition("://")[2].partition("/")
        path = "/" + path
    if "%" in path or not path.isascii():
        path = unquote_to_bytes(path.encode("latin-1", "replace")).decode("utf-8", "replace")
    return path, query


COMPRESS_ABOVE = 128 * 1024  # bytes: kube-apiserver's threshold, and its level
_COMPRESS_LEVEL = 1

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
WITHOUT_BODY = frozenset({204, 304})


def render_refusal(error: ApiError) -> Response:
    return Response(error.code, msgspec.json.encode(error.status), "application/json", error.headers)


def render_head(version: str, answer: Response | Stream, length: int | None, keep_alive: bool) -> bytes:
    """Status line and headers. A `length` of None is a body that is sent in chunks, or until the connection closes."""
    parts = [_prefix(answer.status, answer.content_type)]
    if answer.headers:
        parts.append(_render_headers(answer.headers))
    if length is not None:
        parts.append(b"Content-Length: %d\r\n" % length)
    elif version != "1.0" and answer.status not in WITHOUT_BODY:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    if not keep_alive:
        parts.append(b"Connection: close\r\n")
    elif version == "1.0":
        parts.append(b"Connection: keep-alive\r\n")
    parts.append(b"\r\n")
    return b"".join(parts)


def render_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def wants_compression(request: Request, answer: Response | Stream) -> bool:
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return False
    if not answer.is_whole if isinstance(answer, Stream) else len(answer.body) <= COMPRESS_ABOVE:
        return False
    return all(name.lower() != "content-encoding" for name, _ in answer.headers)


def compress(answer: Response) -> Response:
    """Compress the body with gzip; large ones in a thread."""
    packer = zlib.compressobj(_COMPRESS_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    body = packer.compress(answer.body) + packer.flush()
    headers = (*answer.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return Response(answer.status, body, answer.content_type, headers)


def compress_stream(answer: Stream) -> Stream:
    """Compress an answer of several chunks with gzip, each in a thread."""
    headers = (*answer.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return msgspec.structs.replace(answer, chunks=_compressed(answer.chunks), headers=headers)


async def _compressed(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    packer = zlib.compressobj(_COMPRESS_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    try:
        async for chunk in chunks:
            packed = await loop.run_in_executor(None, packer.compress, chunk)
            if packed:
                yield packed
        yield packer.flush()
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


@lru_cache(maxsize=256)
def _prefix(status: int, content_type: str) -> bytes:
    phrase = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
    line = f"HTTP/1.1 {status} {phrase}\r\n"
    if content_type:
        line += f"Content-Type: {_one_line(content_type)}\r\n"
    return line.encode()


@lru_cache(maxsize=256)
def _render_headers(headers: Headers) -> bytes:
    return "".join(f"{_one_line(name)}: {_one_line(value)}\r\n" for name, value in headers).encode("utf-8", "replace")


def _one_line(text: str) -> str:
    """Remove line ends: a value may quote what a client sent."""
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)
