"""Annotations that mean something for a pod: mirror pods, deletion cost, and the forerunners of fields.

In: annotations of a pod or template and the spec beside them. Out: field errors. Kubernetes:
ValidatePodSpecificAnnotations, ValidatePodSpecificAnnotationUpdates, GetDeletionCostFromPodAnnotations,
GetTolerationsFromPodAnnotations.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.claims import MIRROR_POD_ANNOTATION
from moorage.admit.pod.containers.profiles import APPARMOR_CONTAINER_PREFIX, validate_profile_annotations
from moorage.admit.scheduling import validate_tolerations
from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.types.pod import Pod, PodSpec, Toleration

DELETION_COST_ANNOTATION = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS_ANNOTATION = "scheduler.alpha.kubernetes.io/tolerations"
_is_deletion_cost = re.compile(r"(?:0|-[0-9]+|[1-9][0-9]*)\Z").match
_LOWEST_COST, _HIGHEST_COST = -(2**31), 2**31 - 1
_MAX_COST_LENGTH = 40  # characters; leading zeros after a minus are allowed, but there is no need to read thousands
_TOLERATION_FIELDS = {name.lower(): name for name in ("key", "operator", "value", "effect", "tolerationSeconds")}
_JSON_WORDS = {dict: "object", str: "string", bool: "bool", int: "number", float: "number"}


def validate_pod_annotations(
    annotations: Mapping[str, str], spec: PodSpec, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    if MIRROR_POD_ANNOTATION in annotations and not spec.nodeName:
        detail = "must set spec.nodeName if mirror pod annotation is set"
        errors.append(invalid(f"{path}[{MIRROR_POD_ANNOTATION}]", annotations[MIRROR_POD_ANNOTATION], detail))
    if annotations.get(TOLERATIONS_ANNOTATION):
        errors += _validate_annotated_tolerations(annotations[TOLERATIONS_ANNOTATION], path, options)
    cost = annotations.get(DELETION_COST_ANNOTATION)
    if cost is not None and not options.allow_invalid_pod_deletion_cost and not is_deletion_cost(cost):
        errors.append(invalid(f"{path}[{DELETION_COST_ANNOTATION}]", cost, "must be a 32bit integer"))
    return errors + validate_profile_annotations(annotations, spec, path)


def validate_pod_annotation_updates(new: Pod, old: Pod, path: str, options: ValidationOptions) -> list[FieldError]:
    """What makes a pod a mirror pod, or confines its containers, is decided when it is created."""
    before, after = old.metadata.annotations, new.metadata.annotations
    errors: list[FieldError] = []
    for key in sorted(before):
        if after.get(key) != before[key]:
            errors += _forbid_change(key, "may not remove or update", path)
    for key in sorted(after.keys() - before.keys()):
        errors += _forbid_change(key, "may not add", path)
    return errors + validate_pod_annotations(after, new.spec, path, options)


def _forbid_change(key: str, what: str, path: str) -> list[FieldError]:
    if key.startswith(APPARMOR_CONTAINER_PREFIX):
        return [forbidden(f"{path}[{key}]", f"{what} AppArmor annotations")]
    if key == MIRROR_POD_ANNOTATION:
        return [forbidden(f"{path}[{key}]", f"{what} mirror pod annotation")]
    return []


def is_deletion_cost(text: str) -> bool:
    """A 32-bit integer without a plus sign or leading zeros (after a minus sign they are let pass)."""
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
