"""PersistentVolumes: capacity, node affinity, one source, and what stays as it is.

In: views and options for the node affinity. Out: field errors. Kubernetes: ValidatePersistentVolume,
ValidatePersistentVolumeUpdate.
"""

import posixpath

import msgspec

from moorage.admit.dns_names import validate_dns_subdomain
from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.storage.volume_sources import SOURCES, validate_volume_source
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.messages.plain import difference
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.scheduling.node_affinity import validate_node_selector
from moorage.admit.scheduling.topology_spread import MUST_BE_POSITIVE
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.types.node import NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity

NEEDS_REQUIRED = "must specify required node constraints"
AFFINITY_CHANGED = f"{FIELD_IS_IMMUTABLE}, except for updating from beta label to GA"
SOURCE_CHANGED = "spec.persistentvolumesource is immutable after creation"

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
_VOLUME_MODES = ("Block", "Filesystem")
#: Labels that were renamed when they left beta; a volume may follow them.
_RENAMED_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def validate_persistent_volume(volume: PersistentVolume, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(volume.metadata, "metadata", namespaced=False)
    return errors + _validate_spec(volume, options)


def validate_persistent_volume_update(
    new: PersistentVolume, old: PersistentVolume, options: ValidationOptions
) -> list[FieldError]:
    """The strategy validates the volume twice, so that errors appear twice, as upstream."""
    errors = validate_persistent_volume(new, options)
    errors += validate_persistent_volume(new, options)
    source, old_source = _source(_without_new_expand_secret(new.spec, old.spec)), _source(old.spec)
    if source != old_source:
        detail = f"{SOURCE_CHANGED}\n{difference(old_source, source)}"
        errors.append(forbidden("spec.persistentvolumesource", detail))
    errors += validate_immutable(new.spec.volumeMode, old.spec.volumeMode, "volumeMode")
    affinity = new.spec.nodeAffinity
    before = old.spec.nodeAffinity
    if before is not None and affinity != before and not _follows_renamed_labels(affinity, before):
        errors.append(invalid("nodeAffinity", AsJSON(internal_form(affinity)), AFFINITY_CHANGED))
    if old.spec.volumeAttributesClassName is not None and new.spec.volumeAttributesClassName is None:
        detail = "update from non-nil value to nil is forbidden"
        errors.append(forbidden("spec.volumeAttributesClassName", detail))
    return errors


def _validate_spec(volume: PersistentVolume, options: ValidationOptions) -> list[FieldError]:
    spec = volume.spec
    errors = _validate_access_modes(spec.accessModes, "spec.accessModes")
    errors += _validate_capacity(spec, "spec.capacity")
    policy = spec.persistentVolumeReclaimPolicy
    if policy and policy not in _RECLAIM_POLICIES:
        errors.append(not_supported("spec.persistentVolumeReclaimPolicy", AsJSON(policy), _RECLAIM_POLICIES))
    affinity = spec.nodeAffinity
    if affinity is not None and affinity.required is None:
        errors.append(required("spec.nodeAffinity.required", NEEDS_REQUIRED))
    elif affinity is not None and affinity.required is not None:
        errors += validate_node_selector(affinity.required, "spec.nodeAffinity.required", options)
    errors += validate_volume_source(spec, volume.metadata.name, "spec", options)
    if spec.hostPath is not None and policy == "Recycle" and posixpath.normpath(spec.hostPath.path) in ("/", "//"):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden("spec.persistentVolumeReclaimPolicy", detail))
    if spec.storageClassName:
        errors += validate_dns_subdomain(spec.storageClassName, "spec.storageClassName")
    if spec.volumeMode is not None and spec.volumeMode not in _VOLUME_MODES:
        errors.append(not_supported("spec.volumeMode", AsJSON(spec.volumeMode), _VOLUME_MODES))
    return errors + _validate_attributes_class(spec, "spec")


def _validate_access_modes(modes: tuple[str, ...], path: str) -> list[FieldError]:
    errors = [] if modes else [required(path)]
    errors += [not_supported(path, AsJSON(mode), _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _validate_capacity(spec: PersistentVolumeSpec, path: str) -> list[FieldError]:
    errors = [] if spec.capacity else [required(path)]
    if set(spec.capacity) != {"storage"}:
        errors.append(not_supported(path, AsJSON(spec.capacity), ("storage",)))
    for name, amount in spec.capacity.items():
        if amount.value() < 0:
            errors.append(invalid(f"{path}[{name}]", amount.value(), "must be a valid resource quantity"))
        if amount.sign() <= 0:
            errors.append(invalid(f"{path}[{name}]", str(amount), MUST_BE_POSITIVE))
    return errors


def _validate_attributes_class(spec: PersistentVolumeSpec, path: str) -> list[FieldError]:
    name = spec.volumeAttributesClassName
    if name is None:
        return []
    at = f"{path}.volumeAttributesClassName"
    errors = validate_dns_subdomain(name, at) if name else [required(at, "an empty string is disallowed")]
    if spec.csi is None:
        errors.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _source(spec: PersistentVolumeSpec) -> dict[str, object]:
    fields = (source.field for source in SOURCES)
    return {field: getattr(spec, field) for field in fields if getattr(spec, field) is not None}


def _without_new_expand_secret(new: PersistentVolumeSpec, old: PersistentVolumeSpec) -> PersistentVolumeSpec:
    """The one thing that may be added to a source: the secret for growing a CSI volume."""
    if new.csi is None or old.csi is None or old.csi.controllerExpandSecretRef is not None:
        return new
    return msgspec.structs.replace(new, csi=msgspec.structs.replace(new.csi, controllerExpandSecretRef=None))


def _follows_renamed_labels(new: VolumeNodeAffinity | None, old: VolumeNodeAffinity) -> bool:
    if new is None or new.required is None or old.required is None:
        return False
    terms, before = new.required.nodeSelectorTerms, old.required.nodeSelectorTerms
    return len(terms) == len(before) and all(
        _same_terms(term, earlier) for term, earlier in zip(terms, before, strict=True)
    )


def _same_terms(new: NodeSelectorTerm, old: NodeSelectorTerm) -> bool:
    return _same(new.matchExpressions, old.matchExpressions) and _same(new.matchFields, old.matchFields)


def _same(new: tuple[NodeSelectorRequirement, ...], old: tuple[NodeSelectorRequirement, ...]) -> bool:
    return len(new) == len(old) and all(
        after == before
        or (
            _RENAMED_LABELS.get(before.key, "") == after.key  # upstream takes no key for the new name of any other
            and (after.operator, after.values) == (before.operator, before.values)
        )
        for after, before in zip(new, old, strict=True)
    )
