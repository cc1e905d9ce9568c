"""Know the objects of the store that admission looks up: the world of the API server's admission chain.

`AdmissionLookups` hears of every write from the store, before it is acknowledged, so that a new namespace can be used
at once; of those of other servers, as soon as this one does. Kubernetes: the informers that admission plugins have.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from moorage.admit.objects_world import LOOKED_UP, ObjectsWorld
from moorage.admit.plugins.quota import QuotaBalance
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.serve.admission.quota_ledger import QuotaLedger
from moorage.serve.requests.long_work import in_slices
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.store.protocol import Change, Store, Stored


class Follower(Protocol):
    """Is told of the views of all objects of a kind that are written or deleted, before the client is."""

    def learn(self, kind: Kind, view: Any) -> None: ...

    def forget(self, kind: Kind, view: Any) -> None: ...


class StoredFollower(Protocol):
    """Is told of what is stored: for a kind that is written too often to decode each object."""

    def learn_stored(self, kind: Kind, stored: Stored) -> None: ...

    def heard(self, change: Change) -> None: ...


class _LabelledMetadata(msgspec.Struct):
    labels: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _LabelledMetadata


_read_labels = msgspec.json.Decoder(_Labelled).decode


class AdmissionLookups(ObjectsWorld):
    """The looked-up objects of a store; what is not in it does not exist."""

    def __init__(self, store: Store, quotas: QuotaLedger, *, labels_topology: bool = True) -> None:
        super().__init__(is_complete=True)
        self._store = store
        self._ledger = quotas
        self._labels_topology = labels_topology
        self._followers: dict[Kind, Follower] = {}
        self._stored_followers: dict[Kind, StoredFollower] = {}
        self._subscribed: set[Kind] = set()
        for kind in (*LOOKED_UP, *((KINDS.NODE,) if labels_topology else ())):
            self._subscribe(kind)
        self.follow(KINDS.RESOURCE_QUOTA, quotas)

    def follow(self, kind: Kind, follower: Follower) -> None:
        """Tell a follower of all objects of a kind, those that are stored already when they are loaded."""
        self._followers[kind] = follower
        self._subscribe(kind)

    def follow_stored(self, kind: Kind, follower: StoredFollower) -> None:
        self._stored_followers[kind] = follower
        self._store.subscribe(prefix_of(kind), follower.heard)

    def _subscribe(self, kind: Kind) -> None:
        if kind in self._subscribed:
            return
        self._subscribed.add(kind)

        def heard(change: Change) -> None:
            if change.new is not None:
                self.learn(kind, change.new)
            elif change.old is not None:
                self.forget(kind, change.old)

        self._store.subscribe(prefix_of(kind), heard)

    async def load(self) -> None:
        """Take in what is stored. What is written meanwhile is heard of."""
        store = self._store
        for kind, stored_follower in self._stored_followers.items():
            async for _, item in in_slices((await store.list(prefix_of(kind))).items):
                newest = store.peek(item.key)
                if newest is not None and newest.revision == item.revision:  # else it was heard of
                    stored_follower.learn_stored(kind, item)
        for kind, follower in self._followers.items():
            for item in (await store.list(prefix_of(kind))).items:
                follower.learn(kind, _view(kind, item))
        for kind in LOOKED_UP:
            listing = await store.list(prefix_of(kind))
            for item in listing.items:
                self.put(kind, _name(kind, item), _view(kind, item))
        for item in (await store.list(prefix_of(KINDS.NODE))).items if self._labels_topology else ():
            self._learn_topology(item)
        self._changed()

    def learn(self, kind: Kind, stored: Stored) -> None:
        if kind in self._known:
            self.put(kind, _name(kind, stored), _view(kind, stored))
        elif kind is KINDS.NODE and self._labels_topology:
            self._learn_topology(stored)
        follower = self._followers.get(kind)
        if follower is not None:
            follower.learn(kind, _view(kind, stored))

    def forget(self, kind: Kind, stored: Stored) -> None:
        if kind in self._known or kind is KINDS.NODE:
            self.drop(kind, _name(kind, stored))
        follower = self._followers.get(kind)
        if follower is not None:
            follower.forget(kind, _view(kind, stored))

    def _learn_topology(self, stored: Stored) -> None:
        labels = (stored.view if stored.view is not None else _read_labels(stored.value)).metadata.labels
        self.put_topology(_name(KINDS.NODE, stored), labels)

    def node(self, name: str) -> Node | None:
        """Read a node from the store: it is asked for seldom, and written often."""
        stored = self._store.peek(f"{prefix_of(KINDS.NODE)}{name}")
        node: Node | None = None if stored is None else _view(KINDS.NODE, stored)
        return node

    def assumes(self, kind: Kind, key: str, needed_by: Kind) -> bool:
        return kind is KINDS.SERVICE_ACCOUNT  # which the service account controller may be about to create

    def find(self, kind: Kind, namespace: str, name: str) -> Any:
        """Return the view of an object as it is stored, or None."""
        stored = self._store.peek(key_of(kind, namespace, name))
        return None if stored is None else _view(kind, stored)

    def quota_balances(self, namespace: str) -> Sequence[QuotaBalance]:
        return self._ledger.balances(namespace)


def _name(kind: Kind, stored: Stored) -> str:
    return stored.key.removeprefix(prefix_of(kind))


def _view(kind: Kind, stored: Stored) -> Any:
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)
