"""Validate PersistentVolumes: capacity, node affinity, exactly one source, and what stays as it is.

A source is one row of `SOURCES`, in upstream's order; sources that pods have too share their rule with them.
Kubernetes: ValidatePersistentVolume, ValidatePersistentVolumeUpdate.
"""

import posixpath
from typing import Any

import msgspec

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows, ungated, validate_only_metadata
from moorage.admit.messages.rejections import difference, internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_dns_label, validate_dns_subdomain, validate_object_meta
from moorage.admit.options import ValidationOptions
from moorage.admit.pod import volume_backends as backends
from moorage.admit.pod.projections import validate_host_path
from moorage.admit.pod.selectors import MUST_BE_POSITIVE, validate_node_selector
from moorage.admit.pod.shared import validate_no_backsteps
from moorage.admit.pod.volumes import VOLUME_MODES, validate_access_modes
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.ratcheting import options_for_volume_update
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.types import volume_sources as sources
from moorage.model.types.meta import SecretReference
from moorage.model.types.node import NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.storage import PersistentVolume, PersistentVolumeSpec, VolumeNodeAffinity
from moorage.model.well_known.labels import (
    ARCH,
    BETA_ARCH,
    BETA_INSTANCE_TYPE,
    BETA_OS,
    BETA_REGION,
    BETA_ZONE,
    INSTANCE_TYPE,
    OS,
    REGION,
    ZONE,
)

ONLY_ONE = "may not specify more than 1 volume type"
NEEDS_ONE = "must specify a volume type"
LOCAL_NEEDS_AFFINITY = "Local volume requires node affinity"


class Source(msgspec.Struct, frozen=True):
    """One way to have bytes: the field, the rule, and the names by which upstream's paths call the field."""

    field: str
    rule: backends.SourceRule | None  # None: the one rule that has to know the volume's name
    own_name: str = ""
    forbidden_name: str = ""


def _validate_glusterfs(
    source: sources.GlusterfsPersistentVolumeSource, path: str, options: ValidationOptions
) -> FieldErrors:
    yield from backends.require("endpoints", "path")(source, path, options)
    namespace = source.endpointsNamespace
    if namespace == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        yield field.invalid(f"{path}.endpointsNamespace", namespace, detail)
    elif namespace is not None:
        yield from validate_dns_label(namespace, f"{path}.endpointsNamespace")


def _validate_iscsi(source: sources.ISCSIPersistentVolumeSource, volume_name: str, path: str) -> FieldErrors:
    """As of a pod's volume, but with fewer words about names, and with the secret's name."""
    if not source.targetPortal:
        yield field.required(f"{path}.targetPortal")
    if source.initiatorName is not None and backends.is_iscsi_name_too_long(volume_name, source.targetPortal):
        yield field.invalid(f"{path}.targetportal", source.targetPortal, backends.ISCSI_NAME_TOO_LONG)
    yield from backends.validate_iscsi_names(source, path, backends.NOT_AN_ISCSI_NAME, names_secret=True)


def _validate_cinder(
    source: sources.CinderPersistentVolumeSource, path: str, options: ValidationOptions
) -> FieldErrors:
    yield from backends.require("volumeID")(source, path, options)
    yield from _validate_whole_reference(source.secretRef, f"{path}.secretRef")


def _validate_whole_reference(reference: Any, path: str) -> list[FieldError]:
    if reference is None:
        return []
    return [field.required(f"{path}.{name}") for name in ("name", "namespace") if not getattr(reference, name)]


def _validate_azure_file(
    source: sources.AzureFilePersistentVolumeSource, path: str, options: ValidationOptions
) -> FieldErrors:
    yield from backends.require("secretName", "shareName")(source, path, options)
    if source.secretNamespace == "":
        yield field.required(f"{path}.secretNamespace")


def _validate_local(source: sources.LocalVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    return validate_no_backsteps(source.path, f"{path}.path") if source.path else [field.required(f"{path}.path")]


def _validate_storageos(
    source: sources.StorageOSPersistentVolumeSource, path: str, options: ValidationOptions
) -> list[FieldError]:
    name = source.volumeName
    errors = validate_dns_label(name, f"{path}.volumeName") if name else [field.required(f"{path}.volumeName")]
    if source.volumeNamespace:
        errors += validate_dns_label(source.volumeNamespace, f"{path}.volumeNamespace")
    return errors + _validate_whole_reference(source.secretRef, f"{path}.secretRef")


def _validate_csi(source: sources.CSIPersistentVolumeSource, path: str, options: ValidationOptions) -> FieldErrors:
    yield from backends.validate_csi_driver_name(source.driver, f"{path}.driver")
    yield from backends.require("volumeHandle")(source, path, options)
    secrets = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    for name in secrets:
        yield from _validate_secret(getattr(source, name), f"{path}.{name}")


def _validate_secret(secret: SecretReference | None, path: str) -> list[FieldError]:
    if secret is None:
        return []
    errors = validate_dns_subdomain(secret.name, f"{path}.name") if secret.name else [field.required(f"{path}.name")]
    at = f"{path}.namespace"
    return errors + (validate_dns_label(secret.namespace, at) if secret.namespace else [field.required(at)])


SOURCES = (
    Source("hostPath", validate_host_path),
    Source("gcePersistentDisk", backends.validate_gce_disk, own_name="persistentDisk"),
    Source("awsElasticBlockStore", backends.validate_aws_disk),
    Source("glusterfs", _validate_glusterfs),
    Source("flocker", backends.validate_flocker),
    Source("nfs", backends.validate_nfs),
    Source("rbd", backends.require("monitors", "image")),
    Source("quobyte", backends.validate_quobyte),
    Source("cephfs", backends.require("monitors"), forbidden_name="cephFS"),
    Source("iscsi", None),
    Source("cinder", _validate_cinder),
    Source("fc", backends.validate_fibre_channel),
    Source("flexVolume", backends.validate_flex_volume),
    Source("azureFile", _validate_azure_file),
    Source("vsphereVolume", backends.require("volumePath")),
    Source("photonPersistentDisk", backends.require("pdID")),
    Source("portworxVolume", backends.require("volumeID")),
    Source("azureDisk", backends.validate_azure_disk),
    Source("scaleIO", backends.require("gateway", "system", "volumeName")),
    Source("local", _validate_local),
    Source("storageos", _validate_storageos),
    Source("csi", _validate_csi),
)


def validate_volume_source(
    spec: PersistentVolumeSpec, volume_name: str, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    has_source = False
    for source in SOURCES:
        value = getattr(spec, source.field)
        if value is None:
            continue
        if has_source and source.field != "flexVolume":
            errors.append(field.forbidden(f"{path}.{source.forbidden_name or source.field}", ONLY_ONE))
            continue
        has_source = True
        if source.rule is None:
            errors += _validate_iscsi(value, volume_name, f"{path}.{source.field}")
        else:
            errors += source.rule(value, f"{path}.{source.own_name or source.field}", options)
        if source.field == "local" and spec.nodeAffinity is None:
            errors.append(field.required(f"{path}.nodeAffinity", LOCAL_NEEDS_AFFINITY))
    return errors if has_source else [*errors, field.required(path, NEEDS_ONE)]


NEEDS_REQUIRED = "must specify required node constraints"
AFFINITY_CHANGED = f"{FIELD_IS_IMMUTABLE}, except for updating from beta label to GA"
SOURCE_CHANGED = "spec.persistentvolumesource is immutable after creation"

_RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
#: Labels that were renamed when they left beta; a volume may follow them.
_RENAMED_LABELS = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    BETA_OS: OS,
    BETA_ARCH: ARCH,
    BETA_INSTANCE_TYPE: INSTANCE_TYPE,
}


def validate_persistent_volume(volume: PersistentVolume, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(volume.metadata, "metadata", namespaced=False)
    yield from _validate_spec(volume, options)


def validate_persistent_volume_update(
    new: PersistentVolume, old: PersistentVolume, options: ValidationOptions
) -> FieldErrors:
    """Validate the volume twice, so that errors appear twice, as upstream."""
    yield from validate_persistent_volume(new, options)
    yield from validate_persistent_volume(new, options)
    source, old_source = _source(_without_new_expand_secret(new.spec, old.spec)), _source(old.spec)
    if source != old_source:
        yield field.forbidden("spec.persistentvolumesource", f"{SOURCE_CHANGED}\n{difference(old_source, source)}")
    yield from validate_immutable(new.spec.volumeMode, old.spec.volumeMode, "volumeMode")
    affinity = new.spec.nodeAffinity
    before = old.spec.nodeAffinity
    if before is not None and affinity != before and not _follows_renamed_labels(affinity, before):
        yield field.invalid("nodeAffinity", AsJSON(internal_form(affinity)), AFFINITY_CHANGED)
    if old.spec.volumeAttributesClassName is not None and new.spec.volumeAttributesClassName is None:
        yield field.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _validate_spec(volume: PersistentVolume, options: ValidationOptions) -> list[FieldError]:
    spec = volume.spec
    errors = [] if spec.accessModes else [field.required("spec.accessModes")]
    errors += validate_access_modes(spec.accessModes, "spec.accessModes")
    errors += _validate_capacity(spec, "spec.capacity")
    policy = spec.persistentVolumeReclaimPolicy
    errors += field.one_of(policy or None, _RECLAIM_POLICIES, "spec.persistentVolumeReclaimPolicy")
    affinity = spec.nodeAffinity
    if affinity is not None and affinity.required is None:
        errors.append(field.required("spec.nodeAffinity.required", NEEDS_REQUIRED))
    elif affinity is not None and affinity.required is not None:
        errors += validate_node_selector(affinity.required, "spec.nodeAffinity.required", options)
    errors += validate_volume_source(spec, volume.metadata.name, "spec", options)
    if spec.hostPath is not None and policy == "Recycle" and posixpath.normpath(spec.hostPath.path) in ("/", "//"):
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(field.forbidden("spec.persistentVolumeReclaimPolicy", detail))
    if spec.storageClassName:
        errors += validate_dns_subdomain(spec.storageClassName, "spec.storageClassName")
    errors += field.one_of(spec.volumeMode, VOLUME_MODES, "spec.volumeMode")
    return errors + _validate_attributes_class(spec, "spec")


def _validate_capacity(spec: PersistentVolumeSpec, path: str) -> FieldErrors:
    if not spec.capacity:
        yield field.required(path)
    if set(spec.capacity) != {"storage"}:
        yield field.not_supported(path, AsJSON(spec.capacity), ("storage",))
    for name, amount in spec.capacity.items():
        if amount.value() < 0:
            yield field.invalid(f"{path}[{name}]", amount.value(), "must be a valid resource quantity")
        if amount.sign() <= 0:
            yield field.invalid(f"{path}[{name}]", str(amount), MUST_BE_POSITIVE)


def _validate_attributes_class(spec: PersistentVolumeSpec, path: str) -> list[FieldError]:
    name = spec.volumeAttributesClassName
    if name is None:
        return []
    at = f"{path}.volumeAttributesClassName"
    errors = validate_dns_subdomain(name, at) if name else [field.required(at, "an empty string is disallowed")]
    if spec.csi is None:
        errors.append(field.required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors


def _source(spec: PersistentVolumeSpec) -> dict[str, object]:
    fields = (source.field for source in SOURCES)
    return {name: getattr(spec, name) for name in fields if getattr(spec, name) is not None}


def _without_new_expand_secret(new: PersistentVolumeSpec, old: PersistentVolumeSpec) -> PersistentVolumeSpec:
    """Return the one thing that may be added to a source: the secret for growing a CSI volume."""
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


ROWS: Rows = {
    PersistentVolume: KindRow(
        validate_persistent_volume,
        validate_persistent_volume_update,
        defaults.default_persistent_volume,
        strategies.prepare_persistent_volume,
        options_for_volume_update,
        ungated(validate_only_metadata),
        stamp=strategies.stamp_persistent_volume,
    ),
}
