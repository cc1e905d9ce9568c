"""Render status lines, headers, chunks, and the `Status` of a refusal.

Kubernetes: responsewriters.
"""

import zlib
from functools import lru_cache
from http import HTTPStatus

import msgspec

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Headers, Request, Response, Stream

COMPRESS_ABOVE = 128 * 1024  # bytes: kube-apiserver's threshold, and its level
_COMPRESS_LEVEL = 1

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
_WITHOUT_BODY = frozenset({204, 304})


def render_refusal(error: ApiError) -> Response:
    """The answer for an error, with its Status."""
    return Response(error.code, msgspec.json.encode(error.status), "application/json", error.headers)


def render_head(version: str, answer: Response | Stream, length: int | None, keep_alive: bool) -> bytes:
    """Status line and headers. A `length` of None is a body that is sent in chunks, or until the connection closes."""
    parts = [_prefix(answer.status, answer.content_type)]
    if answer.headers:
        parts.append(_render_headers(answer.headers))
    if length is not None:
        parts.append(b"Content-Length: %d\r\n" % length)
    elif version != "1.0" and answer.status not in _WITHOUT_BODY:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    if not keep_alive:
        parts.append(b"Connection: close\r\n")
    elif version == "1.0":
        parts.append(b"Connection: keep-alive\r\n")
    parts.append(b"\r\n")
    return b"".join(parts)


def render_chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def wants_compression(request: Request, answer: Response) -> bool:
    if len(answer.body) <= COMPRESS_ABOVE or "gzip" not in request.headers.get("accept-encoding", ""):
        return False
    return all(name.lower() != "content-encoding" for name, _ in answer.headers)


def compress(answer: Response) -> Response:
    """Compress the body with gzip; large ones in a thread."""
    packer = zlib.compressobj(_COMPRESS_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    body = packer.compress(answer.body) + packer.flush()
    headers = (*answer.headers, ("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding"))
    return Response(answer.status, body, answer.content_type, headers)


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
