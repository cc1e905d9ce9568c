"""Know the pools of nodes, the kinds of node that they are, and how much larger pools may get."""

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from moorage.autoscale.node_kinds import NodeKind, NodeKinds
from moorage.autoscale.node_taints import is_initialized
from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node, Taint
from moorage.model.well_known.labels import INSTANCE_TYPE, ZONE
from moorage.pools.growth import Growth, growth_of
from moorage.pools.instance_types import CAPACITY_TYPE
from moorage.pools.membership import Membership
from moorage.pools.node_template import Pool, Scaler

_KEPT = 100_000


class PooledNodes:
    """The nodes of the pools of one autoscaler, which gives those that leave a taint."""

    def __init__(self, kinds: NodeKinds, leaving_taint: str) -> None:
        self.kinds, self.pools, self.leaving_taint = kinds, kinds.pools, leaving_taint
        self.membership = Membership(kinds.pools)
        self._pool_of: dict[str, tuple[Mapping[str, str], tuple[Taint, ...], Pool | None]] = {}
        self._kind_of = {
            (kind.pool.name, kind.template.instance_type, kind.template.zone, kind.template.capacity_type): kind
            for kind in reversed(kinds.kinds)
        }

    def pool_of(self, node: Node) -> Pool | None:
        """Return the pool of a node."""
        name, labels, taints = node.metadata.name, node.metadata.labels, node.spec.taints
        kept = self._pool_of.get(name)
        if kept is None or kept[0] is not labels or kept[1] is not taints:
            own = node
            if any(one.key == self.leaving_taint for one in taints):
                own = replace(
                    node, spec=replace(node.spec, taints=tuple(t for t in taints if t.key != self.leaving_taint))
                )
            kept = self._pool_of[name] = labels, taints, self.membership.pool_of(own)
            if len(self._pool_of) > _KEPT:
                self._pool_of = {name: kept}
        return kept[2]

    def kind_of(self, node: Node) -> NodeKind | None:
        """Return the kind of node that a node is, by its pool, instance type, zone and the way it was bought."""
        pool, labels = self.pool_of(node), node.metadata.labels
        if pool is None:
            return None
        key = labels.get(INSTANCE_TYPE, ""), labels.get(ZONE, ""), labels.get(CAPACITY_TYPE, "")
        kind = self._kind_of.get((pool.name, *key))
        if kind is None and pool.scaler is Scaler.CLUSTER_AUTOSCALER:
            numbers = self.kinds.of_pool[pool.name]
            same_zone = [number for number in numbers if self.kinds.kinds[number].template.zone == key[1]]
            kind = self.kinds.kinds[int((same_zone or list(numbers))[0])]
        return kind

    def growths(self, world: World, coming: Mapping[str, NodeKind]) -> dict[str, Growth]:
        """Return what each pool has, with the nodes on their way."""
        nodes: dict[str, list[Node]] = {pool.name: [] for pool in self.pools}
        for found in world.all(KINDS.NODE):
            if (pool := self.pool_of(found.view)) is not None:
                nodes[pool.name].append(found.view)
        growths = {pool.name: growth_of(pool, nodes[pool.name]) for pool in self.pools}
        for name, kind in coming.items():
            if world.get(KINDS.NODE, name) is None:
                growths[kind.pool.name] = growths[kind.pool.name].with_node(kind.template.capacity)
        return growths

    def ready(self, world: World, left_out: Collection[str]) -> list[tuple[Object, Pool]]:
        """Return the nodes of the pools that are ready for pods, but for some, by name."""
        found = [
            (one, pool)
            for one in world.all(KINDS.NODE)
            if one.name not in left_out
            and one.view.metadata.deletionTimestamp is None
            and (pool := self.pool_of(one.view)) is not None
            and is_initialized(one.view, pool)
        ]
        return sorted(found, key=lambda pair: pair[0].name)
