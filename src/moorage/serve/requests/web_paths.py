"""Answer paths outside of the resources: health, version, metrics, profiles, discovery, OpenAPI, snapshots.

A snapshot is a copy of the store as of one revision, Secrets included, for `moorage snapshot save`: only administrators
get it. Kubernetes: the generic API server's own handlers.
"""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import NamedTuple

from moorage.model.api_error import failure, internal, method_not_supported, no_such_path
from moorage.model.go.quoting import go_quote
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import MASTERS
from moorage.serve.requests.kube_state import answer_kube_state
from moorage.serve.requests.profile_path import PREFIX, answer_profile
from moorage.serve.requests.rendering import json_response
from moorage.serve.resources.discovery import answer_discovery, version_document
from moorage.serve.resources.served import BUILT_IN, Resources
from moorage.serve.tokens.keys import CONFIGURATION_PATH, KEYS_PATH, answer_key_discovery
from moorage.serve.tokens.service_accounts import ServiceAccountTokens
from moorage.store.data_directory import write_problem
from moorage.store.protocol import Store, StoreFailed

_HEALTH = ("/livez", "/readyz", "/healthz")
_TEXT = "text/plain; charset=utf-8"
_KUBE_STATE = "/metrics/kube-state"


SNAPSHOT_PATH = "/moorage/snapshot"
DESCRIPTION_PATH = f"{SNAPSHOT_PATH}/description"
_CHUNK = 1024 * 1024


class SnapshotSource:
    """The store to copy, the folder for a copy that is being sent, and the cluster's description, as JSON."""

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.description = b"{}"
        self._store, self._folder = store, folder

    async def answer(self, request: Request) -> Response | Stream:
        """Raises ApiError, also if there is no space for the copy."""
        user = request.user
        if user is None or MASTERS not in user.groups:
            raise failure(403, "Forbidden", f"snapshots are for users in the group {MASTERS}")
        path = request.path.rstrip("/")
        if path == DESCRIPTION_PATH:
            return Response(200, self.description)
        if path != SNAPSHOT_PATH:
            raise no_such_path()
        chunks = self._chunks()
        await anext(chunks)  # once an answer has begun, a client cannot be told what failed
        return Stream(chunks, "application/octet-stream", is_whole=True)

    async def _chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield nothing once the copy is made, then its content. Raises ApiError."""
        place = self._folder or Path(tempfile.gettempdir())
        try:
            with tempfile.TemporaryDirectory(prefix="snapshot-", dir=place) as folder:
                path = Path(folder) / "copy"
                await self._store.copy(path)
                with path.open("rb") as file:
                    yield b""
                    while chunk := await asyncio.to_thread(file.read, _CHUNK):
                        yield chunk
        except StoreFailed as error:
            raise internal(f"{error} ({place}, where the API server keeps its data)") from None
        except OSError as error:
            raise internal(f"the copy could not be made in {place}: {write_problem(error)}") from None


class Check(NamedTuple):
    """A health check: its name, and a function that returns what is wrong, or an empty text.

    One `of_readiness` says nothing of whether the process lives.
    """

    name: str
    complaint: Callable[[], str]
    of_readiness: bool = False


class WebPaths:
    """`checks` decide about health; `render_metrics` returns the Prometheus text for an Accept header.

    `served` has the kinds of discovery and OpenAPI; `store` has the objects that /metrics/kube-state shows;
    `snapshots` has copies of all of them; `tokens` has the keys that service accounts' tokens are signed with. `url` is
    where they are published: it is known once the server listens.
    """

    def __init__(
        self,
        checks: tuple[Check, ...],
        render_metrics: Callable[[str], tuple[bytes, str]],
        served: Resources = BUILT_IN,
        store: Store | None = None,
        snapshots: SnapshotSource | None = None,
        tokens: ServiceAccountTokens | None = None,
    ) -> None:
        self._checks = checks
        self._store, self._snapshots = store, snapshots
        self._served = served
        self._render_metrics = render_metrics
        self._tokens, self.url = tokens, ""

    async def snapshot(self, request: Request) -> Response | Stream:
        """Answer below `SNAPSHOT_PATH`. Raises ApiError."""
        if request.method not in ("GET", "HEAD"):
            raise method_not_supported()
        if self._snapshots is None:
            raise no_such_path()
        return await self._snapshots.answer(request)

    def answer(self, request: Request) -> Response | Stream:
        path = request.path.rstrip("/") or "/"
        if request.method not in ("GET", "HEAD"):
            is_group = path.startswith(("/api/", "/apis/"))
            is_absent = is_group and answer_discovery(path, "", self._served) is None
            raise no_such_path() if is_absent else method_not_supported()
        accept = request.headers.get("accept", "")
        if path.startswith(_HEALTH):
            return self._health(path, request)
        if path == "/version":
            return json_response(version_document())
        if path == "/metrics":
            body, content_type = self._render_metrics(accept)
            return Response(200, body, content_type)
        if path == _KUBE_STATE and self._store is not None:
            return answer_kube_state(self._store)
        if path.startswith(PREFIX):
            return answer_profile(request)
        if path.startswith("/openapi/"):
            return _openapi(path, request, self._served)
        if path == "/":
            return json_response({"paths": sorted(_paths(self._served))})
        if self._tokens is not None and (keys := answer_key_discovery(path, self._tokens, self.url)) is not None:
            return keys
        discovery = answer_discovery(path, accept, self._served, self.url.partition("://")[2])
        if discovery is None:
            raise no_such_path()
        return _unless_known(request, discovery)

    def _health(self, path: str, request: Request) -> Response:
        root, _, single = path[1:].partition("/")
        if root not in ("livez", "readyz", "healthz"):
            raise no_such_path()
        known = [check for check in self._checks if root == "readyz" or not check.of_readiness]
        checks = [check for check in known if not single or check.name == single]
        if single and not checks:
            raise no_such_path()
        left_out = set() if single else set(request.query.all("exclude"))
        lines, is_well = [], True
        for check in checks:
            why = "" if check.name in left_out else check.complaint()
            is_well = is_well and not why
            well = f"[+]{check.name} excluded: ok" if check.name in left_out else f"[+]{check.name} ok"
            lines.append(f"[-]{check.name} failed: {why}" if why else well)
        if is_well and "verbose" not in request.query:
            return Response(200, b"ok", _TEXT)
        if unknown := sorted(left_out - {check.name for check in checks}):
            names = ",".join(map(go_quote, unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        lines.append(f"{root} check {'passed' if is_well else 'failed'}")
        return Response(200 if is_well else 500, "\n".join([*lines, ""]).encode(), _TEXT)


def _openapi(path: str, request: Request, served: Resources) -> Response:
    # Only few clients ever ask, and what answers them takes a while to import.
    from moorage.serve.openapi.documents import (
        custom_openapi_v3,
        etag_of,
        openapi_v2,
        openapi_v2_protobuf,
        openapi_v3,
        openapi_v3_index,
    )
    from moorage.serve.openapi.protobuf_document import MEDIA_TYPE, asks_for_protobuf

    kinds, media_type = served.kinds, "application/json"
    custom = [kind for kind in served.custom if isinstance(kind, ServedKind)]
    if path == "/openapi/v2" and asks_for_protobuf(request.headers.get("accept", "")):
        body: bytes | None = served.remembered("v2 protobuf", lambda: openapi_v2_protobuf(kinds, custom))
        media_type = MEDIA_TYPE
    elif path == "/openapi/v2":
        body = served.remembered("v2", lambda: openapi_v2(kinds, custom))
    elif path == "/openapi/v3":
        body = served.remembered("v3", lambda: openapi_v3_index(kinds, custom))
    else:
        root, _, group_version = path.removeprefix("/openapi/v3/").partition("/")
        known = root == ("apis" if "/" in group_version else "api")
        body = (openapi_v3(group_version, kinds) or custom_openapi_v3(group_version, custom)) if known else None
    if body is None:
        raise no_such_path()
    tag, requested = etag_of(body), request.query.get("hash") if path.startswith("/openapi/v3/") else ""
    if requested and requested != tag:
        return Response(301, b"", _TEXT, (("Location", f"{path}?hash={tag}"),))
    kept = "public, immutable" if requested else "public"
    headers = (("ETag", f'"{tag}"'), ("Vary", "Accept"), ("Cache-Control", kept))
    return _unless_known(request, Response(200, body, media_type, headers))


def _unless_known(request: Request, response: Response) -> Response:
    """304 if the client has this answer already."""
    tag = dict(response.headers).get("ETag")
    if tag is not None and tag in request.headers.get("if-none-match", ""):
        return Response(304, b"", "", response.headers)
    return response


def _paths(served: Resources) -> set[str]:
    groups = {group for group, _, _ in served.table if group}
    versions = {f"/apis/{group}/{version}" for group, version, _ in served.table if group}
    fixed = {"/api", "/api/v1", "/apis", "/openapi/v2", "/openapi/v3", "/version", *_HEALTH}
    fixed |= {CONFIGURATION_PATH, KEYS_PATH, "/metrics", _KUBE_STATE, "/debug/pprof", "/debug/pprof/profile"}
    return fixed | versions | {f"/apis/{group}" for group in groups}
