"""What a client of the Kubernetes API can do, said once for all transports.

In: kinds, names, raw documents. Out: `Object`s, which decode themselves when somebody looks, and `WatchEvent`s.
Everything that the server refuses is an `ApiError` (`moorage.model.api_error`), whose `reason` says why. Time spent
waiting for a server that cannot be reached ends in `Unreachable`.
Kubernetes: client-go's typed clients and its Patch types.
"""

from collections.abc import AsyncGenerator
from enum import Enum
from typing import Any, NamedTuple, Protocol

import msgspec

from moorage.model.kinds import Kind
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
    """An object as the server has it at `revision`. `raw` and `view` are made when first asked for, and kept.

    Neither may be changed: others look at the same ones.
    """

    __slots__ = ("_body", "_raw", "_view", "key", "kind", "revision")

    def __init__(
        self, kind: Kind, key: str, revision: int, body: bytes = b"", raw: Raw | None = None, view: Any = None
    ) -> None:
        """`key` is `namespace/name`, or the name alone; `body` is JSON. At least one of the last three is given."""
        self.kind, self.key, self.revision = kind, key, revision
        self._body, self._raw, self._view = body, raw, view

    @property
    def raw(self) -> Raw:
        if self._raw is None:
            self._raw = self._decode()
        return self._raw

    @property
    def view(self) -> Any:
        """The typed view, of the class that `facts.view` names."""
        if self._view is None:
            self._view = convert_view(self._decode_briefly() if self._raw is None else self._raw, self.kind.view)
        return self._view

    @property
    def template(self) -> Template | None:
        """The template of the object, where the API server is in the same process and knows one."""
        return None

    def _decode_briefly(self) -> Raw:
        """For the view only: most who want it never ask for the document, which is then not kept.

        Nobody wants to see in a view who owns which field, and it is more than half of most.
        """
        document = self._decode()
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

    def _json(self) -> bytes:
        """JSON that has at least the object's metadata, as it is kept."""
        return self._body

    def _decode(self) -> Raw:
        """A document that nobody else has."""
        decoded: Raw = msgspec.json.decode(self._json())
        return decoded

    @property
    def namespace(self) -> str:
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]


class Listing(NamedTuple):
    """All that was asked for, as of one revision: a watch may go on from there."""

    items: list[Object]
    revision: int


class EventType(Enum):
    """What a watch can say. A bookmark's object has nothing but a revision."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"


class WatchEvent(NamedTuple):
    """One change. For DELETED the object is the last state, at the revision of the deletion."""

    type: EventType
    object: Object


class PatchType(Enum):
    """How a patch is to be read."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Unreachable(Exception):
    """The server cannot be reached, or broke off before it answered: nobody knows whether a write happened."""


class NotSent(Unreachable):
    """There was no connection to send anything on: no write has happened."""


class Client(Protocol):
    """See the module. `namespace` is "" for kinds without one and, when listing and watching, for all of them."""

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object: ...

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        """All of them, however many pages it takes; `labels` and `fields` are selectors."""
        ...

    def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        """Batches of changes after `revision`, in order. Ends when the server ends it: watch again from the last one.

        Raises ApiError with code 410 if that is too long ago: list again. Close it with `aclose`.
        """
        ...

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object: ...

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        """Replace; metadata.resourceVersion, if there is one, must be the newest (else ApiError, Conflict)."""
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

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
        revision: int = 0,
    ) -> None:
        """With `uid`, only if it is still that object, with `revision` only in that state (else ApiError, Conflict)."""
        ...

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        """Put the pod on the node: the binding subresource."""
        ...

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        """Ask politely: the eviction subresource, which a PodDisruptionBudget may refuse (429)."""
        ...

    async def close(self) -> None: ...
