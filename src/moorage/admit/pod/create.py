"""A pod as a whole: its metadata, its spec, and what holds for pods but not for templates.

In: a defaulted and mutated `Pod`, options. Out: field errors, in upstream's order. Kubernetes: ValidatePodCreate and
validatePodMetadataAndSpec.
"""

from moorage.admit.metadata import validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.annotations import validate_pod_annotations
from moorage.admit.pod.containers.containers import validate_images_for_pod
from moorage.admit.pod.containers.profiles import validate_profiles_agree
from moorage.admit.pod.spec import validate_pod_spec
from moorage.model.field_error import FieldError, forbidden
from moorage.model.types.pod import Pod, PodSpec

_TOKEN_WITHOUT_ACCOUNT = "must not be specified when serviceAccountName is not set"


def validate_pod(pod: Pod, options: ValidationOptions) -> list[FieldError]:
    """What the API server says when this pod is created."""
    errors = validate_pod_metadata_and_spec(pod, options)
    if pod.spec.ephemeralContainers:
        errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if pod.spec.nodeName and pod.spec.schedulingGates:
        errors.append(forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"))
    return errors + validate_profiles_agree(pod.metadata.annotations, pod.spec, "spec")


def validate_pod_metadata_and_spec(pod: Pod, options: ValidationOptions) -> list[FieldError]:
    """What holds for a pod whenever it is written."""
    metadata, spec = pod.metadata, pod.spec
    errors = validate_object_meta(metadata, "metadata")
    if metadata.annotations:
        errors += validate_pod_annotations(metadata.annotations, spec, "metadata.annotations", options)
    errors += validate_pod_spec(spec, metadata, "spec", options)
    if not spec.serviceAccountName and spec.volumes:
        errors += _validate_no_tokens(spec)
    errors += validate_images_for_pod(spec.containers, "spec.containers")
    return errors + validate_images_for_pod(spec.initContainers, "spec.initContainers")


def _validate_no_tokens(spec: PodSpec) -> list[FieldError]:
    return [
        forbidden(
            f"spec.volumes[{index}].projected.sources[{source_index}].serviceAccountToken", _TOKEN_WITHOUT_ACCOUNT
        )
        for index, volume in enumerate(spec.volumes)
        if volume.projected is not None
        for source_index, source in enumerate(volume.projected.sources)
        if source.serviceAccountToken is not None
    ]
