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

from collections.abc import AsyncGenerator, Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict, Unpack

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


#: Makes the document of an object from what it comes from, its kind and its revision.
Read = Callable[[Any, Kind, int], Raw]


def read_json(source: bytes, kind: Kind, revision: int) -> Raw:
    """Read an object as a server sent it: its revision is in it."""
    decoded: Raw = msgspec.json.decode(source)
    return decoded


class Object:
    """An object at `revision`. `raw`, `view` and `uid` are made when first read, and shared: do not change them.

    `source` is what the object comes from, and `read` makes its document of that: JSON, a value of the store in this
    process, or a document with edits in a simulation. `template` is what it shares with objects that differ from it by
    their names only, if the API server is in this process and knows it. `view` is of class `kind.view`.
    """

    __slots__ = ("_read", "key", "kind", "raw", "revision", "source", "template", "uid", "view")
    raw: Raw
    view: Any
    uid: str

    def __init__(
        self,
        kind: Kind,
        key: str,
        revision: int,
        source: Any = b"",
        raw: Raw | None = None,
        view: Any = None,
        template: "Template | None" = None,
        read: Read = read_json,
    ) -> None:
        """`key` is `namespace/name`, or the name alone. One of source, raw and view is required."""
        self.kind, self.key, self.revision, self.source = kind, key, revision, source
        self.template, self._read = template, read
        if raw is not None:
            self.raw = raw
        if view is not None:
            self.view, self.uid = view, view.metadata.uid

    if not TYPE_CHECKING:  # else every misspelled attribute would be one

        def __getattr__(self, name: str) -> Any:
            """Make what is read for the first time. A slot that is set is read without a call."""
            if name == "raw":
                self.raw = made = self._read(self.source, self.kind, self.revision)
            elif name == "view":
                made = self._make_view()
                self.view, self.uid = made, made.metadata.uid
            elif name == "uid":
                self.uid = made = self._find_uid()
            else:
                raise AttributeError(f"an object has no {name!r}")
            return made

    @property
    def body(self) -> bytes:
        """The object's JSON as it was received; empty if it was not received as JSON."""
        return self.source if type(self.source) is bytes else b""

    def has(self, name: str) -> bool:
        """Return whether `raw`, `view` or `uid` was made already."""
        try:
            object.__getattribute__(self, name)
        except AttributeError:
            return False
        return True

    def _make_view(self) -> Any:
        """Return the typed view. Without the document it is made of one that is not kept, without managedFields.

        Schemas of custom resource definitions are left out, too: they are large, and no component reads them.
        """
        if self.has("raw"):
            return convert_view(self.raw, self.kind.view)
        document = self._read(self.source, self.kind, self.revision)
        if self.kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
            for version in document["spec"]["versions"]:
                version.pop("schema", None)
        metadata = document.get("metadata")
        if type(metadata) is dict:
            metadata.pop("managedFields", None)
        return convert_view(document, self.kind.view)

    def _find_uid(self) -> str:
        if not self.has("raw") and type(self.source) is bytes:
            return _UID.decode(self.source).metadata.uid
        return str((self.raw.get("metadata") or {}).get("uid") or "")

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
    """The request was not sent, for want of a connection or of a Lease: the write has not happened."""


class DeletionDemands(TypedDict, total=False):
    """What a client may demand of a deletion: the object's UID and revision, a grace period, a propagation policy."""

    uid: str
    grace_seconds: int | None
    propagation: str
    revision: int


class Client(Protocol):
    """The verbs of the API. An empty `namespace`: cluster-scoped kinds, or all namespaces."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object: ...

    async def read(self, path: str) -> Raw:
        """Return the document at a path, of a Scale or of a metrics API, with its query."""
        ...

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
