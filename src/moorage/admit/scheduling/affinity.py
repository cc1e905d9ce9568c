"""A pod's affinity as a whole: nodes, then pods to be near, then pods to be away from.

In: `spec.affinity`. Out: field errors. Kubernetes: validateAffinity.
"""

from moorage.admit.options import ValidationOptions
from moorage.admit.scheduling.node_affinity import validate_node_affinity
from moorage.admit.scheduling.pod_affinity import validate_pod_affinity
from moorage.model.field_error import FieldError
from moorage.model.types.pod import Affinity


def validate_affinity(affinity: Affinity | None, path: str, options: ValidationOptions) -> list[FieldError]:
    if affinity is None:
        return []
    errors: list[FieldError] = []
    if affinity.nodeAffinity is not None:
        errors += validate_node_affinity(affinity.nodeAffinity, f"{path}.nodeAffinity", options)
    if affinity.podAffinity is not None:
        errors += validate_pod_affinity(affinity.podAffinity, f"{path}.podAffinity", options)
    if affinity.podAntiAffinity is not None:
        errors += validate_pod_affinity(affinity.podAntiAffinity, f"{path}.podAntiAffinity", options)
    return errors
