"""Requests as handlers see them, and the two kinds of answers.

A path is decoded as a whole and split afterwards, as Go's URL.Path is: no name in Kubernetes has a slash.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus, unquote_to_bytes

if TYPE_CHECKING:
    from moorage.serve.pki.authentication import User

Headers = tuple[tuple[str, str], ...]


class Peer:
    """The other end of a connection. `subject` is that of its certificate, if it has one that our authority signed."""

    __slots__ = ("address", "subject", "user")

    def __init__(self, address: str, subject: tuple[tuple[str, str], ...] = ()) -> None:
        self.address = address
        self.subject = subject
        self.user: User | None = None


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
        """The first value."""
        values = self._values.get(name)
        return values[0] if values else default

    def all(self, name: str) -> list[str]:
        return self._values.get(name, [])

    def names(self) -> list[str]:
        return list(self._values)

    def __contains__(self, name: str) -> bool:
        return name in self._values


class Request:
    """One complete request. Header names are in lower case; repeated headers are joined by commas."""

    __slots__ = (
        "_query",
        "body",
        "headers",
        "keep_alive",
        "method",
        "path",
        "peer",
        "query_text",
        "target",
        "user",
        "version",
    )

    def __init__(
        self,
        method: str,
        target: str,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        peer: Peer | None = None,
        version: str = "1.1",
        keep_alive: bool = True,
    ) -> None:
        self.method = method
        self.target = target
        self.path, self.query_text = split_target(target)
        self.headers = {} if headers is None else headers
        self.body = body
        self.peer = _NOBODY if peer is None else peer
        self.version = version
        self.keep_alive = keep_alive
        self.user: User | None = None
        self._query: Query | None = None

    @property
    def query(self) -> Query:
        if self._query is None:
            self._query = Query(self.query_text) if self.query_text else _NO_QUERY
        return self._query


class Response:
    """An answer whose body is at hand."""

    __slots__ = ("body", "content_type", "headers", "status")

    def __init__(
        self, status: int, body: bytes = b"", content_type: str = "application/json", headers: Headers = ()
    ) -> None:
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers


class Stream:
    """An answer of several chunks, each sent at once; the next is asked for when there is room for it.

    When the client has gone or the server stops, `chunks` is closed, so that its owner can clean up.
    """

    __slots__ = ("chunks", "content_type", "headers", "status")

    def __init__(
        self,
        chunks: AsyncIterator[bytes],
        content_type: str = "application/json",
        headers: Headers = (),
        status: int = 200,
    ) -> None:
        self.chunks = chunks
        self.content_type = content_type
        self.headers = headers
        self.status = status


Handler = Callable[[Request], Awaitable[Response | Stream]]


def split_target(target: str) -> tuple[str, str]:
    """Split the target of a request line into the decoded path and the query."""
    path, _, query = target.partition("?")
    if not path.startswith("/") and "://" in path:  # the form that proxies are sent
        _, _, path = path.partition("://")[2].partition("/")
        path = "/" + path
    if "%" in path or not path.isascii():
        path = unquote_to_bytes(path.encode("latin-1", "replace")).decode("utf-8", "replace")
    return path, query


_NO_QUERY = Query("")
_NOBODY = Peer("")
