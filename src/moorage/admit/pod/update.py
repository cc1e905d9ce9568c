"""Updating a pod: almost nothing of its spec may change, and this says what did.

Images, a smaller activeDeadlineSeconds, more tolerations, fewer scheduling gates; while it is gated, also a tighter
node selector and node affinity. Kubernetes: ValidatePodUpdate. Differs: the difference printed after the last error's
first line is a diff of the two specs as manifests have them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from moorage.admit.messages.internal_form import internal_form
from moorage.admit.messages.rejection_status import difference
from moorage.admit.metadata import validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.pod import validate_pod_annotation_updates, validate_pod_metadata_and_spec
from moorage.admit.pod.shared import trim_space
from moorage.admit.pod.tolerations import validate_tolerations
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.types.container import Container
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import NodeAffinity, Pod, PodSchedulingGate, PodSpec, Toleration
from moorage.model.types.view import ABSENT_LIST, INT32_MAX

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
    """A gated pod may be steered to fewer nodes: check that, then put the old values there, too."""
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
