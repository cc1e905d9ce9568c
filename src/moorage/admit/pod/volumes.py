"""Validate a pod's volumes, ephemeral claims, and where containers mount them.

What is wrong with a sub-path or a mount mode is reported at the list's path, without the index, as upstream does.
Kubernetes: ValidateVolumes, validateVolumeSource (the table below has its order and its paths, misspelt ones
included), validateEphemeralVolumeSource, ValidatePersistentVolumeClaimSpec, ValidateVolumeMounts.
"""

from collections.abc import Mapping

from msgspec.structs import astuple

from moorage.admit.metadata import (
    validate_annotations,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_selector,
    validate_labels,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod import projections as files
from moorage.admit.pod import volume_backends as backends
from moorage.admit.pod.projections import validate_projected
from moorage.admit.pod.shared import AnyContainer, has_backsteps, validate_descending_path, validate_pull_policy
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.container import VolumeMount
from moorage.model.types.meta import ObjectMeta, TypedLocalObjectReference, TypedObjectReference
from moorage.model.types.storage import (
    EphemeralVolumeSource,
    ImageVolumeSource,
    PersistentVolumeClaimSpec,
    Volume,
    VolumeSource,
)

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_ONLY_CLAIMS = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"


def validate_ephemeral(source: EphemeralVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    template = source.volumeClaimTemplate
    at = f"{path}.volumeClaimTemplate"
    if template is None:
        yield field.required(at)
    else:
        yield from validate_template_metadata(template.metadata, f"{at}.metadata")
        yield from validate_claim_spec(template.spec, f"{at}.spec", STRICT)


def validate_template_metadata(metadata: ObjectMeta, path: str) -> FieldErrors:
    yield from validate_annotations(metadata.annotations, f"{path}.annotations")
    yield from validate_labels(metadata.labels, f"{path}.labels")
    for name in ObjectMeta.__struct_fields__:
        if name not in ("labels", "annotations") and getattr(metadata, name) not in (None, "", 0, ()):
            # Upstream lists the fields by reflection, and lowers only the first letter of their names.
            yield field.forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set")


def validate_claim_spec(
    spec: PersistentVolumeClaimSpec, path: str, options: ValidationOptions, *, allow_invalid_api_group: bool = False
) -> FieldErrors:
    if not spec.accessModes:
        yield field.required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from validate_label_selector(spec.selector, f"{path}.selector", options)
    yield from validate_access_modes(spec.accessModes, f"{path}.accessModes")
    yield from _validate_storage(spec, f"{path}.resources[storage]")
    if spec.storageClassName:
        yield from validate_dns_subdomain(spec.storageClassName, f"{path}.storageClassName")
    yield from field.one_of(spec.volumeMode, VOLUME_MODES, f"{path}.volumeMode")
    yield from _validate_data_sources(spec, path, allow_invalid_api_group)
    if spec.volumeAttributesClassName:
        yield from validate_dns_subdomain(spec.volumeAttributesClassName, f"{path}.volumeAttributesClassName")


def validate_access_modes(modes: tuple[str, ...], path: str) -> FieldErrors:
    yield from [field.not_supported(path, AsJSON(mode), _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        yield field.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _validate_storage(spec: PersistentVolumeClaimSpec, path: str) -> list[FieldError]:
    storage = spec.resources.requests.get("storage")
    if storage is None:
        return [field.required(path)]
    return [] if storage.sign() > 0 else [field.invalid(path, str(storage), "must be greater than zero")]


def _validate_data_sources(spec: PersistentVolumeClaimSpec, path: str, allow_invalid_api_group: bool) -> FieldErrors:
    source, reference = spec.dataSource, spec.dataSourceRef
    if source is not None:
        yield from _validate_data_source(source, f"{path}.dataSource", allow_invalid_api_group)
    if reference is None:
        return
    yield from _validate_data_source(reference, f"{path}.dataSourceRef", allow_invalid_api_group)
    if reference.namespace:
        yield from validate_dns_label(reference.namespace, f"{path}.dataSourceRef.namespace")
    if source is None:
        return
    # The value upstream shows for these two is a path object, which has no visible fields.
    shown = AsJSON(GoStruct())
    if reference.namespace:
        yield field.invalid(path, shown, "may not be specified when dataSourceRef.namespace is specified")
    elif (source.apiGroup, source.kind, source.name) != (reference.apiGroup, reference.kind, reference.name):
        yield field.invalid(path, shown, "must match dataSourceRef")


def _validate_data_source(
    source: TypedLocalObjectReference | TypedObjectReference, path: str, allow_invalid_api_group: bool
) -> FieldErrors:
    if not source.name:
        yield field.required(f"{path}.name")
    if not source.kind:
        yield field.required(f"{path}.kind")
    if not source.apiGroup and source.kind != "PersistentVolumeClaim":
        yield field.invalid(path, source.kind, _ONLY_CLAIMS)
    if source.apiGroup and not allow_invalid_api_group:
        yield from validate_dns_subdomain(source.apiGroup, f"{path}.apiGroup")


_SEVERAL = "may not specify more than 1 volume type"
_CREATED_CLAIM = "must not reference a PVC that gets created for an ephemeral volume"


def _validate_image(source: ImageVolumeSource, path: str, options: ValidationOptions) -> FieldErrors:
    if options.resource_is_pod and not source.reference:
        yield field.required(f"{path}.reference")
    yield from validate_pull_policy(source.pullPolicy, f"{path}.pullPolicy")


SourceRow = tuple[str, str, str, backends.SourceRule]

# (field, name in the path of "more than 1 volume type", name in the path of its own errors, rule)
_SOURCES: tuple[SourceRow, ...] = (
    ("emptyDir", "emptyDir", "emptyDir", files.validate_empty_dir),
    ("hostPath", "hostPath", "hostPath", files.validate_host_path),
    ("gitRepo", "gitRepo", "gitRepo", backends.validate_git_repo),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", backends.validate_gce_disk),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", backends.validate_aws_disk),
    ("secret", "secret", "secret", files.validate_secret),
    ("nfs", "nfs", "nfs", backends.validate_nfs),
    ("iscsi", "iscsi", "iscsi", backends.validate_iscsi),
    ("glusterfs", "glusterfs", "glusterfs", backends.require("endpoints", "path")),
    ("flocker", "flocker", "flocker", backends.validate_flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", backends.require("claimName")),
    ("rbd", "rbd", "rbd", backends.require("monitors", "image")),
    ("cinder", "cinder", "cinder", backends.validate_cinder),
    ("cephfs", "cephFS", "cephfs", backends.require("monitors")),
    ("quobyte", "quobyte", "quobyte", backends.validate_quobyte),
    ("downwardAPI", "downwarAPI", "downwardAPI", files.validate_downward_api),
    ("fc", "fc", "fc", backends.validate_fibre_channel),
    ("flexVolume", "flexVolume", "flexVolume", backends.validate_flex_volume),
    ("configMap", "configMap", "configMap", files.validate_config_map),
    ("azureFile", "azureFile", "azureFile", backends.require("secretName", "shareName")),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", backends.require("volumePath")),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", backends.require("pdID")),
    ("portworxVolume", "portworxVolume", "portworxVolume", backends.require("volumeID")),
    ("azureDisk", "azureDisk", "azureDisk", backends.validate_azure_disk),
    ("storageos", "storageos", "storageos", backends.validate_storageos),
    ("projected", "projected", "projected", validate_projected),
    ("scaleIO", "scaleIO", "scaleIO", backends.require("gateway", "system", "volumeName")),
    ("csi", "csi", "csi", backends.validate_csi),
    ("ephemeral", "ephemeral", "ephemeral", validate_ephemeral),
    ("image", "image", "image", _validate_image),
)
# The same rows in the order of the view's fields; the view's last field, the name, has none.
_ROWS_BY_FIELD = tuple({row[0]: row for row in _SOURCES}[name] for name in VolumeSource.__struct_fields__)


def validate_volumes(
    volumes: tuple[Volume, ...], path: str, metadata: ObjectMeta | None, options: ValidationOptions
) -> tuple[dict[str, Volume], list[FieldError]]:
    errors: list[FieldError] = []
    valid: dict[str, Volume] = {}
    pod_name = metadata.name if metadata is not None else ""
    created_claims = {f"{pod_name}-{volume.name}" for volume in volumes if volume.ephemeral is not None}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        own = list(_validate_source(volume, at, pod_name, options))
        own += validate_dns_label(volume.name, f"{at}.name") if volume.name else [field.required(f"{at}.name")]
        if volume.name in valid:
            own.append(field.duplicate(f"{at}.name", volume.name))
        if own:
            errors += own
        else:
            valid[volume.name] = volume
        claim = volume.persistentVolumeClaim
        if claim is not None and pod_name and claim.claimName in created_claims:
            errors.append(field.invalid(f"{at}.persistentVolumeClaim.claimName", claim.claimName, _CREATED_CLAIM))
    return valid, errors


def _validate_source(volume: Volume, path: str, pod_name: str, options: ValidationOptions) -> FieldErrors:
    found = ""
    for name, forbidden_name, own_name, rule in _sources_of(volume):
        source = getattr(volume, name)
        if found:
            yield field.forbidden(f"{path}.{forbidden_name}", _SEVERAL)
        else:
            found = name
            yield from rule(source, f"{path}.{own_name}", options)
        if name == "iscsi":
            yield from _validate_iscsi_name(volume, f"{path}.name")
        elif name == "ephemeral" and found == "ephemeral" and pod_name and volume.name:
            yield from _validate_created_claim(f"{pod_name}-{volume.name}", volume.name, f"{path}.name")
    if not found:
        yield field.required(path, "must specify a volume type")


def _sources_of(volume: Volume) -> list[SourceRow]:
    """The sources a volume has, in upstream's order; nearly always there is one, so looking for it must be cheap."""
    rows = [row for row, source in zip(_ROWS_BY_FIELD, astuple(volume), strict=False) if source is not None]
    return rows if len(rows) < 2 else [row for row in _SOURCES if row in rows]


def _validate_iscsi_name(volume: Volume, path: str) -> list[FieldError]:
    source = volume.iscsi
    if source is None or source.initiatorName is None:
        return []
    too_long = backends.is_iscsi_name_too_long(volume.name, source.targetPortal)
    return [field.invalid(path, volume.name, backends.ISCSI_NAME_TOO_LONG)] if too_long else []


def _validate_created_claim(claim_name: str, volume_name: str, path: str) -> list[FieldError]:
    return [
        field.invalid(path, volume_name, f"PVC name {go_quote(claim_name)}: {message}")
        for message in dns1123_subdomain_errors(claim_name)
    ]


_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_MODES = ("Disabled", "Enabled", "IfPossible")
_UNIQUE = "must be unique"
_NOT_A_CLAIM = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def validate_volume_mounts(container: AnyContainer, path: str, volumes: Mapping[str, Volume]) -> FieldErrors:
    device_paths = {device.name: device.devicePath for device in container.volumeDevices}
    taken_by_devices = set(device_paths.values())
    mount_points: set[str] = set()
    for index, mount in enumerate(container.volumeMounts):
        at = f"{path}[{index}]"
        if not mount.name:
            yield field.required(f"{at}.name")
        if mount.name not in volumes:
            yield field.not_found(f"{at}.name", mount.name)
        if not mount.mountPath:
            yield field.required(f"{at}.mountPath")
        if mount.mountPath in mount_points:
            yield field.invalid(f"{at}.mountPath", mount.mountPath, _UNIQUE)
        mount_points.add(mount.mountPath)
        if device_paths:
            if mount.name in device_paths:
                yield field.invalid(f"{at}.name", mount.name, "must not already exist in volumeDevices")
            if mount.mountPath in taken_by_devices:
                detail = "must not already exist as a path in volumeDevices"
                yield field.invalid(f"{at}.mountPath", mount.mountPath, detail)
        if mount.subPath:
            yield from validate_descending_path(mount.subPath, f"{path}.subPath")
        if mount.subPathExpr:
            if mount.subPath:
                detail = "subPathExpr and subPath are mutually exclusive"
                yield field.invalid(f"{at}.subPathExpr", mount.subPathExpr, detail)
            yield from validate_descending_path(mount.subPathExpr, f"{path}.subPathExpr")
        if mount.mountPropagation is not None:
            yield from _validate_propagation(mount.mountPropagation, f"{path}.mountPropagation", container)
        if mount.recursiveReadOnly is not None:
            yield from _validate_recursive(mount, mount.recursiveReadOnly, f"{path}.recursiveReadOnly")


def _validate_propagation(mode: str, path: str, container: AnyContainer) -> list[FieldError]:
    if mode not in _PROPAGATIONS:
        return [field.not_supported(path, AsJSON(mode), _PROPAGATIONS)]
    privileged = container.securityContext is not None and container.securityContext.privileged
    if mode == "Bidirectional" and not privileged:
        return [field.forbidden(path, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _validate_recursive(mount: VolumeMount, mode: str, path: str) -> FieldErrors:
    if mode not in _RECURSIVE_MODES:
        yield field.not_supported(path, AsJSON(mode), _RECURSIVE_MODES)
        return
    if mode == "Disabled":
        return
    if not mount.readOnly:
        yield field.forbidden(path, "may only be specified when readOnly is true")
    if mount.mountPropagation not in (None, "None"):
        yield field.forbidden(path, "may only be specified when mountPropagation is None or not specified")


def validate_volume_devices(container: AnyContainer, path: str, volumes: Mapping[str, Volume]) -> FieldErrors:
    mount_paths = {mount.name: mount.mountPath for mount in container.volumeMounts}
    taken_by_mounts = set(mount_paths.values())
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.volumeDevices):
        at, name, device_path = f"{path}[{index}]", device.name, device.devicePath
        if not name:
            yield field.required(f"{at}.name")
        if name in names:
            yield field.invalid(f"{at}.name", name, _UNIQUE)
        volume = volumes.get(name)
        if volume is None:
            yield field.not_found(f"{at}.name", name)
        elif volume.persistentVolumeClaim is None and volume.ephemeral is None:
            yield field.invalid(f"{at}.name", name, _NOT_A_CLAIM)
        if not device_path:
            yield field.required(f"{at}.devicePath")
        if device_path in paths:
            yield field.invalid(f"{at}.devicePath", device_path, _UNIQUE)
        if has_backsteps(device_path):
            yield field.invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')")
        else:
            paths.add(device_path)
        if name in mount_paths:
            yield field.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if device_path in taken_by_mounts:
            yield field.invalid(f"{at}.devicePath", device_path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
