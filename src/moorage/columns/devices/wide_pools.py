"""Wide pools of devices: those that more than one node sees, each node a part of them.

A node's part follows from the node selections of the slices, of which a cluster has few: each is asked once per node,
however many pools have it. Parts have numbers: nodes with the same one see the same devices, gathered once.
Kubernetes: GatherPools in dynamic-resource-allocation/structured, for each node and pod anew.
"""

from bisect import bisect, insort
from collections.abc import Iterable, Mapping

import msgspec

from moorage.columns.devices.pools import Pool
from moorage.columns.interning import Interner
from moorage.columns.node_table import NodeTable
from moorage.columns.selector_masks import NodePredicate, selector_predicate
from moorage.match.devices.allocation.features import AllocatorFeatures
from moorage.match.devices.allocation.pools import DevicePool, in_order, preference
from moorage.match.devices.allocation.published import AllocationNode, PoolId
from moorage.match.node_selector import compile_node_selector
from moorage.model.gates import GateSet
from moorage.model.types.devices import ResourceSlice
from moorage.model.types.node import NodeSelector

_ENCODER = msgspec.msgpack.Encoder(enc_hook=str, order="deterministic")


class WidePools:
    """The wide pools as nodes see them; `pools` are all there are."""

    def __init__(self, pools: Mapping[PoolId, Pool], nodes: NodeTable, gates: GateSet) -> None:
        self._pools = pools
        self._nodes = nodes
        self._gates = gates
        self._predicates: dict[bytes, NodePredicate] = {}
        self._order: list[PoolId] | None = None
        self._examples: tuple[Pool, ...] = ()  # of each selection one pool
        # Of each selection which slices a node sees, or which of their devices; 0 is nothing.
        self._parts: Interner[tuple[tuple[object, ...], ...]] = Interner(())
        self._part_of: dict[int, int] = {}
        self._gathered: dict[tuple[int, AllocatorFeatures], list[DevicePool]] = {}

    def changed(self) -> None:
        """Derive everything again, because a slice of a wide pool changed; all slots must be looked at again."""
        self._order = None
        self._parts = Interner(())
        self._part_of.clear()
        self._gathered.clear()

    def look(self, slot: int) -> int:
        """Find out which part a node sees; return its number."""
        if not self._pools:
            return 0
        self._catch_up()
        name = self._nodes.node(slot).metadata.name
        seen = tuple(self._visible(pool, slot, name) for pool in self._examples)
        part = self._part_of[slot] = self._parts.intern(seen) if any(map(any, seen)) else 0
        return part

    def rank(self, identity: PoolId) -> int:
        """Return how many wide pools come before a pool in the order of their names."""
        return bisect(self._catch_up(), identity)

    def with_local(
        self, local: Iterable[DevicePool], slot: int, node: AllocationNode, features: AllocatorFeatures
    ) -> list[DevicePool]:
        """Return what a node sees of the wide pools together with its own, in the order of the allocator."""
        if not self._pools:
            return in_order(local)
        part = self._part_of[slot]
        gathered = self._gathered.get((part, features))
        if gathered is None:
            seen = (pool.gather(node, features) for pool in self._pools.values())
            gathered = self._gathered[part, features] = in_order(pool for pool in seen if pool is not None)
        everything = gathered.copy()
        for pool in local:
            insort(everything, pool, key=preference)
        return everything

    def _catch_up(self) -> list[PoolId]:
        if self._order is None:
            self._order = sorted(self._pools)
            self._examples = tuple({_selection(pool): pool for pool in self._pools.values()}.values())
        return self._order

    def _visible(self, pool: Pool, slot: int, node: str) -> tuple[object, ...]:
        return tuple(self._seen(published, slot, node) for published in pool.slices.values())

    def _seen(self, published: ResourceSlice, slot: int, node: str) -> object:
        spec = published.spec
        if spec.sharedCounters:
            return True
        if not spec.perDeviceNodeSelection:
            return self._matches(spec.nodeName, spec.allNodes, spec.nodeSelector, slot, node)
        devices = enumerate(spec.devices)
        matching = (i for i, d in devices if self._matches(d.nodeName, d.allNodes, d.nodeSelector, slot, node))
        return tuple(matching)

    def _matches(
        self, name: str | None, everywhere: bool | None, selector: NodeSelector | None, slot: int, node: str
    ) -> bool:
        if name:
            return name == node
        if everywhere or selector is None:
            return bool(everywhere)
        key = _ENCODER.encode(selector)
        predicate = self._predicates.get(key)
        if predicate is None:
            matcher = compile_node_selector(selector, self._gates)
            predicate = self._predicates[key] = selector_predicate(matcher, self._nodes)
        return predicate.at(slot)


def _selection(pool: Pool) -> bytes:
    """Return what decides which nodes see which part of a pool."""
    return _ENCODER.encode([_selection_of(published) for published in pool.slices.values()])


def _selection_of(published: ResourceSlice) -> object:
    spec = published.spec
    if spec.sharedCounters:
        return True
    if not spec.perDeviceNodeSelection:
        return spec.nodeName, spec.allNodes, spec.nodeSelector
    return [(device.nodeName, device.allNodes, device.nodeSelector) for device in spec.devices]
