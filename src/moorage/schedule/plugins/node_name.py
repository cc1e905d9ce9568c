"""NodeName: filter out all nodes but the one that the pod names.

Kubernetes: pkg/scheduler/framework/plugins/nodename. Pods that already have a node never come here; what is left are
pods whose `spec.nodeName` is a wish, and shapes are made with it (`Cluster.shape_of`) only for those.
"""

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import SKIP, Code, Mask, Plugin, Prepared, Verdict, unresolvable

REASON = "node(s) didn't match the requested node name"


def _is_that_node(want: str, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return bool(event.new.metadata.name == want)


class NodeName(Plugin[str]):
    """The NodeName plugin."""

    name = "NodeName"
    answers_by_needs = True
    reads_pods = False
    refuses_with = Code.UNRESOLVABLE
    only_reason = REASON
    requeue_on = (on(EventKind.NODE_ADDED, hint=_is_that_node),)

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return Prepared(shape.node_name, scores=False) if shape.node_name else SKIP

    def filter(self, want: str, cluster: Cluster) -> Mask:
        mask = np.zeros(cluster.nodes.slots.capacity, np.bool_)
        slot = cluster.nodes.slot_of.get(want)
        if slot is not None:
            mask[slot] = True
        return mask

    def explain(self, want: str, cluster: Cluster, slot: int) -> Verdict | None:
        asked_for = cluster.nodes.slot_of.get(want) == slot
        return None if asked_for else unresolvable(REASON, f"the pod asks for node {want}")
