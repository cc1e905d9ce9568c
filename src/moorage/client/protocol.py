"""Define the `Client` protocol that all transports implement: HTTP, and the API server of the same process.

    made = await client.create(KINDS.CONFIG_MAP, {"metadata": {"name": "settings"}, "data": {"a": "1"}}, "default")
    await client.patch(KINDS.CONFIG_MAP, "settings", "default", {"data": {"a": "2"}})

    listing = await client.list_all(KINDS.CONFIG_MAP, "default")    # all pages, as of one revision
    watch = client.watch(KINDS.CONFIG_MAP, listing.revision)        # every change after it
    await client.delete(KINDS.CONFIG_MAP, "settings", "default", uid=made.uid)
    async for events in watch:                                      # batches of what there is
        assert events[0].type is EventType.DELETED
        break
    await watch.aclose()

Refusals are raised as `ApiError`, a server that cannot be reached as `Unreachable`. Kubernetes: client-go's typed
clients.
"""

from collections.abc import AsyncGenerator
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypedDict, Unpack

import msgspec

from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view

Raw = dict[str, Any]


class _Identity(msgspec.Struct):
    uid: str = ""


class _Identified(msgspec.Struct):
    metadata: _Identity = msgspec.field(default_factory=_Identity)


_UID = msgspec.json.Decoder(_Identified)


class Template:
    """What objects share that differ by their names only. Readers keep in `shape` what they derive from it."""

    __slots__ = ("shape",)

    def __init__(self) -> None:
        self.shape: Any = None


class Object:
    """An object at `revision`. `raw` and `view` are decoded on demand and shared: never change them."""

    __slots__ = ("_body", "_raw", "_view", "key", "kind", "revision")

    def __init__(
        self, kind: Kind, key: str, revision: int, body: bytes = b"", raw: Raw | None = None, view: Any = None
    ) -> None:
        """`key` is `namespace/name`, or the name alone; `body` is JSON. One of the last three is required."""
        self.kind, self.key, self.revision = kind, key, revision
        self._body, self._raw, self._view = body, raw, view

    @property
    def raw(self) -> Raw:
        if self._raw is None:
            self._raw = self._decode()
        return self._raw

    @property
    def body(self) -> bytes:
        """The object's JSON as it was received; empty if it was not received as JSON."""
        return self._body

    @property
    def view(self) -> Any:
        """The typed view, of class `kind.view`."""
        if self._view is None:
            self._view = convert_view(self._decode_briefly() if self._raw is None else self._raw, self.kind.view)
        return self._view

    @property
    def template(self) -> Template | None:
        """The object's template, if the API server is in this process and knows it."""
        return None

    def _decode_briefly(self) -> Raw:
        """Decode without managedFields and without keeping the document, for the view only.

        Schemas of custom resource definitions are left out, too: they are large, and no component reads them.
        """
        document = self._decode()
        if self.kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            for version in document["spec"]["versions"]:
                version.pop("schema", None)
        metadata = document.get("metadata")
        if type(metadata) is dict:
            metadata.pop("managedFields", None)
        return document

    @property
    def uid(self) -> str:
        """metadata.uid; does not decode the rest."""
        if self._view is not None:
            return str(self._view.metadata.uid)
        if self._raw is None:
            return _UID.decode(self._json()).metadata.uid
        return str((self._raw.get("metadata") or {}).get("uid") or "")

    @property
    def reference(self) -> Raw:
        """An ObjectReference to it."""
        found = {
            "kind": self.kind.name,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.kind.api_version,
            "resourceVersion": str(self.revision) if self.revision else "",
        }
        return {field: value for field, value in found.items() if value}

    def _json(self) -> bytes:
        """Return JSON with at least the object's metadata."""
        return self._body

    def _decode(self) -> Raw:
        decoded: Raw = msgspec.json.decode(self._json())
        return decoded

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]


class Listing(NamedTuple):
    """All objects asked for, as of one revision, from which a watch may continue."""

    items: list[Object]
    revision: int


class EventType(Enum):
    """Type of a watch event. A bookmark's object has a revision only."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(NamedTuple):
    """One change. For DELETED the object is the last state, at the revision of the deletion."""

    type: EventType
    object: Object


class PatchType(Enum):
    """Media type of a patch."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Unreachable(Exception):
    """The server cannot be reached, or gave no answer: a write may or may not have happened."""


class NotSent(Unreachable):
    """There was no connection: the write has not happened."""


class DeletionDemands(TypedDict, total=False):
    """What a client may demand of a deletion: the object's UID and revision, a grace period, a propagation policy."""

    uid: str
    grace_seconds: int | None
    propagation: str
    revision: int


class Client(Protocol):
    """The verbs of the API. An empty `namespace`: cluster-scoped kinds, or all namespaces."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object: ...

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """List all pages; `labels` and `fields` are selectors."""
        ...

    def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        """Yield batches of changes after `revision`, until the server ends the watch.

        Raises ApiError 410 if the revision is too old: list again. Close it with `aclose`.
        """
        ...

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object: ...

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        """Replace an object; metadata.resourceVersion, if set, must be current (else ApiError, Conflict)."""
        ...

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object: ...

    async def delete(self, kind: Kind, name: str, namespace: str = "", **demands: Unpack[DeletionDemands]) -> None:
        """Delete an object if `uid` and `revision`, where given, match (else ApiError, Conflict)."""
        ...

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Bind a pod to a node: the binding subresource."""
        ...

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        """Evict a pod: the eviction subresource, which a PodDisruptionBudget may refuse (429)."""
        ...

    async def close(self) -> None: ...
