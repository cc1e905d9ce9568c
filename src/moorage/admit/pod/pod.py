"""Validate pods as a whole, pod templates, and the annotations of either.

As upstream, labels and annotations of templates are reported without `metadata` in their path. Kubernetes:
ValidatePodCreate, validatePodMetadataAndSpec, ValidatePodTemplateSpec, ValidatePodSpecificAnnotations and its update.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.admit.metadata import validate_annotations, validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers import validate_images_for_pod
from moorage.admit.pod.label_selectors import validate_labels
from moorage.admit.pod.security import APPARMOR_CONTAINER_PREFIX, validate_profile_annotations, validate_profiles_agree
from moorage.admit.pod.spec import validate_pod_spec
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.model.field_error import FieldError, FieldErrors, forbidden, invalid
from moorage.model.types.pod import Pod, PodSpec, PodTemplateSpec, Toleration
from moorage.model.well_known.annotations import MIRROR_POD, POD_DELETION_COST

TOLERATIONS_ANNOTATION = "scheduler.alpha.kubernetes.io/tolerations"
_is_deletion_cost = re.compile(r"(?:0|-[0-9]+|[1-9][0-9]*)\Z").match
_LOWEST_COST, _HIGHEST_COST = -(2**31), 2**31 - 1
_MAX_COST_LENGTH = 40  # characters; leading zeros after a minus are allowed, but there is no need to read thousands
_TOLERATION_FIELDS = {name.lower(): name for name in ("key", "operator", "value", "effect", "tolerationSeconds")}
_JSON_WORDS = {dict: "object", str: "string", bool: "bool", int: "number", float: "number"}


def validate_pod_annotations(
    annotations: Mapping[str, str], spec: PodSpec, path: str, options: ValidationOptions
) -> FieldErrors:
    if MIRROR_POD in annotations and not spec.nodeName:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{path}[{MIRROR_POD}]", annotations[MIRROR_POD], detail)
    if annotations.get(TOLERATIONS_ANNOTATION):
        yield from _validate_annotated_tolerations(annotations[TOLERATIONS_ANNOTATION], path, options)
    cost = annotations.get(POD_DELETION_COST)
    if cost is not None and not options.allow_invalid_pod_deletion_cost and not is_deletion_cost(cost):
        yield invalid(f"{path}[{POD_DELETION_COST}]", cost, "must be a 32bit integer")
    yield from validate_profile_annotations(annotations, spec, path)


def validate_pod_annotation_updates(new: Pod, old: Pod, path: str, options: ValidationOptions) -> FieldErrors:
    """What makes a pod a mirror pod, or confines its containers, is decided when it is created."""
    before, after = old.metadata.annotations, new.metadata.annotations
    for key in sorted(before):
        if after.get(key) != before[key]:
            yield from _forbid_change(key, "may not remove or update", path)
    for key in sorted(after.keys() - before.keys()):
        yield from _forbid_change(key, "may not add", path)
    yield from validate_pod_annotations(after, new.spec, path, options)


def _forbid_change(key: str, what: str, path: str) -> list[FieldError]:
    if key.startswith(APPARMOR_CONTAINER_PREFIX):
        return [forbidden(f"{path}[{key}]", f"{what} AppArmor annotations")]
    if key == MIRROR_POD:
        return [forbidden(f"{path}[{key}]", f"{what} mirror pod annotation")]
    return []


def is_deletion_cost(text: str) -> bool:
    """Return a 32-bit integer without a plus sign or leading zeros (after a minus sign they are let pass)."""
    if len(text) > _MAX_COST_LENGTH:
        negative_zeros = text[0] == "-" and _is_deletion_cost(text)
        text = "-0" + text[1:].lstrip("0")[:_MAX_COST_LENGTH] if negative_zeros else "too long"
    return bool(_is_deletion_cost(text)) and _LOWEST_COST <= int(text) <= _HIGHEST_COST


def _validate_annotated_tolerations(text: str, path: str, options: ValidationOptions) -> list[FieldError]:
    try:
        document: Any = msgspec.json.decode(text)
        tolerations = _tolerations_of(document)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        return [invalid(path, TOLERATIONS_ANNOTATION, str(error))]
    return validate_tolerations(tolerations, f"{path}.{TOLERATIONS_ANNOTATION}", options)


def _tolerations_of(document: Any) -> tuple[Toleration, ...]:
    """Field names in any case, because the annotation was written by Go's names as well as by the API's."""
    if document is None:
        return ()
    if not isinstance(document, list):
        word = _JSON_WORDS[type(document)]
        raise msgspec.ValidationError(f"json: cannot unmarshal {word} into Go value of type []core.Toleration")
    named = [_toleration_of(item) for item in document]
    return msgspec.convert(named, tuple[Toleration, ...])


def _toleration_of(item: Any) -> Any:
    if item is None:
        return {}
    if not isinstance(item, dict):
        return item
    known = ((_TOLERATION_FIELDS.get(name.lower()), value) for name, value in item.items() if value is not None)
    return {name: value for name, value in known if name is not None}


def validate_pod_template(template: PodTemplateSpec, path: str, options: ValidationOptions) -> FieldErrors:
    labels, annotations = template.metadata.labels, template.metadata.annotations
    if labels:
        yield from validate_labels(labels, f"{path}.labels")
    if annotations:
        yield from validate_annotations(annotations, f"{path}.annotations")
        yield from validate_pod_annotations(annotations, template.spec, f"{path}.annotations", options)
    yield from validate_pod_spec(template.spec, None, f"{path}.spec", options)
    if annotations:
        yield from validate_profiles_agree(annotations, template.spec, f"{path}.spec")
    if template.spec.ephemeralContainers:
        yield forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


_TOKEN_WITHOUT_ACCOUNT = "must not be specified when serviceAccountName is not set"


def validate_pod(pod: Pod, options: ValidationOptions) -> FieldErrors:
    yield from validate_pod_metadata_and_spec(pod, options)
    if pod.spec.ephemeralContainers:
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if pod.spec.nodeName and pod.spec.schedulingGates:
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    if pod.metadata.annotations:
        yield from validate_profiles_agree(pod.metadata.annotations, pod.spec, "spec")


def validate_pod_metadata_and_spec(pod: Pod, options: ValidationOptions) -> FieldErrors:
    metadata, spec = pod.metadata, pod.spec
    yield from validate_object_meta(metadata, "metadata")
    if metadata.annotations:
        yield from validate_pod_annotations(metadata.annotations, spec, "metadata.annotations", options)
    yield from validate_pod_spec(spec, metadata, "spec", options)
    if not spec.serviceAccountName and spec.volumes:
        yield from _validate_no_tokens(spec)
    yield from validate_images_for_pod(spec.containers, "spec.containers")
    yield from validate_images_for_pod(spec.initContainers, "spec.initContainers")


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
