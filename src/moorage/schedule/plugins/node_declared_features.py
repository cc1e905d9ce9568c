"""NodeDeclaredFeatures: filter out nodes that do not declare a feature that the pod needs.

Kubernetes: pkg/scheduler/framework/plugins/nodedeclaredfeatures, with the feature gate NodeDeclaredFeatures.
"""

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.model.declared_features import missing_features, needed_to_run
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import SKIP, Code, Plugin, Prepared, Verdict, unresolvable

REASON = "node(s) didn't match Pod's required features"


def _needs_others_now(want: tuple[str, ...], shape: Shape, event: Event, cluster: Cluster) -> bool:
    return needed_to_run(event.old.spec) != needed_to_run(event.new.spec)


class NodeDeclaredFeatures(Plugin[tuple[str, ...]]):
    """The NodeDeclaredFeatures plugin."""

    name = "NodeDeclaredFeatures"
    answers_by_needs = True
    reads_pods = False
    refuses_with = Code.UNRESOLVABLE
    only_reason = REASON
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_DECLARED_FEATURES),
        on(
            EventKind.OWN_LABELS,
            EventKind.OWN_TOLERATIONS,
            EventKind.OWN_SCALED_DOWN,
            EventKind.OWN_CLAIMS,
            EventKind.OWN_OTHER,
            hint=_needs_others_now,
        ),
    )

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        needed = needed_to_run(shape.spec)
        return Prepared(needed, scores=False) if needed else SKIP

    def explain(self, want: tuple[str, ...], cluster: Cluster, slot: int) -> Verdict | None:
        missing = missing_features(want, cluster.nodes.node(slot).status.declaredFeatures)
        if not missing:
            return None
        return unresolvable(REASON, f"the node does not declare {', '.join(missing)}")
