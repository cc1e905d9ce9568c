"""Let the verbs of the API server work on an inventory: reading input is creating objects, as `kubectl apply` does.

The inventory is the store: a verb that creates an object puts an `Item` into it. New objects have no time of creation,
and share a uid that no object has, until a simulation gives them their own. Quotas without a status are counted from
the objects that exist.
"""

from collections.abc import Collection, Sequence
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from moorage.admit.chain import Admission
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Answer, Call
from moorage.admit.objects_world import ObjectsWorld
from moorage.admit.plugins.priority import SYSTEM_CLASSES
from moorage.admit.raw import Raw
from moorage.admit.request import ANY_REQUEST
from moorage.client.protocol import Template
from moorage.lint.policies.offline_extensions import OfflineExtensions
from moorage.match.quota.usage import count_name, count_used
from moorage.model.generated_names import new_suffix
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import add_amounts
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.policy import PriorityClass, ResourceQuota
from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.plan.input.extensions.applied import Applied, AppliedExtensions
from moorage.plan.input.extensions.objects import extensions_of
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, Key, Place, key_in_inventory
from moorage.plan.simulation.store import place_of
from moorage.serve.admission.quota_ledger import with_used
from moorage.serve.resources.objects import key_of
from moorage.serve.verbs.registry import Registry, too_large
from moorage.store.protocol import Change, FutureRevision, KeyExists, KeyMissing, Listing, RevisionMismatch, Stored

_encode = msgspec.json.Encoder().encode
_replace = msgspec.structs.replace
#: Every object of an inventory is at the same revision: there is one writer.
_REVISION = 1


class InventoryValues:
    """Values of an inventory: documents, which are measured, for etcd takes no large ones."""

    are_json = False

    def encode(self, kind: Kind, document: Raw, template: Template | None = None) -> Raw:
        if template is None and len(_encode(document)) > MAX_OBJECT_BYTES:
            raise too_large()
        return document

    def decode(self, kind: Kind, stored: Stored) -> Raw:
        document: Any = stored.value
        return as_stored(document)

    def is_same(self, value: Raw, stored: Stored) -> bool:
        return False  # whatever is written again stands in another place


def as_stored(raw: Raw) -> Raw:
    """Return a document with the resourceVersion that objects of an inventory have."""
    return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(_REVISION)}}


class InventoryStore:
    """An inventory as a store. `place` and `existing` are those of the object that is written next."""

    is_shared = False
    revision = _REVISION
    #: The object that was written last.
    written: Item

    def __init__(self, inventory: Inventory, world: ObjectsWorld, extensions: OfflineExtensions) -> None:
        self.items = inventory.items
        self._world, self._extensions = world, extensions
        self.place: Place = NOWHERE
        self.existing = False

    async def catch_up(self) -> None:
        """There is nothing to wait for."""

    async def reach(self, revision: int) -> None:
        if revision > _REVISION:
            raise FutureRevision(revision, _REVISION)

    async def get(self, key: str) -> Stored | None:
        return self.peek(key)

    def peek(self, key: str) -> Stored | None:
        item = self.items.get(self._key(key))
        return None if item is None else _stored(key, item)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        items = ((key_of(one.kind, one.key.namespace, one.key.name), one) for one in self.items.values())
        return Listing([_stored(key, item) for key, item in items if key.startswith(prefix)], _REVISION)

    async def create(
        self, key: str, value: Any, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        kind, place = self.place_of(key)
        if _key_at(kind, place) in self.items:
            raise KeyExists(key)
        return _stored(key, self.put(kind, value, view, template))

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
        before = self.peek(key)
        if before is None:
            raise KeyMissing(key)
        if expected != _REVISION:
            raise RevisionMismatch(before)
        return _stored(key, self.put(self.place_of(key)[0], value, view, template))

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        before = self.peek(key)
        if before is None:
            raise KeyMissing(key)
        del self.items[self._key(key)]
        self._world.drop(*self.place_of(key))
        self._extensions.forget(self.place_of(key)[0], before.view)
        return Change(_REVISION, before, None)

    def put(self, kind: Kind, raw: Raw, view: Any, template: Template | None = None) -> Item:
        """Put an object into the inventory, as it is."""
        if view is None:  # which an API server does not keep of some kinds
            view = convert_view(raw, kind.view)
        metadata = view.metadata
        key = key_in_inventory(kind, metadata.namespace, metadata.name)
        if not self.existing and "resourceVersion" in raw["metadata"]:
            about = {name: value for name, value in raw["metadata"].items() if name != "resourceVersion"}
            raw = {**raw, "metadata": about}
        item = self.items[key] = self.written = Item(key, kind, raw, view, self.existing, self.place, template)
        self._announce(kind, view, raw)
        return item

    def place_of(self, key: str) -> tuple[Kind, str]:
        """Return the kind of an object and its key in the world, of its key in the store."""
        return place_of(key)

    def _announce(self, kind: Kind, view: Any, raw: Raw) -> None:
        """Let admission look the object up."""
        self._world.put_view(kind, view)
        self._extensions.learn(kind, view, raw)

    def _key(self, key: str) -> Key:
        return _key_at(*self.place_of(key))


def _key_at(kind: Kind, place: str) -> Key:
    namespace, _, name = place.rpartition("/")
    return key_in_inventory(kind, namespace, name)


def _stored(key: str, item: Item) -> Stored:
    value: Any = item.raw  # a store does not look into its values
    return Stored(key, value, _REVISION, _REVISION, item.view, item.template)


class InventoryQuotas:
    """The quotas of an inventory: a charge is written into the status of the quota's item."""

    def __init__(self, inventory: Inventory, admission: Admission, world: ObjectsWorld, now: float) -> None:
        self.accounts: set[str] = {item.key.namespace for item in inventory.of_kind("ResourceQuota")}
        #: Custom kinds that are counted, too.
        self.custom_kinds: Collection[Kind] = ()
        self._inventory, self._admission, self._world, self._now = inventory, admission, world, now

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
        charges = self._admission.charges(kind, namespace, name, new, old, subresource, now=self._now)
        for quota, amounts in charges:
            item = self._inventory.items[Key("ResourceQuota", namespace, quota)]
            used = dict(item.view.status.used)
            add_amounts(used, amounts)
            self._write(item, *with_used(item.raw, item.view, used))

    def count(self) -> None:
        """Give every quota that has no status one: what the objects use that exist."""
        quotas = [item for item in self._inventory.of_kind("ResourceQuota") if not item.view.status.hard]
        if not quotas:
            return
        existing: dict[tuple[str, str], list[Any]] = {}
        for item in (*self._inventory.items.values(), *self._inventory.custom.values()):
            if item.existing:
                existing.setdefault((item.key.namespace, count_name(item.kind)), []).append(item.view)
        for item in quotas:
            self.accounts.add(item.key.namespace)
            quota: ResourceQuota = item.view

            def views(kind: Kind, namespace: str = item.key.namespace) -> list[Any]:
                return existing.get((namespace, count_name(kind)), [])

            hard = quota.spec.hard
            written = {**(item.raw.get("status") or {}), "hard": {name: str(hard[name]) for name in hard}}
            status = _replace(quota.status, hard=hard)
            raw, view = {**item.raw, "status": written}, _replace(quota, status=status)
            self._write(item, *with_used(raw, view, count_used(quota, views, self._now, self.custom_kinds)))

    def _write(self, item: Item, raw: Raw, view: ResourceQuota) -> None:
        self._inventory.items[item.key] = _replace(item, raw=raw, view=view)
        self._world.put_view(KINDS.RESOURCE_QUOTA, view)


def learned_classes(inventory: Inventory) -> list[PriorityClass]:
    """Return the PriorityClasses that the input does not have, and that pods which exist have got a priority from."""
    known = {item.key.name for item in inventory.of_kind("PriorityClass")}
    known |= {one.metadata.name for one in SYSTEM_CLASSES}
    learned: list[PriorityClass] = []
    for item in inventory.of_kind("Pod"):
        spec, name = item.view.spec, item.view.spec.priorityClassName
        if item.existing and name and name not in known and spec.priority is not None:
            known.add(name)
            policy = spec.preemptionPolicy
            learned.append(PriorityClass(metadata=ObjectMeta(name=name), value=spec.priority, preemptionPolicy=policy))
    return learned


class InventoryRegistry(Registry):
    """What verbs work with while input is read."""

    is_busy = tracks_owners = False
    copies_new = True  # a refusal shows the document
    keeps_internal = True
    values = InventoryValues()
    store: InventoryStore
    quotas: InventoryQuotas

    def __init__(self, inventory: Inventory, now: float = 0.0) -> None:
        world = ObjectsWorld.of(
            ((item.kind, item.view) for item in inventory.items.values()), is_complete=inventory.is_live
        )
        for account in inventory.accounts.values():
            world.put_view(KINDS.SERVICE_ACCOUNT, account)
        self.extensions = extensions_of(inventory)
        admission = Admission(world, inventory.gates, protects_storage=True, extensions=self.extensions)
        super().__init__(
            InventoryStore(inventory, world, self.extensions),
            admission,
            world,
            InventoryQuotas(inventory, admission, world, now),
            clock=lambda: now,
            new_uid=self._uid,
            new_suffix=lambda: new_suffix(self._random.random),
            collects_garbage=True,
        )
        self._random = Random(0)
        self._inventory = inventory
        #: The object that is written next.
        self.key = Key("", "", "")
        #: What policies and webhooks did to the objects, and what they remarked on the last one.
        self.applied = AppliedExtensions(lambda extended: Applied(self.key))
        self.remarks = Remarks()

    def ready_for_new(self) -> None:
        """Learn from the objects that exist what new ones are admitted by: priority classes, and what quotas count."""
        for one in learned_classes(self._inventory):
            self.directory.put_view(KINDS.PRIORITY_CLASS, one)
        self.quotas.count()

    async def answer(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return self.extensions.answer(calls, self._inventory.call_webhooks)

    def note(self, extended: ExtendedRequest) -> None:
        self.remarks = extended.remarks
        self.applied.note(extended)

    def _uid(self) -> str:
        # A Job's pods carry its uid in a label.
        return str(uuid5(NAMESPACE_URL, "/".join(self.key))) if self.key.kind == "Job" else ANY_REQUEST.uid

    def now_text(self) -> str:
        return ""
