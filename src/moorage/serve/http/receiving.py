"""Parse requests with llhttp, within the limits on what one client, and all clients together, may cost.

Every request passes the server's gate as soon as its head is complete, so that the bodies of unknown clients are not
kept. Limits are near those of kube-apiserver and Go's net/http. Kubernetes: net/http's reading half.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import httptools

from moorage.model.api_error import ApiError, bad_request, failure, request_too_large
from moorage.model.well_known.limits import MAX_REQUEST_BYTES
from moorage.serve.http.messages import IMPERSONATION, SEPARATOR, Peer, Request


@dataclass(frozen=True, slots=True)
class Limits:
    """A limit is reached when it is exceeded: a body of exactly `body_bytes` is accepted."""

    request_line_bytes: int = 32 * 1024
    head_bytes: int = 64 * 1024
    header_count: int = 128
    body_bytes: int = MAX_REQUEST_BYTES
    head_seconds: float = 30.0
    body_seconds: float = 60.0
    idle_seconds: float = 180.0
    answer_seconds: float = 60.0
    """How long a handler may take to begin its answer."""
    unread_seconds: float = 20.0
    """How long a client may leave what it was sent unread, once more of it waits than the transport buffers."""
    unread_bytes: int = 256 * 1024
    """The transport's buffer: above it a stream waits for its client."""
    connections: int = 4096
    requests: int = 400
    """Requests that are handled at one time; streams do not count."""
    pipelined: int = 16
    """Requests that wait for the answer to an earlier one on the same connection."""
    linger_seconds: float = 1.0
    """How long to go on reading from a client that was refused while it was sending, so that it reads the refusal."""

    @property
    def sweep_seconds(self) -> float:
        """How often deadlines are checked."""
        shortest = min(getattr(self, field.name) for field in fields(self) if field.name.endswith("_seconds"))
        return min(1.0, max(0.01, float(shortest) / 4))


if TYPE_CHECKING:
    from moorage.serve.http.connection import Connection

NEVER = float("inf")

Gate = Callable[[Request], object]


class Receiver:
    """The receiving half of a connection. `due` is the deadline of what is being received; `deaf` stops reading."""

    def __init__(
        self, limits: Limits, gate: Gate, loop: asyncio.AbstractEventLoop, peer: Peer, answerer: "Connection"
    ) -> None:
        self.due = loop.time() + limits.head_seconds
        self.deaf = False
        self.in_message = False
        self._limits = limits
        self._gate = gate
        self._time = loop.time
        self._peer = peer
        self._answerer = answerer
        self._parser = httptools.HttpRequestParser(self)
        self._request: Request | None = None
        self._url = b""
        self._headers: dict[str, str] = {}
        self._in_head = False
        self._head_bytes = 0
        self._unparsed_bytes = 0
        self._header_count = 0
        self._body: list[bytes] = []
        self._body_bytes = 0

    def feed(self, data: bytes) -> bool:
        """Parse more bytes. False if the client switches to another protocol."""
        if self._in_head:
            self._unparsed_bytes += len(data)
            if self._unparsed_bytes > self._limits.head_bytes:
                self._refuse(_head_too_large())
                return True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.stop()
            return False
        except httptools.HttpParserError as error:
            if not self.deaf:
                self._refuse(bad_request(f"malformed HTTP request: {error}"))
        return True

    def stop(self) -> None:
        self.deaf = True
        self.in_message = False
        self.due = NEVER
        self._request = None
        self._body = []

    def release(self) -> None:
        self.stop()
        del self._parser, self._answerer

    # ── llhttp's calls

    def on_message_begin(self) -> None:
        if self.deaf:
            return
        self.in_message = self._in_head = True
        self.due = self._time() + self._limits.head_seconds
        self._url = b""
        self._headers = {}
        self._head_bytes = self._unparsed_bytes = self._header_count = 0

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url
        if len(self._url) > self._limits.request_line_bytes and not self.deaf:
            message = f"the request's target is too long: limit is {self._limits.request_line_bytes}"
            self._refuse(failure(414, "RequestURITooLong", message))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_count += 1
        self._head_bytes += len(name) + len(value) + 4
        if self.deaf:
            return
        if self._header_count > self._limits.header_count or self._head_bytes > self._limits.head_bytes:
            self._refuse(_head_too_large())
        elif self._in_head:  # after the body there can be trailers
            key = _KNOWN_NAMES.get(name) or name.decode("latin-1").lower()
            headers, text = self._headers, value.decode("latin-1")
            if key in headers:
                text = f"{headers[key]}{SEPARATOR if key.startswith(IMPERSONATION) else ', '}{text}"
            headers[key] = text

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self.deaf:
            return
        headers, parser, limits = self._headers, self._parser, self._limits
        version = parser.get_http_version()
        if (refusal := _head_refusal(version, headers)) is not None:
            self._refuse(refusal)
            return
        target = self._url.decode("latin-1")
        method = parser.get_method().decode("latin-1")
        request = Request(method, target, headers, b"", self._peer, version, parser.should_keep_alive())
        self._request = request
        try:
            self._gate(request)
        except ApiError as error:
            self._refuse(error, request)
            return
        length = headers.get("content-length")
        if (length is None or length == "0") and "transfer-encoding" not in headers:
            return
        if length is not None and (len(length) > 18 or int(length) > limits.body_bytes):
            self._refuse(_body_too_large(limits.body_bytes))
            return
        self.due = self._time() + limits.body_seconds
        if "expect" in headers:
            if headers["expect"].lower() == "100-continue":
                self._answerer.expected()
            else:
                self._refuse(failure(417, "ExpectationFailed", "the only expectation that is met is 100-continue"))

    def on_body(self, data: bytes) -> None:
        if self.deaf:
            return
        self._body_bytes += len(data)
        if self._body_bytes > self._limits.body_bytes:
            self._refuse(_body_too_large(self._limits.body_bytes))
        else:
            self._body.append(data)

    def on_message_complete(self) -> None:
        request = self._request
        if request is None:
            return
        if self._body:
            request.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            self._body = []
            self._body_bytes = 0
        self._request = None
        self.in_message = False
        self.due = NEVER
        if not request.keep_alive:
            self.deaf = True
        self._answerer.received(request)

    def _refuse(self, error: ApiError, request: Request | None = None) -> None:
        self.stop()
        self._answerer.refuse(error, request)


def _head_refusal(version: str, headers: dict[str, str]) -> ApiError | None:
    """Return why a head is refused that a proxy in front of this server may read in another way.

    llhttp refuses most of these, such as both a length and an encoding; but it takes any encodings whose last one is
    chunked, which is how one request is smuggled in the body of another.
    """
    if version == "0.9":  # also of a line without a version
        return bad_request("malformed HTTP request")
    if version not in ("1.1", "1.0"):
        return failure(505, "HTTPVersionNotSupported", f"unsupported protocol version: HTTP/{version}")
    host = headers.get("host")
    if host is None and version != "1.0":
        return bad_request("missing required Host header")
    if host is not None and "," in host:
        return bad_request("too many Host headers")
    encoding = headers.get("transfer-encoding")
    if encoding is None:
        return None
    if version == "1.0":
        return bad_request("malformed HTTP request: HTTP/1.0 has no Transfer-Encoding")
    if encoding.lower() != "chunked":
        return failure(501, "NotImplemented", "unsupported transfer encoding: the only one is chunked")
    return None


def _head_too_large() -> ApiError:
    return failure(431, "RequestHeaderFieldsTooLarge", "the request's header fields are too large")


def _body_too_large(limit: int) -> ApiError:
    return request_too_large(f"Request entity too large: limit is {limit}")


_KNOWN_NAMES = {
    spelling.encode(): name
    for name in (
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    )
    for spelling in (name, name.title())
}
