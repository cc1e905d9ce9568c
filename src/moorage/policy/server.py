"""Make one request to an API server without a wire, and tell what policies had to do with the answer.

The policies of a suite and the other objects of its cluster are put in order and stored once, as they would be if no
policy looked at them; every request starts from a copy. Authorizers let every request through, but expressions that ask
them get the answers of the roles in the input. Webhooks are not called.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec

from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Remarks
from moorage.admit.objects_world import SYSTEM_NAMESPACES
from moorage.lint.facts.served_kinds import version_of_kind
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import Kind
from moorage.policy.cases import ALLOW, CONNECT, CREATE, DELETE, DENY, INVALID, UPDATE, PlacedObject, UnreadableCases
from moorage.serve.access.authorization import Attributes, Authorization
from moorage.serve.access.bootstrap.policy import bootstrap_bindings, bootstrap_roles
from moorage.serve.http.messages import Request, Response, Stream, render_refusal
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.tokens.service_accounts import TokenKeys
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
_KEYS = TokenKeys()  # made at first use, for all servers
_METHODS = {CREATE: "POST", UPDATE: "PUT", DELETE: "DELETE", CONNECT: "POST"}
#: What others depend on comes first.
_FIRST = ("CustomResourceDefinition", "Namespace")
_TYPE = ("apiVersion", "kind", "metadata")


class PolicyRequest(NamedTuple):
    """A request: `object` is its body, `old` is stored before it is made."""

    operation: str
    object: Raw | None
    old: Raw | None
    user: User = ADMIN
    subresource: str = ""


class PolicyAnswer(NamedTuple):
    """What came of a request. `decision` is deny if a policy refuses it, invalid if the API server does.

    `request` is None if no policy could be about it.
    """

    decision: str
    code: int
    message: str
    object: Raw | None
    warnings: tuple[str, ...]
    remarks: Remarks
    request: ExtendedRequest | None = None


class PolicyCluster:
    """The objects that every request of a suite finds. Make it with `made`."""

    def __init__(self, gates: GateSet, stored: Sequence[Stored]) -> None:
        self._gates, self._stored = gates, stored

    @classmethod
    async def made(cls, gates: GateSet, objects: Sequence[PlacedObject]) -> "PolicyCluster":
        """Admit objects. Raises UnreadableCases for one that the API server refuses."""
        server = await _Server.started(gates, await _new_cluster(gates))
        for placed in sorted(objects, key=lambda each: _rank(each.raw)):
            await server.put(placed)
        return cls(gates, await server.everything())

    async def ask(self, request: PolicyRequest, place: str = "the case") -> PolicyAnswer:
        """Make a request. Raises UnreadableCases if its old object is refused, or if its kind is not known."""
        server = await _Server.started(self._gates, self._stored)
        if request.old is not None:
            await server.put(PlacedObject(request.old, f"{place}: oldObject"))
        return await server.ask(request, place)


#: What every cluster has, by the gates of its API server. It takes longer to make than most cases.
_NEW_CLUSTERS: dict[GateSet, Sequence[Stored]] = {}
_MOST_NEW_CLUSTERS = 8


async def _new_cluster(gates: GateSet) -> Sequence[Stored]:
    """Return roles and namespaces as they are stored before anything else is."""
    known = _NEW_CLUSTERS.get(gates)
    if known is None:
        server = await _Server.started(gates, ())
        for raw in (*bootstrap_roles(), *bootstrap_bindings()):
            await server.put(PlacedObject(raw, "the roles of every cluster"))
        for name in SYSTEM_NAMESPACES:
            await server.put(PlacedObject(_namespace(name), f"namespace {name}"))
        if len(_NEW_CLUSTERS) >= _MOST_NEW_CLUSTERS:
            _NEW_CLUSTERS.clear()
        known = _NEW_CLUSTERS[gates] = await server.everything()
    return known


def _rank(raw: Raw) -> int:
    return _FIRST.index(raw["kind"]) if raw.get("kind") in _FIRST else len(_FIRST)


def _namespace(name: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


class _Unchecked(Authorization):
    """Answers questions about rights, and lets every request through."""

    def check(self, user: User, attributes: Attributes) -> None:
        pass


class _PolicyApi(Api):
    """An API server that keeps what policies remark on the last request."""

    last: ExtendedRequest | None = None

    def note(self, extended: ExtendedRequest) -> None:
        self.last = extended


class _Server:
    """An API server for one request."""

    def __init__(self, gates: GateSet, store: MemoryStore) -> None:
        metrics = Metrics()
        self._store = store
        self.api = _PolicyApi(store, gates, token_keys=_KEYS)
        self.api.authorization = _Unchecked((self.api.roles,))
        self._handler = Handler(self.api, WebPaths((), metrics.render, self.api.resources), ApiServerMetrics(metrics))

    @classmethod
    async def started(cls, gates: GateSet, objects: Sequence[Stored]) -> "_Server":
        store = MemoryStore()
        for stored in objects:
            await store.create(stored.key, stored.value)
        server = cls(gates, store)
        await server.api.start()
        return server

    async def everything(self) -> Sequence[Stored]:
        return (await self._store.list("/")).items

    async def put(self, placed: PlacedObject) -> None:
        """Store an object past policies, in a namespace that is made for it. Raises UnreadableCases."""
        extensions, self.api.admission.extensions = self.api.admission.extensions, None
        raw = placed.raw
        try:
            kind = self._kind(raw, placed.place)
            namespace = _namespace_of(kind, raw)
            await self._ensure_namespace(namespace)
            answer = await self._send("POST", _path(kind, namespace), _clean(raw), ADMIN)
        finally:
            self.api.admission.extensions = extensions
        if answer.status >= 400 and answer.status != 409:
            refusal = _document(answer)
            raise UnreadableCases(f"{placed.place_of(_field_at_fault(refusal))}: {refusal.get('message')}")
        if raw.get("status") and kind.has_status and answer.status < 400:
            await self._put_status(kind, namespace, raw)

    async def _put_status(self, kind: Kind, namespace: str, raw: Raw) -> None:
        extensions, self.api.admission.extensions = self.api.admission.extensions, None
        try:
            path = _path(kind, namespace, str(raw["metadata"].get("name") or ""), "status")
            await self._send("PUT", path, _clean(raw), ADMIN)
        finally:
            self.api.admission.extensions = extensions

    async def _ensure_namespace(self, namespace: str) -> None:
        if namespace and self.api.directory.namespace(namespace) is None:
            await self._send("POST", "/api/v1/namespaces", _namespace(namespace), ADMIN)

    async def ask(self, request: PolicyRequest, place: str) -> PolicyAnswer:
        """Make a request past all policies, after its namespace was made."""
        self.api.last = None
        target = request.old if request.old is not None else request.object
        assert target is not None
        kind = self._kind(target, place)
        namespace = _namespace_of(kind, target)
        if request.object is not None and request.old is not None and not request.subresource:
            _check_same(request.object, request.old, self._kind(request.object, place), kind, place)
        extensions, self.api.admission.extensions = self.api.admission.extensions, None
        await self._ensure_namespace(namespace)
        self.api.admission.extensions = extensions
        is_named = request.operation != CREATE or bool(request.subresource)
        name = str((target.get("metadata") or {}).get("name") or "") if is_named else ""
        if request.subresource and kind.subresource(request.subresource) is None:
            known = ", ".join(each.name for each in kind.subresources) or "none"
            raise UnreadableCases(f"{place}: {kind.plural} have no subresource {request.subresource!r}; known: {known}")
        path = _path(kind, namespace, name, request.subresource)
        body = request.object
        if request.operation == CONNECT and body is not None:
            options = {name: value for name, value in body.items() if name not in _TYPE}
            path, body = f"{path}?{urlencode(options, doseq=True)}" if options else path, None
        answer = await self._send(_METHODS[request.operation], path, _clean(body) if body else None, request.user)
        return self._answer(answer, request.operation)

    def _answer(self, answer: Response, operation: str) -> PolicyAnswer:
        extended = self.api.last
        remarks = Remarks() if extended is None else extended.remarks
        document = _document(answer)
        warnings = tuple(_warning(text) for name, text in answer.headers if name.lower() == "warning")
        if answer.status < 400:
            return PolicyAnswer(ALLOW, answer.status, "", document, warnings, remarks, extended)
        message = str(document.get("message", ""))
        if any("Deny" in failure.actions for failure in remarks.failures):
            decision = DENY
        else:  # nothing runs in a simulated pod, so that who may run a command there is told that none can be run
            decision = ALLOW if operation == CONNECT and extended is not None else INVALID
        return PolicyAnswer(decision, answer.status, message, None, warnings, remarks, extended)

    async def _send(self, method: str, path: str, body: Raw | None, user: User) -> Response:
        sent = {"content-type": "application/json", "accept": "application/json", "user-agent": "moorage"}
        request = Request(method, path, sent, b"" if body is None else msgspec.json.encode(body))
        request.user = user
        try:
            answer = await self._handler(request)
        except ApiError as error:
            answer = render_refusal(error)
        if isinstance(answer, Stream):
            chunks = b"".join([chunk async for chunk in answer.chunks])
            answer = Response(answer.status, chunks, answer.content_type, answer.headers)
        return answer

    def _kind(self, raw: Raw, place: str) -> Kind:
        """Return the kind of an object. Raises UnreadableCases if it is not served."""
        for kind in self.api.resources.table.values():
            if (kind.api_version, kind.name) == (raw.get("apiVersion"), raw.get("kind")):
                return kind
        what = f"{raw.get('kind')} in {raw.get('apiVersion')}"
        known = version_of_kind(str(raw.get("kind")))
        hint = f"write apiVersion: {known}" if known else "a custom kind needs its CustomResourceDefinition"
        raise UnreadableCases(f"{place}: {what} is not served; {hint}")


def _check_same(new: Raw, old: Raw, new_kind: Kind, old_kind: Kind, place: str) -> None:
    """Raise UnreadableCases if an object is no update of another."""
    texts = [
        f"{kind.name} {namespace}{'/' if namespace else ''}{(raw.get('metadata') or {}).get('name')}"
        for raw, kind in ((new, new_kind), (old, old_kind))
        for namespace in (_namespace_of(kind, raw),)
    ]
    if texts[0] != texts[1] or new_kind.group != old_kind.group:
        raise UnreadableCases(f"{place}: {texts[0]} is no update of {texts[1]}")


def _namespace_of(kind: Kind, raw: Raw) -> str:
    if not kind.namespaced:
        return ""
    return str((raw.get("metadata") or {}).get("namespace") or "default")


def _path(kind: Kind, namespace: str, *below: str) -> str:
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    place = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return "/".join((f"{root}{place}/{kind.plural}", *(quote(step, safe="") for step in below if step)))


def _clean(raw: Raw) -> Raw:
    """Return an object as it is sent: a manifest of a live cluster has what only the API server writes."""
    metadata = {
        name: value
        for name, value in (raw.get("metadata") or {}).items()
        if name not in ("resourceVersion", "managedFields")
    }
    return {**raw, "metadata": metadata}


def _field_at_fault(refusal: Raw) -> str:
    """Return the first field that a Status complains of, or an empty path."""
    causes = (refusal.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("field") or "")


def _document(answer: Response) -> Raw:
    try:
        document = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return {"message": answer.body.decode("utf-8", "replace")}
    return document if isinstance(document, dict) else {}


def _warning(header: str) -> str:
    """Return the text of a Warning header: `299 - "text"`."""
    quoted = header.partition('"')[2].rpartition('"')[0]
    return quoted.replace('\\"', '"').replace("\\\\", "\\")
