"""Group ResourceSlices into pools of devices, filed by the nodes that see them.

A pool is local if all its slices name the same node and nothing about it concerns other nodes. Two local pools of a
driver that differ only in names have the same content, so nodes that are alike share one answer. Other pools are wide:
more than one node sees them, each a part. A node's part follows from the node selections of the slices, of which a
cluster has few: each is asked once per node, however many pools have it. Parts have numbers: nodes with the same one
see the same devices, gathered once. Kubernetes: GatherPools in dynamic-resource-allocation/structured, for each node
and pod again.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from moorage.columns.codes import Interner
from moorage.columns.devices.use import DeviceUse
from moorage.columns.node_table import NodeTable
from moorage.columns.selector_masks import NodePredicate, selector_predicate
from moorage.match.devices.allocation.features import AllocatorFeatures
from moorage.match.devices.allocation.offer import Offer, PoolBlock
from moorage.match.devices.allocation.pools import DevicePool, gather_pool, in_order
from moorage.match.devices.allocation.published import AllocationNode, PoolId, PublishedSlice
from moorage.match.devices.tolerations import device_taints, rule_selects
from moorage.match.node_selector import compile_node_selector
from moorage.model.gates import GateSet
from moorage.model.types.devices import DeviceTaintRule, ResourceSlice
from moorage.model.types.node import NodeSelector

_ENCODER = msgspec.msgpack.Encoder(enc_hook=str, order="deterministic")
_ANOTHER_NODE = AllocationNode("", {})
Rules = Mapping[str, DeviceTaintRule]  # by name


class Pool:
    """The slices of one pool, in order of their names."""

    __slots__ = ("_gathered", "content", "id", "node", "places", "published", "slices")

    def __init__(self, identity: PoolId) -> None:
        self.id = identity
        self.slices: dict[str, ResourceSlice] = {}
        self.node: str | None = None  # empty if it is wide, None before it is filed
        self.content = -1
        self.places: dict[str, tuple[int, int]] = {}  # a device's slice and its index there, by name
        self.published: tuple[PublishedSlice, ...] = ()
        self._gathered: dict[AllocatorFeatures, DevicePool | None] = {}

    def settle(self, contents: "Contents", rules: Rules, gates: GateSet) -> None:
        """Derive the rest after the slices changed."""
        self.slices = dict(sorted(self.slices.items()))
        self.published = tuple(PublishedSlice(slice_, gates, rules.values()) for slice_ in self.slices.values())
        self._gathered.clear()
        nodes = {published.spec.nodeName or "" for published in self.slices.values()}
        self.node = nodes.pop() if len(nodes) == 1 and not self._troubles_others() else ""
        self.places = {}
        generations = sorted({published.spec.pool.generation for published in self.slices.values()})
        encoded = []
        for index, published in enumerate(self.slices.values()):
            spec, devices = published.spec, []
            for position, device in enumerate(spec.devices):
                # Names are left out, but not that two devices have the same one.
                twin = device.name if device.name in self.places else ""
                self.places.setdefault(device.name, (index, position))
                taints = device_taints(*self.id, device, rules.values()) if rules else device.taints
                timeless = tuple(msgspec.structs.replace(taint, timeAdded=None) for taint in taints)
                devices.append((msgspec.structs.replace(device, name="", taints=timeless), twin))
            age = generations.index(spec.pool.generation)  # which one is newer matters, not by how much
            encoded.append((age, spec.pool.resourceSliceCount, spec.sharedCounters, devices))
        self.leave(contents)
        self.content = contents.take(_ENCODER.encode((self.id[0], encoded)))

    def leave(self, contents: "Contents") -> None:
        """Give the number of the content back."""
        if self.content >= 0:
            contents.give_back(self.content)
            self.content = -1

    def _troubles_others(self) -> bool:
        """Return whether other nodes see it: those with shared counters are, and matter if something is wrong."""
        if not any(slice_.counter_sets for slice_ in self.published):
            return False
        seen = gather_pool(self.published, _ANOTHER_NODE, AllocatorFeatures())
        return seen is not None and (seen.incomplete or bool(seen.invalid))

    def gather(self, node: AllocationNode, features: AllocatorFeatures) -> DevicePool | None:
        """Return the pool as a node sees it, which is one and the same thing for a local pool."""
        if not self.node:
            return gather_pool(self.published, node, features)
        if features not in self._gathered:
            self._gathered[features] = gather_pool(self.published, node, features)
        return self._gathered[features]

    def use(self, use: DeviceUse) -> tuple[object, ...]:
        """Return how the pool's devices are in use, by their places."""
        driver, pool = self.id
        names = use.in_pool(self.id)
        return tuple(
            sorted((place, use.key((driver, pool, name))) for name in names if (place := self.places.get(name)))
        )


class Contents:
    """Numbers the contents that pools have; numbers are not used again, so that one means the same for ever."""

    __slots__ = ("_content_of", "_last", "_number_of", "_pools")

    def __init__(self) -> None:
        self._last = 0
        self._number_of: dict[bytes, int] = {}
        self._content_of: dict[int, bytes] = {}
        self._pools: Counter[int] = Counter()

    def take(self, content: bytes) -> int:
        number = self._number_of.get(content)
        if number is None:
            self._last += 1
            number = self._number_of[content] = self._last
            self._content_of[number] = content
        self._pools[number] += 1
        return number

    def give_back(self, number: int) -> None:
        self._pools[number] -= 1
        if not self._pools[number]:
            del self._pools[number], self._number_of[self._content_of.pop(number)]

    def __len__(self) -> int:
        return len(self._number_of)


class PublishedPools:
    """All pools, filed by the node that they are local to. The `set` and `remove` methods return what changed."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pools: dict[PoolId, Pool] = {}
        self._pool_of: dict[str, PoolId] = {}  # by the slice's name
        self._local: dict[str, dict[PoolId, Pool]] = {}  # by the node's name
        self._contents = Contents()
        self.wide: dict[PoolId, Pool] = {}

    def get(self, identity: PoolId) -> Pool | None:
        return self._pools.get(identity)

    def local_to(self, node: str) -> Iterable[Pool]:
        return self._local.get(node, {}).values()

    def set_slice(self, published: ResourceSlice) -> set[str]:
        """Add or replace a slice; return the nodes whose local pools changed, with "" for wide ones."""
        identity = (published.spec.driver, published.spec.pool.name)
        affected = self.remove_slice(published.metadata.name) if published.metadata.name in self._pool_of else set()
        pool = self._pools.get(identity)
        if pool is None:
            pool = self._pools[identity] = Pool(identity)
        self._pool_of[published.metadata.name] = identity
        pool.slices[published.metadata.name] = published
        return affected | self._file(pool)

    def remove_slice(self, name: str) -> set[str]:
        """Remove a slice; return the nodes whose local pools changed, with "" for wide ones."""
        pool = self._pools[self._pool_of.pop(name)]
        del pool.slices[name]
        return self._file(pool)

    @property
    def rules(self) -> Rules:
        """Return the rules that taint devices; see `set_rule`."""
        return self._rules

    def set_rule(self, name: str, rule: DeviceTaintRule | None) -> set[str]:
        """Add, replace or remove a rule; return the nodes whose local pools changed, with "" for wide ones."""
        concerned = [concerning for concerning in (self._rules.pop(name, None), rule) if concerning is not None]
        if rule is not None:
            self._rules[name] = rule
            self._rules = dict(sorted(self._rules.items()))
        affected: set[str] = set()
        for pool in list(self._pools.values()):
            if any(_may_select(concerning, pool) for concerning in concerned):
                affected |= self._file(pool)
        return affected

    def _file(self, pool: Pool) -> set[str]:
        affected = {pool.node}
        if pool.node is not None:
            self._unfile(pool, pool.node)
        if pool.slices:
            pool.settle(self._contents, self._rules, self._gates)
            self._filed(pool.node or "")[pool.id] = pool
            affected.add(pool.node)
        else:
            pool.leave(self._contents)
            del self._pools[pool.id]
        return {node for node in affected if node is not None}

    def _unfile(self, pool: Pool, node: str) -> None:
        del self._filed(node)[pool.id]
        if node and not self._local[node]:
            del self._local[node]

    def _filed(self, node: str) -> dict[PoolId, Pool]:
        return self._local.setdefault(node, {}) if node else self.wide


def _may_select(rule: DeviceTaintRule, pool: Pool) -> bool:
    selector = rule.spec.deviceSelector
    return rule_selects(rule, *pool.id, (selector and selector.device) or "")


class WidePools:
    """The wide pools as nodes see them; `pools` are all there are."""

    def __init__(self, pools: Mapping[PoolId, Pool], nodes: NodeTable, gates: GateSet) -> None:
        self._pools = pools
        self._nodes = nodes
        self._gates = gates
        self._predicates: dict[bytes, NodePredicate] = {}
        self._earlier: dict[bytes, NodePredicate] = {}  # those of before the last change
        self._order: list[PoolId] | None = None
        self._examples: tuple[Pool, ...] = ()  # of each selection one pool
        # Of each selection which slices a node sees, or which of their devices; 0 is nothing.
        self._parts: Interner[tuple[tuple[object, ...], ...]] = Interner(())
        self._part_of: dict[int, int] = {}
        self._gathered: dict[tuple[int, AllocatorFeatures], PoolBlock] = {}

    def changed(self) -> None:
        """Derive everything again, because a slice of a wide pool changed; all slots must be looked at again."""
        self._order = None
        self._earlier, self._predicates = self._predicates or self._earlier, {}
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
    ) -> Offer:
        """Return what a node sees of the wide pools together with its own."""
        own = in_order(local)
        if not self._pools:
            return Offer(own)
        part = self._part_of[slot]
        block = self._gathered.get((part, features))
        if block is None:
            seen = (pool.gather(node, features) for pool in self._pools.values())
            block = PoolBlock(in_order(pool for pool in seen if pool is not None))
            self._gathered[part, features] = block
        return Offer(own, block)

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
            predicate = self._earlier.get(key)
            if predicate is None:
                predicate = selector_predicate(compile_node_selector(selector, self._gates), self._nodes)
            self._predicates[key] = predicate
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
