"""What the API server says about pods and pod templates.

In: typed views, defaulted, and `ValidationOptions`. Out: field errors in upstream's words and order. Kubernetes:
pkg/apis/core/validation/validation.go. The path through this package: `create` or `template`, then `spec`, then
`volumes`, `containers` and the rest, one file for each part of a pod.
"""

from moorage.admit.pod.annotations import validate_pod_annotation_updates
from moorage.admit.pod.create import validate_pod, validate_pod_metadata_and_spec
from moorage.admit.pod.spec import validate_pod_spec
from moorage.admit.pod.template import validate_pod_template

__all__ = [
    "validate_pod",
    "validate_pod_annotation_updates",
    "validate_pod_metadata_and_spec",
    "validate_pod_spec",
    "validate_pod_template",
]
