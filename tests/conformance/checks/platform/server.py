"""An API server without a wire, for one case: requests in, codes and documents out.

Its admission plugins are those of the recording: without ServiceAccount and TaintNodesByCondition.
"""

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec

from moorage.admit.chain import Admission
from moorage.admit.plugins.service_account import ServiceAccount
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, OLDER_VERSIONS, VIRTUAL_KINDS, Kind
from moorage.serve.access.modes import use_modes
from moorage.serve.http.messages import Request, Response, Stream, render_refusal
from moorage.serve.pki.authentication import AUTHENTICATED, MASTERS, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.tokens.service_accounts import TokenKeys
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]

ADMIN = User("admin", "admin", (MASTERS, AUTHENTICATED))
ADMIN_TOKEN = "admin-token"
JSON = "application/json"
_AGENT = "vectors"
_KEYS = TokenKeys()  # made at first use, for all cases


class Answer(NamedTuple):
    """The code of an answer, its document (or its text), the texts of its Warning headers and its audit annotations."""

    code: int
    document: Any
    warnings: list[str]
    audit: Mapping[str, str] = {}


class PlatformServer:
    """One server, with an empty store unless one is given. Make it with `started`."""

    def __init__(self, modes: Sequence[str] = (), store: MemoryStore | None = None) -> None:
        metrics = Metrics()
        store = MemoryStore() if store is None else store
        self.api = Api(store, default_gates(), fixed_tokens={ADMIN_TOKEN: ADMIN}, token_keys=_KEYS)
        self.api.directory.service_range = IPv4Network("10.0.0.0/16")
        if modes:
            use_modes(self.api, modes)
        self.use_plugins()
        self._handler = Handler(self.api, WebPaths((), metrics.render, self.api.resources), ApiServerMetrics(metrics))

    def use_plugins(self, *, protects_storage: bool = False) -> None:
        """Let the chain have the plugins that the recording server had."""
        api = self.api
        api.admission = Admission(
            api.directory,
            api.gates,
            protects_storage=protects_storage,
            without=(ServiceAccount,),
            extensions=api.extensions,
        )

    @classmethod
    async def started(
        cls, *namespaces: str, modes: Sequence[str] = (), store: MemoryStore | None = None
    ) -> "PlatformServer":
        """Start a server. It authorizes by `modes`, or else by RBAC."""
        server = cls(modes, store)
        await server.api.start()
        for name in namespaces:
            await server.post({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return server

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content_type: str = JSON,
        accept: str = JSON,
        query: Mapping[str, str] | None = None,
        user: User = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request; a refusal is an answer, too."""
        target = f"{path}?{urlencode(query)}" if query else path
        sent = {"content-type": content_type, "accept": accept, "user-agent": _AGENT, **(headers or {})}
        request = Request(method, target, sent, body)
        request.user = user
        try:
            answer = await self._handler(request)
        except ApiError as error:
            answer = render_refusal(error)
        if isinstance(answer, Stream) and not answer.is_whole:  # a watch, which has no end
            await answer.chunks.aclose()  # type: ignore[attr-defined]
            return Answer(answer.status, None, [])
        if isinstance(answer, Stream):
            chunks = b"".join([chunk async for chunk in answer.chunks])
            answer = Response(answer.status, chunks, answer.content_type, answer.headers)
        warnings = [_warning_text(value) for name, value in answer.headers if name.lower() == "warning"]
        return Answer(answer.status, _document(answer.body), warnings, request.audit)

    async def post(self, document: Raw, namespace: str = "", user: User = ADMIN) -> Answer:
        """Create an object of a built-in kind."""
        kind = built_in(document["apiVersion"], document["kind"])
        where = namespace or document.get("metadata", {}).get("namespace", "default")
        path = collection_path(kind.api_version, kind.plural, where if kind.namespaced else "")
        return await self.ask("POST", path, msgspec.json.encode(document), user=user)


def built_in(api_version: str, name: str) -> Kind:
    """Return a kind of the table, also in an older version. Raises LookupError."""
    if (own := OLDER_VERSIONS.get((api_version, name))) is not None:
        return own.in_version(api_version.rpartition("/")[2])
    for kind in (*KINDS.values(), *VIRTUAL_KINDS):
        if (kind.api_version, kind.name) == (api_version, name):
            return kind
    raise LookupError(f"there is no {name} in {api_version}")


def collection_path(api_version: str, plural: str, namespace: str = "") -> str:
    root = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    return f"{root}/namespaces/{namespace}/{plural}" if namespace else f"{root}/{plural}"


def _document(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode()


def _warning_text(header: str) -> str:
    """Return the text of a Warning header: `299 - "text"`."""
    quoted = header.partition('"')[2].rpartition('"')[0]
    return quoted.replace('\\"', '"').replace("\\\\", "\\")
