"""Which events may make PodTopologySpread change its mind about a pod that it rejected.

Kubernetes: isSchedulableAfterPodChange and isSchedulableAfterNodeChange of podtopologyspread.
Differs: a pod that begins to end is no longer counted, so that helps, too; so does a node whose other labels make it
count or not.
"""

from moorage.columns.cluster import Cluster
from moorage.columns.pod_classes import Label, label_needed
from moorage.columns.shape import Shape
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.framework.requeue import on
from moorage.schedule.plugins.spread.spread_domains import Constraint, SpreadWant

_HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def _constraints(want: SpreadWant, cluster: Cluster) -> tuple[Constraint, ...]:
    want.catch_up(cluster)
    return want.constraints.hard


def _counted(want: SpreadWant, pod: Pod, cluster: Cluster) -> list[bool]:
    """Which constraints count the pod."""
    if pod.metadata.namespace != want.namespace:
        return []
    return [constraint.selector.match(pod.metadata.labels) for constraint in _constraints(want, cluster)]


def _is_counted(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return any(_counted(want, event.new if event.new is not None else event.old, cluster))


def _counts_otherwise(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return _counted(want, event.old, cluster) != _counted(want, event.new, cluster)


def _has_keys(want: SpreadWant, node: Node, cluster: Cluster) -> bool:
    return all(constraint.key in node.metadata.labels for constraint in _constraints(want, cluster))


def _is_in_domains(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return _has_keys(want, event.new if event.new is not None else event.old, cluster)


def _moved(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """A node that is in another domain, or counts where it did not, or the other way round."""
    old: Node = event.old
    new: Node = event.new
    had, has = _has_keys(want, old, cluster), _has_keys(want, new, cluster)
    if not had or not has:
        return had != has
    before, after = old.metadata.labels, new.metadata.labels
    constraints = _constraints(want, cluster)
    if any(before[constraint.key] != after[constraint.key] for constraint in constraints):
        return True
    honored = any(constraint.honors_affinity for constraint in constraints)
    name = new.metadata.name
    return honored and want.required.match(before, name) != want.required.match(after, name)


def _tainted_otherwise(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    if not any(constraint.honors_taints for constraint in _constraints(want, cluster)):
        return False
    before, after = (want.tolerations.untolerated(n.spec.taints, _HARD_EFFECTS) for n in (event.old, event.new))
    return bool(before) != bool(after) and _has_keys(want, event.new, cluster)


def _counted_labels(want: SpreadWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """A pod that counts is selected by one of the constraints; those that the pod did not ask for itself may change."""
    if not shape.spec.topologySpreadConstraints:
        return None
    needed = [label_needed(constraint.selector) for constraint in _constraints(want, cluster)]
    if any(labels is None for labels in needed):
        return None
    return tuple(label for labels in needed for label in labels or ())


REQUEUE_ON = (
    on(EventKind.OWN_LABELS, EventKind.OWN_TOLERATIONS),
    on(EventKind.POD_ADDED, EventKind.POD_REMOVED, EventKind.POD_ENDING, hint=_is_counted, needs=_counted_labels),
    on(EventKind.POD_LABELS, hint=_counts_otherwise, needs=_counted_labels),
    on(EventKind.NODE_ADDED, EventKind.NODE_REMOVED, hint=_is_in_domains),
    on(EventKind.NODE_LABELS, hint=_moved),
    on(EventKind.NODE_TAINTS, hint=_tainted_otherwise),
)
