"""Pools of devices, grouped from ResourceSlices and filed by the nodes that see them.

A pool is local if all its slices name the same node and nothing about it concerns other nodes. Two local pools of a
driver that differ only in names have the same content, so nodes that are alike share one answer. Other pools are wide
(see wide_pools.py).
Kubernetes: GatherPools in dynamic-resource-allocation/structured, for each node and pod anew.
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.columns.devices.use import DeviceUse
from moorage.columns.interning import Interner
from moorage.match.devices.allocation.features import AllocatorFeatures
from moorage.match.devices.allocation.pools import DevicePool, gather_pool
from moorage.match.devices.allocation.published import AllocationNode, PoolId, PublishedSlice
from moorage.match.devices.tolerations import device_taints, rule_selects
from moorage.model.gates import GateSet
from moorage.model.types.devices import DeviceTaintRule, ResourceSlice

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

    def settle(self, contents: Interner[bytes], rules: Rules, gates: GateSet) -> None:
        """Derive the rest after the slices changed."""
        self.slices = dict(sorted(self.slices.items()))
        self.published = tuple(PublishedSlice(one, gates, rules.values()) for one in self.slices.values())
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
        self.content = contents.intern(_ENCODER.encode((self.id[0], encoded)))

    def _troubles_others(self) -> bool:
        """Return whether other nodes see it: those with shared counters are, and matter if something is wrong."""
        if not any(one.counter_sets for one in self.published):
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


class PublishedPools:
    """All pools, filed by the node that they are local to. The `set` and `remove` methods return what changed."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._rules: dict[str, DeviceTaintRule] = {}
        self._pools: dict[PoolId, Pool] = {}
        self._pool_of: dict[str, PoolId] = {}  # by the slice's name
        self._local: dict[str, dict[PoolId, Pool]] = {}  # by the node's name
        self._contents: Interner[bytes] = Interner()
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
        concerned = [found for found in (self._rules.pop(name, None), rule) if found is not None]
        if rule is not None:
            self._rules[name] = rule
            self._rules = dict(sorted(self._rules.items()))
        affected: set[str] = set()
        for pool in list(self._pools.values()):
            if any(_may_select(found, pool) for found in concerned):
                affected |= self._file(pool)
        return affected

    def _file(self, pool: Pool) -> set[str]:
        affected = {pool.node}
        if pool.node is not None:
            del self._filed(pool.node)[pool.id]
        if pool.slices:
            pool.settle(self._contents, self._rules, self._gates)
            self._filed(pool.node or "")[pool.id] = pool
            affected.add(pool.node)
        else:
            del self._pools[pool.id]
        return {node for node in affected if node is not None}

    def _filed(self, node: str) -> dict[PoolId, Pool]:
        return self._local.setdefault(node, {}) if node else self.wide


def _may_select(rule: DeviceTaintRule, pool: Pool) -> bool:
    selector = rule.spec.deviceSelector
    return rule_selects(rule, *pool.id, (selector and selector.device) or "")
