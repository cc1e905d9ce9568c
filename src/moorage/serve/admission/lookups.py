"""Know the objects that admission looks up: namespaces, classes, Services, LimitRanges, and the zones of nodes.

`AdmissionLookups` hears of every write from the store, before it is acknowledged, so that a new namespace can be used
at once; of those of other servers, as soon as this one does. Kubernetes: the informers that admission plugins have.
"""

from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

import msgspec

from moorage.admit.plugins import Plugin
from moorage.admit.plugins.limit_ranger import LimitRanger
from moorage.admit.plugins.pod_security import PodSecurity
from moorage.admit.plugins.priority import Priority
from moorage.admit.plugins.runtime_class import RuntimeClassPlugin
from moorage.admit.plugins.standard import (
    DefaultTolerationSeconds,
    NamespaceLifecycle,
    ServiceAccount,
    TaintNodesByCondition,
)
from moorage.admit.plugins.storage import DefaultStorageClass, PersistentVolumeClaimResize, StorageObjectInUseProtection
from moorage.admit.plugins.topology import NO_TOPOLOGY, PodTopologyLabels, topology_labels
from moorage.admit.prepare.service_addresses import ServiceAddresses
from moorage.admit.prepare.service_allocator import SERVICE_RANGE, ServiceAllocator
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.policy import LimitRange
from moorage.serve.requests.long_work import in_slices
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Change, Store, Stored

_LOOKED_UP = (
    KINDS.NAMESPACE,
    KINDS.PRIORITY_CLASS,
    KINDS.STORAGE_CLASS,
    KINDS.SERVICE,
    KINDS.LIMIT_RANGE,
    KINDS.RUNTIME_CLASS,
)


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


class AdmissionLookups:
    """The looked-up objects, and the plugins that use them. `generation` grows when admission may decide otherwise."""

    def __init__(
        self,
        store: Store,
        random: Random | None = None,
        *,
        taints_new_nodes: bool = False,
        protects_storage: bool = False,
        labels_topology: bool = True,
    ) -> None:
        self.generation = 0
        self._store = store
        self.service_range = SERVICE_RANGE
        self._labels_topology = labels_topology
        self._random = random or Random()
        self._known: dict[Kind, dict[str, Any]] = {kind: {} for kind in _LOOKED_UP}
        self._followers: dict[Kind, Follower] = {}
        self._stored_followers: dict[Kind, StoredFollower] = {}
        self._subscribed: set[Kind] = set()
        self._topology: dict[str, Mapping[str, str]] = {}
        self.plugins: tuple[Plugin, ...] = self._make_plugins(taints_new_nodes, protects_storage)
        for kind in (*_LOOKED_UP, *((KINDS.NODE,) if labels_topology else ())):
            self._subscribe(kind)

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
        for kind in _LOOKED_UP:
            listing = await store.list(prefix_of(kind))
            self._known[kind].update({_name(kind, item): _view(kind, item) for item in listing.items})
        for item in (await store.list(prefix_of(KINDS.NODE))).items if self._labels_topology else ():
            self._learn_topology(item)
        self._changed()

    def learn(self, kind: Kind, stored: Stored) -> None:
        known = self._known.get(kind)
        if known is not None:
            known[_name(kind, stored)] = _view(kind, stored)
            self._changed()
        elif kind is KINDS.NODE and self._labels_topology:
            self._learn_topology(stored)
        follower = self._followers.get(kind)
        if follower is not None:
            follower.learn(kind, _view(kind, stored))

    def forget(self, kind: Kind, stored: Stored) -> None:
        known = self._known.get(kind)
        if known is not None:
            known.pop(_name(kind, stored), None)
            self._changed()
        elif kind is KINDS.NODE and self._topology.pop(_name(kind, stored), None) is not None:
            self._changed()
        follower = self._followers.get(kind)
        if follower is not None:
            follower.forget(kind, _view(kind, stored))

    def _learn_topology(self, stored: Stored) -> None:
        """Remember the zone of a node. Nodes are written often, and hardly ever have another zone than before."""
        labels = (stored.view if stored.view is not None else _read_labels(stored.value)).metadata.labels
        name, topology = _name(KINDS.NODE, stored), topology_labels(labels)
        if topology != self.topology_of(name):
            self._topology[name] = topology
            self._changed()

    def topology_of(self, node: str) -> Mapping[str, str]:
        """Return the labels that pods get from their node."""
        return self._topology.get(node, NO_TOPOLOGY)

    def _changed(self) -> None:
        self.generation += 1

    def _phase_of(self, name: str) -> str | None:
        found = self._known[KINDS.NAMESPACE].get(name)
        return None if found is None else found.status.phase or "Active"

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace, if there is one of that name."""
        found = self._known[KINDS.NAMESPACE].get(name)
        return None if found is None else found.metadata.labels

    def _limit_ranges(self, namespace: str) -> list[LimitRange]:
        """Return the ranges of a namespace, by name."""
        found = self._known[KINDS.LIMIT_RANGE]
        if not found:
            return []
        prefix = f"{namespace}/"
        return [view for name, view in sorted(found.items()) if name.startswith(prefix)]

    def _make_plugins(self, taints_new_nodes: bool, protects_storage: bool) -> tuple[Plugin, ...]:
        """In upstream's order."""
        known = self._known
        return (
            NamespaceLifecycle(self._phase_of),
            LimitRanger(self._limit_ranges),
            ServiceAccount(),
            *((TaintNodesByCondition(),) if taints_new_nodes else ()),
            PodSecurity(self.namespace_labels),
            Priority(lambda: tuple(known[KINDS.PRIORITY_CLASS].values())),  # in one step: there is a second thread
            DefaultTolerationSeconds(),
            DefaultStorageClass(lambda: tuple(known[KINDS.STORAGE_CLASS].values())),
            *((StorageObjectInUseProtection(),) if protects_storage else ()),
            PersistentVolumeClaimResize(lambda: known[KINDS.STORAGE_CLASS]),
            RuntimeClassPlugin(lambda name: known[KINDS.RUNTIME_CLASS].get(name)),
            *((PodTopologyLabels(self.topology_of),) if self._labels_topology else ()),
            ServiceAddresses(lambda: ServiceAllocator(known[KINDS.SERVICE], self._random, self.service_range)),
        )


def _name(kind: Kind, stored: Stored) -> str:
    return stored.key.removeprefix(prefix_of(kind))


def _view(kind: Kind, stored: Stored) -> Any:
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)
