"""Implement the client's protocol by calling the verbs of an API server in the same process.

Objects share the store's bytes and the view that admission made, and are decoded only when `raw` is read. Such a view
has no resourceVersion; `Object.revision` has it. Errors have the same texts as over HTTP. Kubernetes: the loopback
client.
"""

from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar, Unpack

from moorage.admit.raw import copy_document
from moorage.client.http.wire import (
    check_name,
    metadata_text,
    namespace_to_create_in,
    render_binding,
    render_delete_options,
    render_eviction,
)
from moorage.client.protocol import DeletionDemands, Listing, Object, PatchType, Raw, Unreachable, WatchEvent
from moorage.model.api_error import bad_request, internal, no_such_path
from moorage.model.kinds import Kind, Ref
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.request import Binding
from moorage.serve.api import Api
from moorage.serve.decoding import check_kind
from moorage.serve.options import TRUST, ListOptions, WriteOptions, delete_options
from moorage.serve.resources.objects import StoredObject
from moorage.serve.templates import POD
from moorage.serve.verbs import subresources
from moorage.serve.verbs.changing import create, replace
from moorage.serve.verbs.deleting import delete, finalize
from moorage.serve.verbs.patching import Patch, patch_object
from moorage.serve.verbs.reading import get, list_page
from moorage.serve.verbs.subresources import patch_scale, put_scale
from moorage.serve.verbs.watching import watch
from moorage.store.protocol import Stored, StoreError

Result = TypeVar("Result")


class LoopbackClient:
    """A `Client` without a network. `component` names the manager of the fields that this client sets."""

    def __init__(self, api: Api, component: str = "client") -> None:
        self.manager = f"moorage-{component}"
        self._api = api
        self._options = WriteOptions(self.manager, validation=TRUST)
        self._apply_options = WriteOptions(self.manager, validation=TRUST, force=True)
        self._closed = False

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        return _object(kind, await _kept(get(self._api, self._ref(kind, name, namespace))))

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        self._check_open()
        options = ListOptions(labels=labels, fields=fields)
        page = await _kept(list_page(self._api, kind, _namespace(kind, namespace), options))
        items: list[Object] = [StoredObject(kind, item, item.revision) for item in page.items]
        return Listing(items, page.revision)

    async def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        self._check_open()
        options = ListOptions(labels=labels, fields=fields, watch=True, bookmarks=True, resource_version=revision)
        batches = await _kept(watch(self._api, kind, _namespace(kind, namespace), options))
        async with aclosing(batches):
            async for batch in batches:
                yield batch
                if self._closed:
                    return

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        self._check_open()
        namespace = namespace_to_create_in(kind, document, namespace)
        raw = _own_copy(kind, document)
        outcome = await _kept(create(self._api, kind, _namespace(kind, namespace), raw, self._options))
        return _object(kind, outcome.stored)

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        ref = self._ref(kind, metadata_text(document, "name"), metadata_text(document, "namespace"))
        _check_subresource(kind, subresource, "update")
        if subresource == "scale":
            return _plain(ref, await _kept(put_scale(self._api, ref, document, self._options)))
        raw = _own_copy(kind, document)
        if subresource == "finalize":
            return _plain(ref, await _kept(finalize(self._api, ref.name, raw)))
        return _object(kind, (await _kept(replace(self._api, ref, raw, self._options, subresource))).stored)

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
        ref = self._ref(kind, name, namespace)
        _check_subresource(kind, subresource, "patch")
        if patch_type is PatchType.APPLY and not isinstance(patch, dict):
            raise bad_request("the object provided is unrecognized: it is not an object")
        options = self._apply_options if patch_type is PatchType.APPLY else self._options
        sent = Patch(patch_type.value, patch)
        if subresource == "scale":
            return _plain(ref, await _kept(patch_scale(self._api, ref, sent, options)))
        return _object(kind, (await _kept(patch_object(self._api, ref, sent, options, subresource))).stored)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        ref = self._ref(kind, name, namespace)
        await _kept(delete(self._api, ref, delete_options({}, render_delete_options(**demands) or None)))

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        self._ref(POD, name, namespace)
        if not node:
            await _kept(subresources.bind(self._api, namespace, name, render_binding(namespace, name, uid, node)))
            return
        binding = Binding(metadata=ObjectMeta(name=name, uid=uid), target=ObjectReference(kind="Node", name=node))
        await _kept(subresources.bind_to(self._api, namespace, name, binding))

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        self._ref(POD, name, namespace)
        await _kept(subresources.evict(self._api, namespace, name, render_eviction(namespace, name, uid)))

    async def close(self) -> None:
        self._closed = True

    def _ref(self, kind: Kind, name: str, namespace: str) -> Ref:
        self._check_open()
        check_name(kind, name, namespace)
        return Ref(kind, _namespace(kind, namespace), name)

    def _check_open(self) -> None:
        if self._closed:
            raise Unreachable("this client is closed")


async def _kept(verb: Coroutine[Any, Any, Result]) -> Result:
    """Await a verb; a failure of the store is an internal error, as over HTTP."""
    try:
        return await verb
    except StoreError as error:
        raise internal(f"the store failed: {error}") from None


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
    return StoredObject(kind, stored, stored.revision)


def _plain(ref: Ref, raw: Raw) -> Object:
    """The object of a subresource, which is not of the kind itself."""
    namespace = metadata_text(raw, "namespace")
    revision = metadata_text(raw, "resourceVersion")
    return Object(ref.kind, f"{namespace}/{ref.name}" if namespace else ref.name, int(revision or 0), raw=raw)
