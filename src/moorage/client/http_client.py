"""Speak the `Client` protocol over HTTP. Kubernetes: client-go's rest package.

Connections are reused; a GET on a connection that turns out to be closed is repeated, a write never is. Retry-After
(429 and 5xx) is obeyed up to ten times, except for evictions. Expired credentials are renewed. With a `fence` every
attempt to send a write asks it first. Differs: objects keep their bytes and are decoded on demand.
"""

import asyncio
import random as randomness
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Unpack
from urllib.parse import urlencode, urlsplit

import msgspec

from moorage import __version__
from moorage.client import http_wire as wire
from moorage.client.http_connections import MAX_ANSWER_BYTES, Answer, BrokenConnection, ConnectionPool, Stream
from moorage.client.kubeconfig.access import Access, Credentials, KubeconfigError, tls_context
from moorage.client.lease_fence import LeaseFence, LeaseRanOut
from moorage.client.protocol import DeletionDemands, Listing, Object, PatchType, Raw, Unreachable, WatchEvent
from moorage.client.refusals import RefusalLog
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import escape_html
from moorage.model.kinds import KINDS, Kind

PAGE_SIZE = 500
REQUEST_SECONDS = 60.0
MAX_EVENT_BYTES = 32 * 1024 * 1024

_WATCH_SECONDS = (300, 600)
_WATCH_GRACE_SECONDS = 30  # how much longer than agreed a watch may last
_MAX_DELAYS = 10
_MAX_DELAY_LENGTH = 60.0
_JSON = b"application/json"
_to_json = msgspec.json.Encoder().encode


class HttpClient:
    """A client of one API server. `component` becomes the field manager.

    With `dry_run` nothing that it writes is stored: the server does everything else, and answers as if it were.
    """

    def __init__(
        self,
        access: Access,
        component: str = "client",
        *,
        most_connections: int = 64,
        request_seconds: float = REQUEST_SECONDS,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        dry_run: bool = False,
        fence: LeaseFence | None = None,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = randomness.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Raises KubeconfigError if the certificates cannot be used."""
        url = urlsplit(access.server)
        self.manager = f"moorage-{component}"
        self._access = access
        self._base = url.path.rstrip("/")
        self._is_secure = url.scheme == "https"
        self._query = {"dryRun": "All"} if dry_run else {}
        self._most_connections, self._max_answer_bytes = most_connections, max_answer_bytes
        self._seconds, self._clock, self._random, self._sleep = request_seconds, clock, random, sleep
        self._credentials = Credentials(access, now=clock)
        self._fence = fence
        self._renewal: asyncio.Task[None] | None = None
        self.refusals: RefusalLog | None = None
        #: Hears of each page of a list: the kind, how many are there, and how many in all (0: the server does not say).
        self.on_page: Callable[[Kind, int, int], None] | None = None
        fixed = [("Host", url.netloc), ("User-Agent", f"{self.manager}/{__version__}"), ("Accept", "application/json")]
        self._fixed = "".join(f"{name}: {value}\r\n" for name, value in (*fixed, *access.impersonate)).encode("ascii")
        self._certificate: tuple[bytes, bytes] = (b"", b"")
        self._pool = self._new_pool()
        self._head = b""
        self._set_head()

    def _new_pool(self) -> ConnectionPool:
        tls = tls_context(self._access, *self._certificate) if self._is_secure else None
        return ConnectionPool(
            self._access.server,
            tls,
            server_name=self._access.server_name,
            most=self._most_connections,
            max_answer_bytes=self._max_answer_bytes,
        )

    def _set_head(self) -> None:
        said = self._credentials.authorization
        authorization = b"Authorization: %s\r\n" % said if said else b""
        self._head = b" HTTP/1.1\r\n" + self._fixed + authorization

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        answer = await self._request(b"GET", wire.object_path(kind, name, namespace))
        return wire.read_object(kind, answer.body)

    async def read(self, path: str) -> Raw:
        body = await self.get_path(path)
        try:
            document: Raw = msgspec.json.decode(body, type=dict[str, Any])
        except msgspec.DecodeError as error:
            raise Unreachable(f"the answer to GET {path} is no JSON object: {error}") from None
        return document

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        path = wire.collection_path(kind, namespace)
        selectors = _selectors(labels, fields)
        page = await self._page(kind, path, {**selectors, "limit": str(PAGE_SIZE)})
        items, revision = page.items, page.revision
        self._tell_page(kind, len(items), page)
        while page.continues:
            query = {**selectors, "limit": str(PAGE_SIZE), "continue": page.continues}
            try:
                page = await self._page(kind, path, query)
            except ApiError as error:
                if error.code != 410:
                    raise
                # The first page's revision has expired: list everything at once.
                page = await self._page(kind, path, selectors)
                items, revision = [], page.revision
            items += page.items
            self._tell_page(kind, len(items), page)
        return Listing(items, revision)

    def _tell_page(self, kind: Kind, number: int, page: wire.Page) -> None:
        if self.on_page is not None:
            self.on_page(kind, number, number + page.remaining if page.remaining or not page.continues else 0)

    async def list_some(self, kind: Kind, most: int) -> tuple[list[Object], bool]:
        """List at most `most` objects of all namespaces, a page at a time; return whether these are all, too."""
        path = wire.collection_path(kind, "")
        items: list[Object] = []
        query = {"limit": str(min(PAGE_SIZE, most))}
        while True:
            try:
                page = await self._page(kind, path, query)
            except ApiError as error:
                if error.code != 410 or not items:
                    raise
                return items, False  # the first page's revision has expired
            items += page.items
            if not page.continues or len(items) >= most:
                return items, not page.continues
            query["continue"] = page.continues

    async def _page(self, kind: Kind, path: str, query: dict[str, str]) -> wire.Page:
        answer = await self._request(b"GET", _with_query(path, query))
        return wire.read_page(kind, answer.body)

    async def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        least, most = _WATCH_SECONDS
        seconds = int(least + (most - least) * self._random())
        query = {"watch": "true", "allowWatchBookmarks": "true", "resourceVersion": str(revision)}
        query |= {"timeoutSeconds": str(seconds), **_selectors(labels, fields)}
        path = _with_query(wire.collection_path(kind, namespace), query)
        await self._renew_if_expired()
        pool = self._pool
        connection = await pool.dial_stream()
        try:
            answer = await connection.send(self._render(b"GET", path), self._seconds, stream=True)
            if answer.stream is None:
                if answer.status == 401 and self._credentials.can_refresh:
                    self._credentials.expires = 0.0
                raise self._refusal(answer)
            connection.give_up_after(seconds + _WATCH_GRACE_SECONDS, "the watch did not end when it should have")
            async for lines in _whole_lines(answer.stream):
                events, error = wire.read_events(kind, lines)
                if events:
                    yield events
                if error is not None:
                    raise error
        finally:
            pool.end_stream(connection)

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        namespace = wire.namespace_to_create_in(kind, document, namespace)
        path = _with_query(wire.collection_path(kind, namespace), self._query)
        answer = await self._request(b"POST", path, _encode(document))
        return wire.read_object(kind, answer.body)

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        name, namespace = wire.metadata_text(document, "name"), wire.metadata_text(document, "namespace")
        path = _with_query(wire.object_path(kind, name, namespace, subresource), self._query)
        answer = await self._request(b"PUT", path, _encode(document))
        return wire.read_object(kind, answer.body)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        query = {"fieldManager": self.manager, "force": "true"} if patch_type is PatchType.APPLY else {}
        path = _with_query(wire.object_path(kind, name, namespace, subresource), {**query, **self._query})
        answer = await self._request(b"PATCH", path, _encode(patch), patch_type.value.encode())
        return wire.read_object(kind, answer.body)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        options = wire.render_delete_options(**demands, dry_run=bool(self._query))
        await self._request(b"DELETE", wire.object_path(kind, name, namespace), _to_json(options) if options else b"")

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        body = _to_json(wire.render_binding(namespace, name, uid, node))
        await self._request(b"POST", self._pod_path(name, namespace, "binding"), body)

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        body = _to_json(wire.render_eviction(namespace, name, uid))
        await self._request(b"POST", self._pod_path(name, namespace, "eviction"), body, waits=False)

    def _pod_path(self, name: str, namespace: str, subresource: str) -> str:
        return _with_query(wire.object_path(KINDS.POD, name, namespace, subresource), self._query)

    async def close(self) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # connections close one turn of the loop later

    async def get_path(self, path: str) -> bytes:
        """Return the body at a path such as /metrics or /version."""
        return (await self._request(b"GET", path)).body

    async def _request(
        self, method: bytes, path: str, body: bytes = b"", media_type: bytes = _JSON, *, waits: bool = True
    ) -> Answer:
        """Send a request and return a 2xx answer. Raises ApiError, Unreachable."""
        if self._credentials.expires <= self._clock():
            await self._renew_if_expired()
        delays = 0
        renewed = False
        while True:
            answer = await self._exchange(method, self._render(method, path, body, media_type))
            status = answer.status
            if 200 <= status < 300:
                return answer
            if status == 401 and self._credentials.can_refresh and not renewed:
                renewed = True
                await self._renew()
                continue
            if waits and delays < _MAX_DELAYS and (status == 429 or status >= 500):
                seconds = answer.header(b"retry-after")
                if seconds.isascii() and seconds.isdigit():
                    delays += 1
                    await self._sleep(min(float(seconds[:4]), _MAX_DELAY_LENGTH))
                    continue
            raise self._refusal(answer)

    def _refusal(self, answer: Answer) -> ApiError:
        error = _error_of(answer)
        if self.refusals is not None:
            self.refusals.note(error)
        return error

    def _render(self, method: bytes, path: str, body: bytes = b"", media_type: bytes = _JSON) -> bytes:
        target = (self._base + path).encode("ascii")
        if not body:
            tail = b"\r\n" if method == b"GET" else b"Content-Length: 0\r\n\r\n"
            return b"%s %s%s%s" % (method, target, self._head, tail)
        return b"%s %s%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (
            method,
            target,
            self._head,
            media_type,
            len(body),
            body,
        )

    async def _exchange(self, method: bytes, request: bytes) -> Answer:
        pool = self._pool
        while True:
            connection = pool.take_idle()
            if connection is None:
                connection = await pool.take()
            try:
                if self._fence is not None and method != b"GET":
                    self._fence.check()  # now: the process may have been stopped while it waited for the connection
                return await connection.send(request, self._seconds)
            except LeaseRanOut:
                raise
            except BrokenConnection as error:
                # The server may have closed an idle connection just now: repeat reads, never writes.
                if method != b"GET" or error.answered or connection.requests == 1:
                    raise
            except BaseException:
                connection.close()
                raise
            finally:
                pool.give_back(connection)

    async def _renew_if_expired(self) -> None:
        if self._credentials.expires <= self._clock():
            await self._renew()

    async def _renew(self) -> None:
        """Renew the credentials, once for all requests that wait for it. Raises Unreachable."""
        if self._renewal is None:
            self._renewal = asyncio.create_task(self._renew_now())
            self._renewal.add_done_callback(lambda task: task.cancelled() or task.exception())
        renewal = self._renewal
        try:
            await asyncio.shield(renewal)
        except KubeconfigError as error:
            raise Unreachable(str(error)) from None
        finally:
            if renewal.done() and self._renewal is renewal:
                self._renewal = None

    async def _renew_now(self) -> None:
        await self._credentials.refresh()
        if self._credentials.certificate != self._certificate:
            self._certificate = self._credentials.certificate
            old, self._pool = self._pool, self._new_pool()
            old.retire()
        self._set_head()


def _selectors(labels: str, fields: str) -> dict[str, str]:
    query = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in query.items() if value}


def _with_query(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _error_of(answer: Answer) -> ApiError:
    error = wire.read_error(answer.status, answer.body)
    after = answer.header(b"retry-after")
    if after:
        error.headers = (("Retry-After", after),)
    return error


async def _whole_lines(stream: Stream) -> AsyncGenerator[bytes, None]:
    """Yield the stream in whole lines. Raises Unreachable for an endless line."""
    rest: list[bytes] = []
    size = 0
    while piece := await stream.read():
        end = piece.rfind(b"\n") + 1
        if not end:
            rest.append(piece)
            size += len(piece)
            if size > MAX_EVENT_BYTES:
                raise Unreachable(f"the server sent a watch event of more than {MAX_EVENT_BYTES} bytes")
            continue
        lines = b"".join((*rest, piece[:end])) if rest else piece[:end]
        rest, size = ([piece[end:]], len(piece) - end) if end < len(piece) else ([], 0)
        yield lines


def _encode(document: Raw | list[Raw]) -> bytes:
    """Return JSON with Go's escapes: an API server may keep a part of the text, and compare it with what Go wrote."""
    return escape_html(_to_json(document))
