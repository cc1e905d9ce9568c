"""Say which pool a node belongs to.

Karpenter writes the pool's name on its nodes. Clouds do so, too, each under a label of its own; where no label names
a group, a node belongs to the one whose template it matches in most labels, with the same taints. Kubernetes: Cluster
Autoscaler asks the cloud by the node's providerID, which no manifest can answer.
"""

from collections.abc import Iterable, Mapping, Sequence

from moorage.model.types.node import Node, Taint
from moorage.model.well_known.labels import ZONE
from moorage.pools.node_pools import NODE_POOL_LABEL
from moorage.pools.node_template import NORMALIZED, NodeTemplate, Pool, Scaler

#: Ours: the pool of a node, for node groups whose nodes have no label that tells.
POOL_LABEL = "capacity.moorage.dev/pool"
#: Labels in which clouds name the node group.
GROUP_LABELS = (
    POOL_LABEL,
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "kops.k8s.io/instancegroup",
)
#: The name of a label, in any domain, that names the pool of a node.
_POOL_NAME = "pool"
#: Labels that nodes of one template differ by, and those that are there twice under an older name.
_OF_NO_POOL = frozenset({ZONE, *NORMALIZED})
_OWN_PREFIX = "node.kubernetes.io/"


class Membership:
    """Finds the pools of nodes."""

    def __init__(self, pools: Iterable[Pool]) -> None:
        self._pools = tuple(pools)
        self._by_name = {pool.name: pool for pool in self._pools}
        self._groups = [pool for pool in self._pools if pool.scaler is Scaler.CLUSTER_AUTOSCALER]

    def pool_of(self, node: Node) -> Pool | None:
        """Return the pool of a node; None if it is of no known one."""
        labels = node.metadata.labels
        if NODE_POOL_LABEL in labels:
            pool = self._by_name.get(labels[NODE_POOL_LABEL])
            return pool if pool is not None and pool.scaler is Scaler.KARPENTER else None
        for key in GROUP_LABELS:
            if (pool := self._by_name.get(labels.get(key, ""))) is not None:
                return pool
        for key, value in labels.items():
            if key.rpartition("/")[2] == _POOL_NAME and (pool := self._by_name.get(value)) is not None:
                return pool
        fitting = [(_likeness(pool.templates[0], node), -order) for order, pool in enumerate(self._groups)]
        best = max(fitting, default=(0, 0))
        return self._groups[-best[1]] if best[0] > 0 else None

    def nodes_of(self, nodes: Iterable[Node]) -> dict[str, list[Node]]:
        """Return the nodes of every pool, by its name."""
        found: dict[str, list[Node]] = {pool.name: [] for pool in self._pools}
        for node in nodes:
            if (pool := self.pool_of(node)) is not None:
                found[pool.name].append(node)
        return found


def _likeness(template: NodeTemplate, node: Node) -> int:
    """Return how many labels of a template a node has; 0 if one has another value, or the taints differ."""
    if _chosen(template.taints) != _chosen(node.spec.taints):
        return 0
    expected = _without(template.labels)
    return len(expected) if expected.items() <= node.metadata.labels.items() else 0


def _without(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _OF_NO_POOL}


def _chosen(taints: Sequence[Taint]) -> set[tuple[str, str, str]]:
    """Return the taints that a pool gives its nodes, without those that tell of trouble."""
    return {(one.key, one.value, one.effect) for one in taints if not one.key.startswith(_OWN_PREFIX)}
