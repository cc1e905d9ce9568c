"""Say what keeps a node whatever room there is elsewhere: what its owner wants, and pods that would be lost.

Kubernetes: Cluster Autoscaler and Karpenter leave such nodes alone.
"""

from collections.abc import Iterable, Iterator

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES
from moorage.model.well_known.annotations import DO_NOT_DISRUPT, SAFE_TO_EVICT, SCALE_DOWN_DISABLED
from moorage.model.well_known.labels import CONTROL_PLANE
from moorage.plan.simulation.drain import stays

_TRUE, _FALSE = "true", "false"


def obstacle(node: Node, pods: Iterable[Object]) -> str:
    """Return why a node has to stay with these pods; empty if nothing keeps it."""
    annotations = node.metadata.annotations
    for key in (DO_NOT_DISRUPT, SCALE_DOWN_DISABLED):
        if annotations.get(key) == _TRUE:
            return f"the node has the annotation {key}=true"
    if CONTROL_PLANE in node.metadata.labels:
        return f"the node has the label {CONTROL_PLANE}"
    return next(_of_pods(pods), "")


def _of_pods(pods: Iterable[Object]) -> Iterator[str]:
    for found in pods:
        pod = found.view
        if pod.status.phase in FINISHED_PHASES or stays(pod):
            continue
        annotations = pod.metadata.annotations
        if annotations.get(DO_NOT_DISRUPT) == _TRUE:
            yield f"pod {found.key} has the annotation {DO_NOT_DISRUPT}=true"
        elif annotations.get(SAFE_TO_EVICT) == _FALSE:
            yield f"pod {found.key} has the annotation {SAFE_TO_EVICT}=false"
        elif controller_of(pod.metadata) is None and annotations.get(SAFE_TO_EVICT) != _TRUE:
            yield f"pod {found.key} has no controller, which would make it again elsewhere"
