"""Implement the client's protocol by calling the verbs of an API server in the same process.

Objects share the store's bytes and the view that admission made, and are decoded only when `raw` is read. Such a view
has no resourceVersion; `Object.revision` has it. Errors have the same texts as over HTTP, and requests are counted and
logged as if they had come over it. Kubernetes: the loopback client.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from time import perf_counter
from typing import TypeVar, Unpack
from uuid import uuid4

import msgspec

from moorage.admit.attributes import CREATE, Write
from moorage.admit.raw import copy_document
from moorage.client.http_wire import (
    check_name,
    collection_path,
    metadata_text,
    namespace_to_create_in,
    render_binding,
    render_delete_options,
    render_eviction,
)
from moorage.client.lease_fence import LeaseFence
from moorage.client.protocol import DeletionDemands, Listing, Object, PatchType, Raw, Unreachable, WatchEvent
from moorage.client.refusals import RefusalLog
from moorage.model.api_error import ApiError, bad_request, no_such_path
from moorage.model.kinds import KINDS, SUBJECT_ACCESS_REVIEW, CustomKind, Kind, Ref
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.request import Binding
from moorage.serve.access.authorization import Attributes, denied
from moorage.serve.access.claim_rights import status_writer
from moorage.serve.access.requesters import requester_of
from moorage.serve.access.reviews import Reviewer, may_they
from moorage.serve.admission.extended_requests import API_SERVER
from moorage.serve.audit.annotations import collect_into
from moorage.serve.audit.audit_log import AuditLog
from moorage.serve.audit.events import Answered
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.decoding import check_kind
from moorage.serve.requests.options import TRUST, ListOptions, WriteOptions, delete_options
from moorage.serve.requests.request_log import LOG, REFUSALS, log_in_process
from moorage.serve.requests.second_look import SecondLook, failed
from moorage.serve.requests.usage_requests import ref_of, usage
from moorage.serve.resources.objects import object_of
from moorage.serve.resources.served import target_of
from moorage.serve.subresources import pods
from moorage.serve.subresources.scale import get_scale, patch_scale, put_scale
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete, finalize
from moorage.serve.verbs.patching import Patch, patch_object
from moorage.serve.verbs.reading import get, list_page
from moorage.serve.verbs.registry import WriteResult
from moorage.serve.verbs.watching import watch
from moorage.store.protocol import Stored, StoreError
from moorage.telemetry.apiserver_metrics import asked_of
from moorage.telemetry.metrics import Count, Distribution
from moorage.usage.answers import read_path

Result = TypeVar("Result")
_MAX_ALLOWED = 10_000
#: No namespace has this name, so that only what holds in all of them allows something in it.
_NO_NAMESPACE = "*"
_VERBS = {
    "GET": "get",
    "LIST": "list",
    "WATCH": "watch",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "APPLY": "patch",
    "DELETE": "delete",
}
#: The addresses that requests of this process come from.
_HERE = ("127.0.0.1",)
_READS = frozenset(("GET", "LIST", "WATCH"))
#: What requests are counted by: verb, version, plural, subresource, whether they name an object, a namespace; the code.
_Key = tuple[str, str, str, str, bool, bool, int]


class LoopbackClient:
    """A `Client` without a network. `component` names the manager of the fields that this client sets.

    With a user, it may do what that user may; without, everything. With a fence, every attempt to write asks it first.
    """

    def __init__(
        self, api: Api, component: str = "client", user: User | None = None, fence: LeaseFence | None = None
    ) -> None:
        self.manager = f"moorage-{component}"
        self._user, self._fence = user, fence
        self._refusals = RefusalLog(component)
        self._roles = api.roles
        #: What is allowed for any name in any namespace, and for any name in one.
        self._allowed: set[tuple[str, Kind, str]] = set()
        self._allowed_within: set[tuple[str, Kind, str, str]] = set()
        self._decided_at = -1
        self._api, self._is_shared = api, api.store.is_shared
        self._restricted = requester_of(api, user)
        self._options = WriteOptions(
            self.manager,
            validation=TRUST,
            restricted=self._restricted,
            claim_writer=status_writer(api, user),
            user=user,
        )
        applied = {"fieldManager": self.manager, "force": "true"}
        self._apply_options = msgspec.structs.replace(self._options, force=True, query=applied)
        self._closed = False
        self._counted: dict[_Key, tuple[Count, Distribution]] = {}

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        ref = self._ref(kind, name, namespace)
        return _object(kind, await self._ask("GET", ref, lambda: get(self._api, ref)))

    async def read(self, path: str) -> Raw:
        if (asked := read_path(path)) is not None:
            ref, subresource = ref_of(asked)
            verb = "GET" if ref.name else "LIST"
            return await self._ask(verb, ref, lambda: usage(self._api, asked), subresource)
        target = target_of("GET", path.partition("?")[0], self._api.resources)
        if target is None or target.subresource != "scale":
            raise no_such_path()
        return await self._ask("GET", target.ref, lambda: get_scale(self._api, target.ref), "scale")

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        self._check_open()
        options = ListOptions(labels=labels, fields=fields)
        ref = Ref(kind, _namespace(kind, namespace), "")
        page = await self._ask("LIST", ref, lambda: list_page(self._api, kind, ref.namespace, options))
        items: list[Object] = [object_of(kind, item, item.revision) for item in page.items]
        return Listing(items, page.revision)

    async def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        self._check_open()
        options = ListOptions(labels=labels, fields=fields, watch=True, bookmarks=True, resource_version=revision)
        ref = Ref(kind, _namespace(kind, namespace), "")
        batches = await self._ask("WATCH", ref, lambda: watch(self._api, kind, ref.namespace, options))
        metrics = self._api.metrics
        told = metrics.watch_events.labels(kind.group, kind.version, kind.plural)
        running = metrics.long_running(asked_of("WATCH", kind, ref.namespace, ""))
        running.inc()
        try:
            async with aclosing(batches):
                async for batch in batches:
                    told.value += len(batch)
                    yield batch
                    if self._closed:
                        return
        finally:
            running.dec()

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        self._check_open()
        if kind is SUBJECT_ACCESS_REVIEW:
            ref = Ref(kind, "", "")
            return _plain(ref, await self._ask("POST", ref, lambda: self._review(document)))
        kind = self._served(kind)
        namespace = namespace_to_create_in(kind, document, namespace)
        ref = Ref(kind, _namespace(kind, namespace), "")

        def attempt() -> Awaitable[WriteResult]:
            return create(self._api, kind, ref.namespace, _own_copy(kind, document), self._options)

        outcome = await self._ask("POST", ref, attempt)
        return _object(kind, outcome.stored)

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        kind = self._served(kind)
        ref = self._ref(kind, metadata_text(document, "name"), metadata_text(document, "namespace"))
        _check_subresource(kind, subresource, "update")
        if subresource == "scale":
            scaled = await self._ask("PUT", ref, lambda: put_scale(self._api, ref, document, self._options), "scale")
            return _plain(ref, scaled)
        if subresource == "finalize":
            finalized = await self._ask(
                "PUT", ref, lambda: finalize(self._api, ref.name, _own_copy(kind, document), self._options), subresource
            )
            return _plain(ref, finalized[0])

        def attempt() -> Awaitable[WriteResult]:
            return replace(self._api, ref, _own_copy(kind, document), self._options, subresource)

        return _object(kind, (await self._ask("PUT", ref, attempt, subresource)).stored)

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
        kind = self._served(kind)
        ref = self._ref(kind, name, namespace)
        _check_subresource(kind, subresource, "patch")
        if patch_type is PatchType.APPLY and not isinstance(patch, dict):
            raise bad_request("the object provided is unrecognized: it is not an object")
        verb, options = ("APPLY", self._apply_options) if patch_type is PatchType.APPLY else ("PATCH", self._options)
        sent = Patch(patch_type.value, patch)
        if subresource == "scale":
            scaled = await self._ask(verb, ref, lambda: patch_scale(self._api, ref, sent, options), subresource)
            return _plain(ref, scaled)

        def attempt() -> Awaitable[WriteResult]:
            return patch_object(self._api, ref, sent, options, subresource)

        return _object(kind, (await self._ask(verb, ref, attempt, subresource)).stored)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        ref = self._ref(kind, name, namespace)
        options = delete_options({}, render_delete_options(**demands) or None)
        await self._ask("DELETE", ref, lambda: delete(self._api, ref, options, self._options))

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        ref = self._ref(KINDS.POD, name, namespace)
        self._restrict(ref, "binding")
        options = self._options
        if not node:
            document = render_binding(namespace, name, uid, node)
            await self._ask("POST", ref, lambda: pods.bind(self._api, namespace, name, document, options), "binding")
            return
        binding = Binding(metadata=ObjectMeta(name=name, uid=uid), target=ObjectReference(kind="Node", name=node))
        await self._ask("POST", ref, lambda: pods.bind_to(self._api, namespace, name, binding, options), "binding")

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        ref = self._ref(KINDS.POD, name, namespace)
        self._restrict(ref, "eviction")
        document, options = render_eviction(namespace, name, uid), self._options
        await self._ask("POST", ref, lambda: pods.evict(self._api, namespace, name, document, options), "eviction")

    def _restrict(self, ref: Ref, subresource: str) -> None:
        self._api.admission.restrict(self._restricted, Write(CREATE, *ref, subresource))

    async def close(self) -> None:
        self._closed = True

    async def _review(self, document: Raw) -> Raw:
        api, kind = self._api, SUBJECT_ACCESS_REVIEW
        asking = Reviewer(self._user or ADMIN, api.now_text(), "", api.authorization, api.authenticator)
        return {"kind": kind.name, "apiVersion": kind.api_version, **may_they(document, asking)}

    def _ref(self, kind: Kind, name: str, namespace: str) -> Ref:
        self._check_open()
        check_name(kind, name, namespace)
        return Ref(kind, _namespace(kind, namespace), name)

    def _served(self, kind: Kind) -> Kind:
        """Return a custom kind with its schema, which components do not know. Raises ApiError if it is not served."""
        if type(kind) is not CustomKind:
            return kind
        found = self._api.resources.find(kind.group, kind.version, kind.plural)
        if found is None:
            raise no_such_path()
        return found

    def _check_open(self) -> None:
        if self._closed:
            raise Unreachable("this client is closed")

    async def _ask(
        self, verb: str, ref: Ref, attempt: Callable[[], Awaitable[Result]], subresource: str = ""
    ) -> Result:
        """Await a verb, and count it; a failure of the store is an internal error, as over HTTP.

        On a store that other servers write to, it is attempted once more if the refusal is out of date.
        """
        started = perf_counter()
        code, err = 0, ""
        annotations: dict[str, str] = {}
        if self._api.audit is not None:
            collect_into(annotations)
        look = SecondLook(self._api) if self._is_shared else None
        try:
            try:
                self._check_allowed(verb, ref, subresource)
                result = await attempt()
            except ApiError as refusal:
                if look is None or not await look.is_worth_it(refusal):
                    raise
                self._check_allowed(verb, ref, subresource)
                result = await attempt()
            code = 201 if verb == "POST" else 200
            return result
        except ApiError as refusal:
            code, err = refusal.code, refusal.message
            self._refusals.note(refusal)
            raise
        except StoreError as error:
            failure = failed(error)
            code, err = failure.code, str(error)
            raise failure from None
        finally:
            if code:  # neither cancelled nor broken
                seconds = perf_counter() - started
                self._observe(verb, ref, subresource, code, seconds, err)
                if self._api.audit is not None:
                    self._note(self._api.audit, verb, ref, subresource, code, seconds, annotations)

    def _check_allowed(self, verb: str, ref: Ref, subresource: str) -> None:
        """Raises ApiError 403, LeaseRanOut."""
        if self._user is not None:
            roles = self._roles
            if self._decided_at != roles.generation or (verb, ref.kind, subresource) not in self._allowed:
                self._authorize(self._user, verb, ref, subresource)
        if self._fence is not None and verb not in _READS:
            self._fence.check()

    def _authorize(self, user: User, verb: str, ref: Ref, subresource: str) -> None:
        """Raise ApiError 403 if the user may not do it. What is allowed by any name is kept until a role changes."""
        kind, namespace, name = ref
        key = (verb, kind, subresource, namespace)
        generation = self._roles.generation
        if self._decided_at == generation and key in self._allowed_within:
            return
        asked = Attributes(
            _VERBS[verb], kind.group, kind.version, kind.plural, subresource, namespace, name, "", "", True
        )
        decision = self._api.authorization.authorize(user, asked)
        if not decision.allowed:
            raise denied(user, asked, decision.reason)
        if self._decided_at != generation or len(self._allowed_within) >= _MAX_ALLOWED:
            self._decided_at = generation
            self._allowed.clear()
            self._allowed_within.clear()
        decide = self._api.authorization.authorize
        if not name or decide(user, asked._replace(name="")).allowed:
            self._allowed_within.add(key)  # whatever the object is called
            if not kind.namespaced or decide(user, asked._replace(name="", namespace=_NO_NAMESPACE)).allowed:
                self._allowed.add(key[:3])

    def _observe(self, verb: str, ref: Ref, subresource: str, code: int, seconds: float, err: str) -> None:
        kind, namespace, name = ref
        key = (verb, kind.api_version, kind.plural, subresource, bool(name), bool(namespace), code)
        if isinstance(kind, CustomKind):  # whose series go with its definition
            self._api.metrics.observe(asked_of(verb, kind, namespace, name, subresource), code, seconds)
        else:
            total, durations = self._counted.get(key) or self._count(key, ref)
            total.value += 1
            durations.observe(seconds)
        if LOG.enabled(REFUSALS):
            path = "/".join(filter(None, (collection_path(kind, namespace), name, subresource)))
            log_in_process(verb, path, seconds, self.manager, code, err)

    def _note(
        self, audit: AuditLog, verb: str, ref: Ref, subresource: str, code: int, seconds: float, found: dict[str, str]
    ) -> None:
        """Let the audit log have a request, as if it had come over HTTP."""
        kind, namespace, name = ref
        path = "/".join(filter(None, (collection_path(kind, namespace), name, subresource)))
        asked = Attributes(
            _VERBS[verb], kind.group, kind.version, kind.plural, subresource, namespace, name, "", "", True
        )
        now = self._api.clock()
        user, audit_id = self._user or API_SERVER, str(uuid4())
        audit.note(Answered(audit_id, path, asked, user, None, _HERE, self.manager, code, now - seconds, now, found))

    def _count(self, key: _Key, ref: Ref) -> tuple[Count, Distribution]:
        asked = asked_of(key[0], ref.kind, ref.namespace, ref.name, key[3])
        counted = self._counted[key] = self._api.metrics.counted(asked, key[-1])
        return counted


def _namespace(kind: Kind, namespace: str) -> str:
    return namespace if kind.namespaced else ""


def _own_copy(kind: Kind, document: Raw) -> Raw:
    """Copy a document, because admission modifies what it is given, and check its kind. Raises ApiError."""
    raw = copy_document(document)
    check_kind(raw, kind)
    return raw


def _check_subresource(kind: Kind, subresource: str, verb: str) -> None:
    if subresource:
        found = kind.subresource(subresource)
        if found is None or verb not in found.verbs:
            raise no_such_path()


def _object(kind: Kind, stored: Stored) -> Object:
    return object_of(kind, stored, stored.revision)


def _plain(ref: Ref, raw: Raw) -> Object:
    """The object of a subresource, which is not of the kind itself."""
    namespace = metadata_text(raw, "namespace")
    revision = metadata_text(raw, "resourceVersion")
    return Object(ref.kind, f"{namespace}/{ref.name}" if namespace else ref.name, int(revision or 0), raw=raw)
