"""Volumes made of files that the cluster or the node already has: config maps, secrets, the downward API, directories.

In: one source of a volume, its path. Out: field errors. Kubernetes: the validate*VolumeSource functions of
pkg/apis/core/validation.
"""

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.downward import FIELDS_FOR_FILES, validate_field_selector, validate_resource_selector
from moorage.admit.pod.volumes.paths import validate_local_path, validate_no_backsteps
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.types.volume_sources import (
    ConfigMapVolumeSource,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    KeyToPath,
    SecretVolumeSource,
)

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_NOT_A_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def validate_empty_dir(source: EmptyDirVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    if source.sizeLimit is not None and source.sizeLimit.sign() < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def validate_host_path(source: HostPathVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    if not source.path:
        return [required(f"{path}.path")]
    errors = validate_no_backsteps(source.path, f"{path}.path")
    if source.type is not None and source.type not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", AsJSON(source.type), _HOST_PATH_TYPES))
    return errors


def validate_secret(source: SecretVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    errors = [] if source.secretName else [required(f"{path}.secretName")]
    errors += validate_mode(source.defaultMode, f"{path}.defaultMode")
    for index, item in enumerate(source.items):
        errors += validate_key_to_path(item, f"{path}.items[{index}]")
    return errors


def validate_config_map(source: ConfigMapVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    errors = [] if source.name else [required(f"{path}.name")]
    errors += validate_mode(source.defaultMode, f"{path}.defaultMode")
    for index, item in enumerate(source.items):
        errors += validate_key_to_path(item, f"{path}.items[{index}]")
    return errors


def validate_downward_api(source: DownwardAPIVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    """Upstream reports every file at the source's path, without its index."""
    errors = validate_mode(source.defaultMode, f"{path}.defaultMode")
    for file in source.items:
        errors += validate_downward_file(file, path)
    return errors


def validate_downward_file(file: DownwardAPIVolumeFile, path: str) -> list[FieldError]:
    errors = [] if file.path else [required(f"{path}.path")]
    errors += validate_local_path(file.path, f"{path}.path")
    if file.fieldRef is not None:
        errors += validate_field_selector(file.fieldRef, f"{path}.fieldRef", FIELDS_FOR_FILES)
        if file.resourceFieldRef is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", detail))
    elif file.resourceFieldRef is not None:
        errors += validate_resource_selector(file.resourceFieldRef, f"{path}.resourceFieldRef", in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + validate_mode(file.mode, f"{path}.mode")


def validate_key_to_path(item: KeyToPath, path: str) -> list[FieldError]:
    errors = [] if item.key else [required(f"{path}.key")]
    if not item.path:
        errors.append(required(f"{path}.path"))
    errors += validate_local_path(item.path, f"{path}.path")
    return errors + validate_mode(item.mode, f"{path}.mode")


def validate_mode(mode: int | None, path: str) -> list[FieldError]:
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(path, mode, _NOT_A_MODE)]
