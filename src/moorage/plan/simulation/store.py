"""Keep the objects of a simulated cluster, and answer verbs at once: the store and the quotas of a simulation.

Its values are documents, made when they are asked for: nothing is encoded. A write is published at once, as an old and
a new object, to the world and to `listeners`. There is one writer, so no write is ever out of date.
"""

from collections.abc import Callable, Sequence
from typing import Any

from moorage.admit.chain import Admission
from moorage.admit.raw import Raw
from moorage.attach import formats
from moorage.attach.mirror import mirrored
from moorage.client.protocol import Object, Template
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import add_amounts
from moorage.model.schema.conversion import convert_view
from moorage.plan.simulation.pod_edits import Edited, read
from moorage.serve.admission.quota_ledger import with_used
from moorage.serve.resources.objects import prefix_of
from moorage.store.protocol import Change, FutureRevision, KeyExists, KeyMissing, Listing, RevisionMismatch, Stored

Listener = Callable[[Kind, Object | None, Object | None], None]

_PREFIXES = {prefix_of(kind): kind for kind in KINDS.values() if kind is not KINDS.REPORTED_EVENT}


def place_of(key: str) -> tuple[Kind, str]:
    """Return the kind of an object and its key in the world, of its key in a store."""
    end = key.index("/", 1) + 1
    kind = _PREFIXES.get(key[:end])
    if kind is None:
        end = key.index("/", end) + 1
        kind = _PREFIXES[key[:end]]
    return kind, key[end:]


class DocumentValues:
    """Values of a simulation: documents as they are."""

    are_json = False

    def encode(self, kind: Kind, document: Raw, template: Template | None = None) -> Raw:
        return document

    def decode(self, kind: Kind, stored: Stored) -> Raw:
        """Return the document of what is stored, which is an `Object`."""
        found: Any = stored.value
        raw: Raw = found if type(found) is dict else found.raw
        return raw

    def is_same(self, value: Raw, stored: Stored) -> bool:
        old = object_in(stored).raw
        return value is old or value == old


class SimulatedQuotas:
    """The quotas of a simulation: a charge is written at once. Implements the registry's `Quotas`."""

    def __init__(self, admission: Admission, world: World, store: "SimulatedStore", clock: Callable[[], float]) -> None:
        #: Namespaces that have quotas.
        self.accounts: set[str] = set()
        self._admission, self._world, self._store, self._clock = admission, world, store, clock

    async def charge(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        new: Any,
        old: Any = None,
        subresource: str = "",
        *,
        dry_run: bool = False,
    ) -> None:
        now = self._clock()
        for quota, amounts in self._admission.charges(kind, namespace, name, new, old, subresource, now=now):
            found = self._world.get(KINDS.RESOURCE_QUOTA, f"{namespace}/{quota}")
            if found is not None and not dry_run:
                used = dict(found.view.status.used)
                add_amounts(used, amounts)
                self._store.put(KINDS.RESOURCE_QUOTA, found.key, *with_used(found.raw, found.view, used))


class SimulatedStore:
    """The newest objects. Implements `protocol.WritableStore`; `publish` is given every write."""

    is_shared = False

    def __init__(self, world: World, publish: Callable[[Kind, Object | None, Object | None], None]) -> None:
        self.revision = 0
        self._world, self._publish = world, publish

    async def catch_up(self) -> None:
        """There is nothing to wait for."""

    async def reach(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)

    async def get(self, key: str) -> Stored | None:
        return self.peek(key)

    def peek(self, key: str) -> Stored | None:
        found = self._world.get(*place_of(key))
        return None if found is None else stored_of(key, found)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        """Return all objects of a kind, or of one in a namespace."""
        kind = _PREFIXES.get(prefix)
        if kind is not None:
            return Listing([stored_of(f"{prefix}{one.key}", one) for one in self._world.all(kind)], self.revision)
        kind, namespace = place_of(prefix)
        found = self._world.in_namespace(kind, namespace.rstrip("/"))
        return Listing([stored_of(f"{prefix}{one.name}", one) for one in found], self.revision)

    async def create(
        self, key: str, value: Any, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        kind, name = place_of(key)
        if self._world.get(kind, name) is not None:
            raise KeyExists(key)
        value, view = _with_mirror(kind, value, view, None)
        return stored_of(key, self._write(kind, name, None, value, view, template))

    async def update(
        self,
        key: str,
        value: Any,
        expected: int,
        view: Any = None,
        template: Any = None,
        *,
        claims: Sequence[str] = (),
        released: Sequence[str] = (),
    ) -> Stored:
        kind, name = place_of(key)
        found = self._expected(kind, name, key, expected)
        value, view = _with_mirror(kind, value, view, found)
        return stored_of(key, self._write(kind, name, found, value, view, template))

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        kind, name = place_of(key)
        found = self._expected(kind, name, key, expected)
        self.remove(found)
        return Change(self.revision, stored_of(key, found), None)

    def remove(self, found: Object) -> None:
        """Remove an object that nothing keeps."""
        self.revision += 1
        self._publish(found.kind, found, None)

    def put(self, kind: Kind, key: str, document: Raw, view: Any, template: Template | None = None) -> Object:
        """Store an object as it is, new or in the place of the one of its name; the key is that in the world."""
        return self._write(kind, key, self._world.get(kind, key), document, view, template)

    def _write(
        self, kind: Kind, key: str, old: Object | None, document: Raw, view: Any, template: Template | None
    ) -> Object:
        self.revision += 1
        if view is None:  # which an API server does not keep of some kinds
            view = convert_view(document, kind.view)
        made = Object(kind, key, self.revision, Edited(document, ()), None, view, template, read)
        self._publish(kind, old, made)
        return made

    def replace(self, found: Object, new: Object) -> None:
        """Store what edits have made of an object, whose revision is the next one."""
        self.revision = new.revision
        self._publish(found.kind, found, new)

    def _expected(self, kind: Kind, name: str, key: str, expected: int) -> Object:
        found = self._world.get(kind, name)
        if found is None:
            raise KeyMissing(key)
        if found.revision != expected:
            raise RevisionMismatch(stored_of(key, found))
        return found


def _with_mirror(kind: Kind, document: Raw, view: Any, old: Object | None) -> tuple[Raw, Any]:
    """Mirror the taints of a node in the write that changes them, where attach does so; return document and view."""
    if kind is not KINDS.NODE or formats.MIRRORED not in (document["metadata"].get("labels") or {}):
        return document, view
    labels = mirrored(document, None if old is None else old.raw)
    if labels == document["metadata"]["labels"]:
        return document, view
    made = {**document, "metadata": {**document["metadata"], "labels": labels}}
    return made, convert_view(made, kind.view)


def stored_of(key: str, found: Object) -> Stored:
    """Return an object as verbs see it. A store does not look into its values, so that the value may be the object."""
    value: Any = found
    return Stored(key, value, found.revision, 1, found.view, found.template)


def object_in(stored: Stored) -> Object:
    """Return the object that a verb has stored."""
    value: Any = stored.value
    if not isinstance(value, Object):
        raise TypeError("a simulation stores objects")
    return value
