"""Say how much larger a pool may get: its bounds of nodes, and its limits of resources, less what its nodes have.

Kubernetes: Karpenter leaves out instance types with more than what remains of a NodePool's limits; Cluster Autoscaler
keeps a node group within its largest size. Neither starts nodes of a pool with a fixed size.
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.types.node import Node
from moorage.pools.node_template import NodeTemplate, Pool

_ZERO = parse_quantity("0")


class Growth(msgspec.Struct, frozen=True):
    """What a pool has: how many nodes, and how much of each resource that it has a limit of."""

    pool: Pool
    nodes: int = 0
    used: Mapping[str, Quantity] = {}

    @property
    def more_nodes(self) -> int | None:
        """How many more nodes there may be; None if there is no bound."""
        most = self.pool.replicas if self.pool.replicas is not None else self.pool.most
        return None if most is None else max(most - self.nodes, 0)

    def why_not(self, template: NodeTemplate) -> tuple[str, ...]:
        """Return why the pool may not start a node of a template: each bound with its inequality; empty if it may."""
        pool, reasons = self.pool, list[str]()
        if pool.replicas is not None:
            if self.nodes >= pool.replicas:
                reasons.append(f"its size is fixed: replicas {pool.replicas:,}, and it has {self.nodes:,}")
        elif pool.most is not None and self.nodes >= pool.most:
            name = "limits.nodes" if pool.kind == "NodePool" else "maxSize"
            reasons.append(f"{name} is {pool.most:,}, and it has {self.nodes:,}")
        for resource, limit in pool.limits.items():
            have, more = self.used.get(resource, _ZERO), template.capacity.get(resource, _ZERO)
            if more.sign() > 0 and have.add(more) > limit:
                reasons.append(f"limits.{resource} is {limit}: {have} used + {more} of one more node is more")
        return tuple(reasons)

    def with_node(self, capacity: Mapping[str, Quantity]) -> "Growth":
        """Return the growth with one node more."""
        used = {
            resource: self.used.get(resource, _ZERO).add(capacity.get(resource, _ZERO)) for resource in self.pool.limits
        }
        return msgspec.structs.replace(self, nodes=self.nodes + 1, used=used)


def growth_of(pool: Pool, nodes: Iterable[Node]) -> Growth:
    """Return what a pool has, from its nodes."""
    growth = Growth(pool)
    for node in nodes:
        growth = growth.with_node(node.status.capacity or node.status.allocatable)
    return growth
