"""What the API server says about the fields that decide where a pod runs.

In: typed views and `ValidationOptions`. Out: field errors in upstream's words and order. Kubernetes:
pkg/apis/core/validation/validation.go.
"""

from moorage.admit.scheduling.affinity import validate_affinity
from moorage.admit.scheduling.label_selectors import validate_label_name, validate_label_selector, validate_labels
from moorage.admit.scheduling.node_affinity import validate_node_affinity, validate_node_selector
from moorage.admit.scheduling.pod_affinity import validate_pod_affinity
from moorage.admit.scheduling.taints import validate_taints
from moorage.admit.scheduling.tolerations import validate_tolerations
from moorage.admit.scheduling.topology_spread import validate_topology_spread_constraints

__all__ = [
    "validate_affinity",
    "validate_label_name",
    "validate_label_selector",
    "validate_labels",
    "validate_node_affinity",
    "validate_node_selector",
    "validate_pod_affinity",
    "validate_taints",
    "validate_tolerations",
    "validate_topology_spread_constraints",
]
