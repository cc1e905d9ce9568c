"""Answer the requests of browsers: let them in, then serve the page, the cluster's state, questions and actions.

The page's files are read once and served with a digest, so that a browser asks again but rarely loads again.
"""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from moorage.dashboard.http.guard import SECURITY_HEADERS, Guard
from moorage.dashboard.http.sessions import (
    Sessions,
    refuse_used,
    refuse_without,
    refuse_wrong,
    session_in,
    set_cookie,
    welcome,
)
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.serve.http.messages import Headers, Request, Response, Stream

JSON_HEADERS: Headers = (*SECURITY_HEADERS, ("Cache-Control", "no-store"))
_NO_SESSION = "This page needs the address that moorage dashboard printed when it started, with its token."
#: What the notice for browsers without a session looks like is no secret.
_OPEN_ASSETS = frozenset({"styles/theme.css", "styles/base.css"})

Answer = Response | Stream
RouteHandler = Callable[[Request, tuple[str, ...]], Awaitable[Answer]]


def as_json(value: Any, status: int = 200) -> Response:
    return Response(status, msgspec.json.encode(value), "application/json", JSON_HEADERS)


def body_of(request: Request) -> dict[str, Any]:
    """Return the JSON object that was sent. Raises ApiError."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        raise failure(415, "UnsupportedMediaType", "the body must be application/json")
    try:
        document = msgspec.json.decode(request.body or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_request(f"the body is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise bad_request("the body is not a JSON object")
    return document


class Application:
    """The handler and the gate of the HTTP server. `announce` prints an address with a new token."""

    def __init__(
        self, guard: Guard, sessions: Sessions, port: int, routes: "Routes", announce: Callable[[str], None]
    ) -> None:
        self._guard, self._sessions, self._port = guard, sessions, port
        self._routes, self._announce = routes, announce
        self._assets: dict[str, Asset] = read_assets()

    def gate(self, request: Request) -> None:
        """Refuse before the body is received. Raises ApiError."""
        self._guard.check(request)
        if request.path != "/" and request.path.removeprefix("/") not in _OPEN_ASSETS and not self._is_let_in(request):
            raise failure(401, "Unauthorized", _NO_SESSION)

    async def handle(self, request: Request) -> Answer:
        try:
            return await self._handle(request)
        except ApiError as error:
            return as_json({"error": error.message}, error.code)

    async def _handle(self, request: Request) -> Answer:
        if request.path == "/":
            return self._front_page(request)
        if request.path.startswith("/api/"):
            return await self._routes.handle(request)
        asset = self._assets.get(request.path.removeprefix("/"))
        if asset is None or request.method not in ("GET", "HEAD"):
            raise failure(404, "NotFound", f"there is nothing at {request.path}")
        return serve_asset(request, asset)

    def _is_let_in(self, request: Request) -> bool:
        return self._sessions.has(session_in(request.headers.get("cookie", ""), self._port))

    def _front_page(self, request: Request) -> Answer:
        token = request.query.get("token")
        if token and (session := self._sessions.exchange(token)):
            return welcome(set_cookie(self._port, session))
        if not self._is_let_in(request):
            if not token:
                return refuse_without()
            if not self._sessions.was_used(token):
                return refuse_wrong()
            if not self._sessions.token:
                self._announce(self._sessions.renew())
            return refuse_used()
        return serve_asset(request, self._assets["index.html"])


class Routes:
    """The table of what is below `/api`: method and path, of which a part may be `*`, and what answers."""

    def __init__(self) -> None:
        self._routes: list[tuple[str, tuple[str, ...], RouteHandler]] = []

    def add(self, method: str, path: str, handler: RouteHandler) -> None:
        self._routes.append((method, tuple(path.strip("/").split("/")), handler))

    async def handle(self, request: Request) -> Answer:
        parts = tuple(request.path.strip("/").split("/"))
        allowed = []
        for method, pattern, handler in self._routes:
            values = _match(pattern, parts)
            if values is None:
                continue
            if method == request.method:
                return await handler(request, values)
            allowed.append(method)
        if allowed:
            raise failure(405, "MethodNotAllowed", f"{request.path} takes {' and '.join(allowed)}")
        raise failure(404, "NotFound", f"there is nothing at {request.path}")


def _match(pattern: tuple[str, ...], parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return what stands for each `*`; None if the path is another."""
    if len(pattern) != len(parts):
        return None
    if any(expected not in ("*", part) for expected, part in zip(pattern, parts, strict=True)):
        return None
    return tuple(part for expected, part in zip(pattern, parts, strict=True) if expected == "*")


def json_lines(parts: AsyncIterator[dict[str, Any]]) -> Stream:
    """Return an answer of a JSON object a line, each sent when it is there."""

    async def chunks() -> AsyncIterator[bytes]:
        try:
            async for part in parts:
                yield msgspec.json.encode(part) + b"\n"
        finally:
            close = getattr(parts, "aclose", None)
            if close is not None:
                await close()

    return Stream(chunks(), "application/x-ndjson", JSON_HEADERS)


_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "json": "application/json",
    "webmanifest": "application/manifest+json",
}


class Asset(msgspec.Struct, frozen=True):
    """A file of the page."""

    body: bytes
    content_type: str
    digest: str


def read_assets() -> dict[str, Asset]:
    """Return all files of the page by their path below it, such as `lib/api.js`."""
    return dict(_below(files("moorage.dashboard").joinpath("web"), ""))


def _below(folder: Traversable, prefix: str) -> list[tuple[str, Asset]]:
    assets: list[tuple[str, Asset]] = []
    for entry in folder.iterdir():
        if entry.is_dir():
            assets += _below(entry, f"{prefix}{entry.name}/")
            continue
        content_type = _TYPES.get(entry.name.rpartition(".")[2])
        if content_type is not None:
            body = entry.read_bytes()
            asset = Asset(body, content_type, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            assets.append((f"{prefix}{entry.name}", asset))
    return assets


def serve_asset(request: Request, asset: Asset) -> Response:
    headers = (*SECURITY_HEADERS, ("ETag", asset.digest), ("Cache-Control", "no-cache"))
    if request.headers.get("if-none-match") == asset.digest:
        return Response(304, b"", "", headers)
    return Response(200, asset.body, asset.content_type, headers)
