"""Pod templates, as all workload kinds carry them.

In: a defaulted `PodTemplateSpec`, its path (such as `spec.template`), options. Out: field errors. Kubernetes:
ValidatePodTemplateSpec. As upstream, labels and annotations are reported without `metadata` in their path.
"""

from moorage.admit.metadata import validate_annotations
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.annotations import validate_pod_annotations
from moorage.admit.pod.containers.profiles import validate_profiles_agree
from moorage.admit.pod.spec import validate_pod_spec
from moorage.admit.scheduling import validate_labels
from moorage.model.field_error import FieldError, forbidden
from moorage.model.types.pod import PodTemplateSpec


def validate_pod_template(template: PodTemplateSpec, path: str, options: ValidationOptions) -> list[FieldError]:
    labels, annotations = template.metadata.labels, template.metadata.annotations
    errors = validate_labels(labels, f"{path}.labels") if labels else []
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
        errors += validate_pod_annotations(annotations, template.spec, f"{path}.annotations", options)
    errors += validate_pod_spec(template.spec, None, f"{path}.spec", options)
    errors += validate_profiles_agree(annotations, template.spec, f"{path}.spec")
    if template.spec.ephemeralContainers:
        detail = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", detail))
    return errors
