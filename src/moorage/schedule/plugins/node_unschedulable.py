"""NodeUnschedulable: filter out cordoned nodes, unless the pod tolerates them.

A pod may go to a node with `spec.unschedulable` if it tolerates the taint node.kubernetes.io/unschedulable:NoSchedule,
whether the node carries it or not. Kubernetes: pkg/scheduler/framework/plugins/nodeunschedulable.
Differs: the toleration may also be a version comparison or an expression, behind their gates; an expensive expression
is asked only where a node is cordoned.
"""

from typing import Any

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Taint
from moorage.model.well_known import taints
from moorage.model.well_known.taints import NO_SCHEDULE
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import SKIP, Code, Mask, Plugin, Prepared, Verdict, unresolvable

REASON = "node(s) were unschedulable"
UNSCHEDULABLE = Taint(taints.UNSCHEDULABLE, effect=NO_SCHEDULE)


def _is_open_now(want: TolerationSet, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return not event.new.spec.unschedulable and (event.old is None or event.old.spec.unschedulable)


class NodeUnschedulable(Plugin[TolerationSet]):
    """The NodeUnschedulable plugin."""

    name = "NodeUnschedulable"
    answers_by_needs = True
    reads_pods = False
    refuses_with = Code.UNRESOLVABLE
    only_reason = REASON
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_TAINTS, hint=_is_open_now),
        # Never asked for a shape that now tolerates cordons, unless it may do so by an expression: it is skipped.
        on(EventKind.OWN_TOLERATIONS, hint=lambda want, shape, event, cluster: want.is_expensive),
    )

    def __init__(self, gates: GateSet, programs: Any = None) -> None:
        self._gates = gates
        self._programs = programs

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        tolerations = compile_tolerations(shape.spec.tolerations, self._gates, self._programs)
        if not tolerations.is_expensive and tolerations.tolerates(UNSCHEDULABLE):
            return SKIP
        return Prepared(tolerations, scores=False)

    def filter(self, want: TolerationSet, cluster: Cluster) -> Mask:
        mask: Mask = ~cluster.nodes.unschedulable
        if want.is_expensive and not mask.all() and want.tolerates(UNSCHEDULABLE):
            mask[:] = True
        return mask

    def filter_slot(self, want: TolerationSet, cluster: Cluster, slot: int) -> bool:
        if not cluster.nodes.unschedulable[slot]:
            return True
        return want.is_expensive and want.tolerates(UNSCHEDULABLE)

    def explain(self, want: TolerationSet, cluster: Cluster, slot: int) -> Verdict | None:
        if self.filter_slot(want, cluster, slot):
            return None
        return unresolvable(REASON, f"spec.unschedulable is true, and {want.explain(UNSCHEDULABLE)}")
