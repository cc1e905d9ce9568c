"""Validate pods as a whole, updates of pods, pod templates, and their annotations.

An update may change images, lower activeDeadlineSeconds, add tolerations and remove scheduling gates; while the pod is
gated, also tighten its node selector and node affinity. As upstream, labels and annotations of templates are reported
without `metadata` in their path. Kubernetes: ValidatePodCreate, ValidatePodUpdate, ValidatePodTemplateSpec,
ValidatePodSpecificAnnotations and its update. Differs: the difference printed after the last error's first line is a
diff of the two specs as manifests have them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.admit.messages.rejections import difference, internal_form
from moorage.admit.metadata import (
    validate_annotations,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers import validate_images_for_pod
from moorage.admit.pod.security import APPARMOR_CONTAINER_PREFIX, validate_profile_annotations, validate_profiles_agree
from moorage.admit.pod.shared import trim_space
from moorage.admit.pod.spec import validate_pod_spec
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.go.integers import INT32_MAX, INT32_MIN, read_int
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.container import Container
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import NodeAffinity, Pod, PodSchedulingGate, PodSpec, PodTemplateSpec, Toleration
from moorage.model.types.view import ABSENT_LIST
from moorage.model.well_known.annotations import MIRROR_POD, POD_DELETION_COST

TOLERATIONS_ANNOTATION = "scheduler.alpha.kubernetes.io/tolerations"
_is_deletion_cost = whole(r"(?:0|-[0-9]+|[1-9][0-9]*)")
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
    """Refuse changes of annotations that make a mirror pod or confine containers."""
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


@reads_text("0", "1", "-", "+")
def is_deletion_cost(text: str) -> bool:
    """Return a 32-bit integer without a plus sign or leading zeros (after a minus sign they are let pass)."""
    return _is_deletion_cost(text) and read_int(text, INT32_MIN, INT32_MAX) is not None


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


TOLERATION_CHANGED = "existing toleration can not be modified except its tolerationSeconds"
CONTAINERS_COUNTED = "pod updates may not add or remove containers"
IMAGE_SPACES = "must not have leading or trailing whitespace"
DEADLINE_RANGE = f"must be between 0 and {INT32_MAX}, inclusive"
DEADLINE_GROWS = "must be less than or equal to previous value"
DEADLINE_VANISHES = "must not update from a positive integer to nil value"
SELECTOR_ONLY_GROWS = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
TERMS_COUNTED = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
TERM_ONLY_GROWS = "only additions are allowed (no mutations or deletions)"
MAY_NOT_CHANGE = (
    "pod updates may not change fields other than "
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod_update(new: Pod, old: Pod, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += validate_pod_metadata_and_spec(new, options)
    errors += validate_pod_annotation_updates(new, old, "metadata.annotations", options)
    for name in ("containers", "initContainers"):
        before, after = getattr(old.spec, name), getattr(new.spec, name)
        if len(before) != len(after):
            return [*errors, forbidden(f"spec.{name}", CONTAINERS_COUNTED)]
        errors += _validate_images(after, f"spec.{name}")
    deadline = _validate_deadline(new.spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds)
    errors += deadline
    if deadline and new.spec.activeDeadlineSeconds is not None:
        return errors
    errors += _validate_only_added(new.spec.tolerations, old.spec.tolerations, options)
    errors += _validate_only_deleted(new.spec.schedulingGates, old.spec.schedulingGates)
    if new.spec == old.spec:
        return errors
    return errors + _validate_rest(new.spec, old.spec)


def _validate_images(containers: Sequence[Container], path: str) -> FieldErrors:
    for index, container in enumerate(containers):
        if not container.image:
            yield required(f"{path}[{index}].image")
        if trim_space(container.image) != container.image:
            yield invalid(f"{path}[{index}].image", container.image, IMAGE_SPACES)


def _validate_deadline(new: int | None, old: int | None) -> list[FieldError]:
    path = "spec.activeDeadlineSeconds"
    if new is None:
        return [] if old is None else [invalid(path, None, DEADLINE_VANISHES)]
    if not 0 <= new <= INT32_MAX:
        return [invalid(path, new, DEADLINE_RANGE)]
    return [invalid(path, new, DEADLINE_GROWS)] if old is not None and old < new else []


def _validate_only_added(
    new: Sequence[Toleration], old: Sequence[Toleration], options: ValidationOptions
) -> list[FieldError]:
    kept = {_without_seconds(toleration) for toleration in new}
    if any(_without_seconds(toleration) not in kept for toleration in old):
        return [forbidden("spec.tolerations", TOLERATION_CHANGED)]
    return validate_tolerations(new, "spec.tolerations", options)


def _without_seconds(toleration: Toleration) -> tuple[str, ...]:
    return (toleration.key, toleration.operator, toleration.value, toleration.effect, toleration.expression)


def _validate_only_deleted(new: Sequence[PodSchedulingGate], old: Sequence[PodSchedulingGate]) -> list[FieldError]:
    known = {gate.name for gate in old}
    added = {gate.name: index for index, gate in enumerate(new) if gate.name not in known}
    return [
        forbidden(
            f"spec.schedulingGates[{index}].name", f"only deletion is allowed, but found new scheduling gate '{name}'"
        )
        for name, index in added.items()
    ]


def _validate_rest(new: PodSpec, old: PodSpec) -> list[FieldError]:
    """Put the old values where change is allowed; what differs then may not."""
    changes: dict[str, Any] = {
        "containers": _with_images_of(new.containers, old.containers),
        "initContainers": _with_images_of(new.initContainers, old.initContainers),
        "activeDeadlineSeconds": old.activeDeadlineSeconds,
        "schedulingGates": old.schedulingGates,
        "tolerations": old.tolerations,
    }
    if (old.terminationGracePeriodSeconds or 0) < 0 and new.terminationGracePeriodSeconds == 1:
        changes["terminationGracePeriodSeconds"] = old.terminationGracePeriodSeconds
    munged = msgspec.structs.replace(new, **changes)
    errors: list[FieldError] = []
    if old.schedulingGates:
        errors, munged = _validate_gated(munged, old)
    if munged != old:
        errors.append(forbidden("spec", f"{MAY_NOT_CHANGE}\n{difference(old, munged)}"))
    return errors


def _with_images_of(new: Sequence[Container], old: Sequence[Container]) -> tuple[Container, ...]:
    return tuple(
        after if after.image == before.image else msgspec.structs.replace(after, image=before.image)
        for after, before in zip(new, old, strict=True)
    )


def _validate_gated(munged: PodSpec, old: PodSpec) -> tuple[list[FieldError], PodSpec]:
    """Check that a gated pod is steered to fewer nodes only; return the spec with the old values there."""
    errors: list[FieldError] = []
    if munged.nodeSelector != old.nodeSelector:
        errors += _validate_selector_grows(munged.nodeSelector, old.nodeSelector)
        munged = msgspec.structs.replace(munged, nodeSelector=old.nodeSelector)
    before = old.affinity.nodeAffinity if old.affinity is not None else None
    after = munged.affinity.nodeAffinity if munged.affinity is not None else None
    if before == after:
        return errors, munged
    errors += _validate_affinity_tightens(after, before)
    affinity = munged.affinity
    if affinity is None:
        restored = old.affinity and msgspec.structs.replace(old.affinity, podAffinity=None, podAntiAffinity=None)
    elif old.affinity is None and affinity.podAffinity is None and affinity.podAntiAffinity is None:
        restored = None
    else:
        restored = msgspec.structs.replace(affinity, nodeAffinity=before)
    return errors, msgspec.structs.replace(munged, affinity=restored)


def _validate_selector_grows(new: Mapping[str, str], old: Mapping[str, str]) -> list[FieldError]:
    if all(new.get(key) == value for key, value in old.items()):
        return []
    return [invalid("spec.nodeSelector", AsJSON(new), SELECTOR_ONLY_GROWS)]


def _validate_affinity_tightens(new: NodeAffinity | None, old: NodeAffinity | None) -> list[FieldError]:
    path = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    before, after = _required_terms(old), _required_terms(new)
    if before and len(before) != len(after):
        return [invalid(path, AsJSON(internal_form(after)), TERMS_COUNTED)]
    return [
        invalid(f"{path}[{index}]", AsJSON(internal_form(term)), TERM_ONLY_GROWS)
        for index, (term, earlier) in enumerate(zip(after, before, strict=False))
        if not _only_grows(term, earlier)
    ]


def _required_terms(affinity: NodeAffinity | None) -> tuple[NodeSelectorTerm, ...]:
    if affinity is None or affinity.requiredDuringSchedulingIgnoredDuringExecution is None:
        return ABSENT_LIST
    return affinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms


def _only_grows(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    if not old.matchExpressions and not old.matchFields:
        # A term without requirements matches no node; with some it might match one.
        return not new.matchExpressions and not new.matchFields
    return (
        new.matchExpressions[: len(old.matchExpressions)] == old.matchExpressions
        and new.matchFields[: len(old.matchFields)] == old.matchFields
    )
