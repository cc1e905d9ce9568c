"""Change one part of a pod's spec: its ephemeral containers, or requests and limits of the pod and its containers.

Whatever else the document says is dropped. Kubernetes: podEphemeralContainersStrategy and podResizeStrategy,
ValidatePodEphemeralContainersUpdate, ValidatePodResize. Differs: a running pod can be resized although its kubelet has
not reported what containers have.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from moorage.admit.admission import MAX_ERRORS, Admitted, Rejected
from moorage.admit.messages.rejections import difference
from moorage.admit.metadata import validate_object_meta_update
from moorage.admit.options import ValidationOptions, with_privileged
from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.pod.pod import validate_pod_annotation_updates, validate_pod_metadata_and_spec
from moorage.admit.prepare.mutate import drop_disabled_fields, pod_qos
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.ratcheting import options_for_update
from moorage.admit.raw import Raw, copy_document, items
from moorage.model.api_error import ApiError
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid
from moorage.model.gates import (
    IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING,
    IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS,
    GateSet,
)
from moorage.model.go.integers import INT64_MAX
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.container import Container, ResourceRequirements
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import MIRROR_POD

EPHEMERAL_CONTAINERS, RESIZE = "ephemeralcontainers", "resize"
POD_PARTS: Final = (EPHEMERAL_CONTAINERS, RESIZE)
_KEPT_METADATA = ("labels", "annotations", "finalizers", "ownerReferences", "generation", "deletionTimestamp")
_ONLY_CPU_AND_MEMORY = "only cpu and memory resources are mutable"
_NO_POD_LEVEL = (
    "resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled "
    "feature gate is disabled"
)
_NO_RESTART = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
_replace = msgspec.structs.replace


def admit_pod_part(
    part: str,
    new: Raw,
    old: Raw,
    gates: GateSet,
    plugins: Sequence[Plugin],
    own: Callable[[Raw], object] | None,
) -> Admitted | Rejected:
    """Admit an update of one part of a pod, which is one of `POD_PARTS`.

    `plugins` are asked about a pod that is resized or debugged; `own` writes the field owners.
    """
    name = str(old["metadata"].get("name"))
    try:
        convert_view(new, Pod)
    except ConversionError as error:
        return Rejected(KINDS.POD, name, problems=error.problems)
    old = copy_document(old)
    default_pod(old)
    raw = _with_part(part, copy_document(new), old, gates)
    default_pod(raw)
    if own is not None:
        own(raw)
    drop_disabled_fields(raw["spec"], old["spec"], gates)
    view, old_view = convert_view(raw, Pod), convert_view(old, Pod)
    options = with_privileged(options_for_update(gates, old_view.spec, old_view.metadata, resource_is_pod=True))
    validate = _validate_ephemeral_containers if part == EPHEMERAL_CONTAINERS else _validate_resize
    errors = tuple(validate(view, old_view, raw, options))[:MAX_ERRORS]
    if errors:
        return Rejected(KINDS.POD, name, errors, object=raw, view=view)
    try:
        for plugin in plugins:
            if part == RESIZE:
                plugin.resize(raw, view, old_view)
            else:
                plugin.attach(raw)
    except Forbidden as refusal:
        return Rejected(KINDS.POD, name, forbidden=str(refusal), object=raw, view=view)
    except ApiError as error:
        return Rejected(KINDS.POD, name, object=raw, view=view, refusal=error.status)
    if view.spec != old_view.spec:
        generation = min(old_view.metadata.generation + 1, INT64_MAX)
        raw["metadata"]["generation"] = generation
        view = _replace(view, metadata=_replace(view.metadata, generation=generation))
    return Admitted(raw, view)


def _with_part(part: str, new: Raw, old: Raw, gates: GateSet) -> Raw:
    """Return the old pod with the part of the new one; containers that are not the same are left to validation."""
    metadata = {**new["metadata"]}
    for name in _KEPT_METADATA:
        metadata.pop(name, None)
        if name in old["metadata"]:
            metadata[name] = old["metadata"][name]
    spec, given = dict(old["spec"]), new.get("spec") or {}
    if part == EPHEMERAL_CONTAINERS:
        spec.pop("ephemeralContainers", None)
        if given.get("ephemeralContainers"):
            spec["ephemeralContainers"] = given["ephemeralContainers"]
    else:
        for field in ("containers", "initContainers"):
            merged = _resized(items(given, field), items(spec, field))
            if merged:
                spec[field] = merged
            else:
                spec.pop(field, None)
        if gates.enabled(IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING):
            spec.pop("resources", None)
            if given.get("resources") is not None:
                spec["resources"] = given["resources"]
    return {**old, "metadata": metadata, "spec": spec}


def _resized(new: list[Raw], old: list[Raw]) -> list[Raw]:
    if [one.get("name") for one in new] != [one.get("name") for one in old]:
        return new
    return [
        {
            **{field: value for field, value in before.items() if field not in ("resources", "resizePolicy")},
            **{field: after[field] for field in ("resources", "resizePolicy") if field in after},
        }
        for after, before in zip(new, old, strict=True)
    ]


def _validate_ephemeral_containers(new: Pod, old: Pod, raw: Raw, options: ValidationOptions) -> FieldErrors:
    if MIRROR_POD in old.metadata.annotations:
        return [forbidden("", "static pods do not support ephemeral containers")]
    errors = [*validate_object_meta_update(new.metadata, old.metadata, "metadata")]
    errors += validate_pod_metadata_and_spec(new, options)
    errors += validate_pod_annotation_updates(new, old, "metadata.annotations", options)
    named = {ephemeral_container.name: ephemeral_container for ephemeral_container in new.spec.ephemeralContainers}
    for before in old.spec.ephemeralContainers:
        after, text = named.get(before.name), f"existing ephemeral containers {go_quote(before.name)} may not be"
        if after is None:
            errors.append(forbidden("spec.ephemeralContainers", f"{text} removed\n"))
        elif after != before:
            errors.append(forbidden("spec.ephemeralContainers", f"{text} changed\n{difference(before, after)}"))
    return errors


def _validate_resize(new: Pod, old: Pod, raw: Raw, options: ValidationOptions) -> FieldErrors:
    if MIRROR_POD in old.metadata.annotations:
        return [forbidden("", "static pods cannot be resized")]
    if old.spec.os is not None and old.spec.os.name == "windows":
        return [forbidden("", "windows pods cannot be resized")]
    errors = [*validate_object_meta_update(new.metadata, old.metadata, "metadata")]
    errors += validate_pod_metadata_and_spec(new, options)
    if old.status.qosClass and pod_qos(raw["spec"]) != old.status.qosClass:
        errors.append(
            invalid("spec", AsJSON(new.status.qosClass), "Pod QOS Class may not change as a result of resizing")
        )
    if any(
        spec.resources is not None and (spec.resources.requests or spec.resources.limits)
        for spec in (new.spec, old.spec)
    ):
        if not options.gates.enabled(IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING):
            return [*errors, forbidden("", _NO_POD_LEVEL)]
        errors += _pod_level_errors(new.spec.resources, old.spec.resources)
    if old.status.nodeAllocatableResourceClaimStatuses:
        errors.append(forbidden("spec", "pods with node allocatable resource claims cannot be resized"))
    disorder = [*_order_errors(new, old, "containers"), *_order_errors(new, old, "initContainers")]
    if disorder:
        return [*errors, *disorder]
    resizes_init = options.gates.enabled(IN_PLACE_POD_VERTICAL_SCALING_INIT_CONTAINERS)
    return [*errors, *_container_errors(new, old, resizes_init=resizes_init)]


def _pod_level_errors(new: ResourceRequirements | None, old: ResourceRequirements | None) -> Iterator[FieldError]:
    if old is not None and new is None:
        yield forbidden("spec.resources", "pod-level resources cannot be removed")
        return
    if old is not None and new is not None:
        if old.requests.keys() - new.requests.keys():
            yield forbidden("spec.resources.requests", "pod-level resource requests cannot be removed")
        if old.limits.keys() - new.limits.keys():
            yield forbidden("spec.resources.limits", "pod-level resource limits cannot be removed")
    before, after = old or ResourceRequirements(), new or ResourceRequirements()
    if _replace(_kept(after, before), claims=after.claims) != before:
        yield forbidden("spec", "only cpu and memory resources are mutable at pod-level")


def _order_errors(new: Pod, old: Pod, field: str) -> Iterator[FieldError]:
    after, before = getattr(new.spec, field), getattr(old.spec, field)
    if len(after) != len(before):
        yield forbidden(f"spec.{field}", f"{field} may not be added or removed on resize")
        return
    for index, (one, other) in enumerate(zip(after, before, strict=True)):
        if one.name != other.name:
            yield forbidden(f"spec.{field}[{index}].name", f"{field} may not be renamed or reordered on resize")


def _container_errors(new: Pod, old: Pod, *, resizes_init: bool) -> Iterator[FieldError]:
    sidecars = [init_container.restartPolicy == "Always" for init_container in old.spec.initContainers]
    for index, (after, before) in enumerate(zip(new.spec.initContainers, old.spec.initContainers, strict=True)):
        if sidecars[index] or resizes_init:
            yield from _removals(after.resources, before.resources, f"spec.initContainers[{index}].resources")
    for index, (after, before) in enumerate(zip(new.spec.containers, old.spec.containers, strict=True)):
        yield from _removals(after.resources, before.resources, f"spec.containers[{index}].resources")
    for after, before in zip(new.spec.containers, old.spec.containers, strict=True):
        if _without_cpu_and_memory(after, before) != before:
            yield forbidden("spec", _ONLY_CPU_AND_MEMORY)
    for index, (after, before) in enumerate(zip(new.spec.initContainers, old.spec.initContainers, strict=True)):
        if not sidecars[index] and not resizes_init:
            if after != before:
                yield forbidden("spec", "resources for non-sidecar init containers are immutable")
            continue
        if _without_cpu_and_memory(after, before) != before:
            why = "only cpu and memory resources for init or sidecar containers are mutable"
            yield forbidden(f"spec.initContainers[{index}]", why)
        if not sidecars[index] and after != before:
            for policy in after.resizePolicy:
                if policy.restartPolicy == "RestartContainer":
                    yield forbidden(f"spec.initContainers[{index}]", _NO_RESTART)


def _removals(new: ResourceRequirements, old: ResourceRequirements, path: str) -> Iterator[FieldError]:
    if old.requests.keys() - new.requests.keys():
        yield forbidden(f"{path}.requests", "resource requests cannot be removed")
    if old.limits.keys() - new.limits.keys():
        yield forbidden(f"{path}.limits", "resource limits cannot be removed")


def _without_cpu_and_memory(new: Container, old: Container) -> Container:
    """Return the container with the CPU and memory that it had."""
    return _replace(new, resources=_kept(new.resources, old.resources))


def _kept(new: ResourceRequirements, old: ResourceRequirements) -> ResourceRequirements:
    """Return new resources with the CPU and memory, and the claims, of the old ones."""

    def kept(side: str) -> dict[str, Any]:
        after, before = getattr(new, side), getattr(old, side)
        names = ("cpu", "memory")
        return {
            **{name: amount for name, amount in after.items() if name not in names},
            **{name: before[name] for name in names if name in before},
        }

    return ResourceRequirements(limits=kept("limits"), requests=kept("requests"), claims=old.claims)
