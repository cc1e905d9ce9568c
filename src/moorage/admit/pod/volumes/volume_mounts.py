"""Where a container sees its volumes: mounts and raw block devices.

In: a container's `volumeMounts` and `volumeDevices`, the pod's valid volumes by name. Out: field errors. Kubernetes:
ValidateVolumeMounts, ValidateVolumeDevices, validateMountPropagation, validateMountRecursiveReadOnly. As upstream,
what is wrong with a sub-path or a mount mode is reported at the list's path, without the index.
"""

from collections.abc import Mapping

from moorage.admit.pod.visiting import AnyContainer
from moorage.admit.pod.volumes.paths import has_backsteps, validate_descending_path
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_found, not_supported, required
from moorage.model.types.container import VolumeMount
from moorage.model.types.storage import Volume

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_MODES = ("Disabled", "Enabled", "IfPossible")
_UNIQUE = "must be unique"
_NOT_A_CLAIM = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"


def validate_volume_mounts(container: AnyContainer, path: str, volumes: Mapping[str, Volume]) -> list[FieldError]:
    errors: list[FieldError] = []
    device_paths = {device.name: device.devicePath for device in container.volumeDevices}
    taken_by_devices = set(device_paths.values())
    mount_points: set[str] = set()
    for index, mount in enumerate(container.volumeMounts):
        at = f"{path}[{index}]"
        if not mount.name:
            errors.append(required(f"{at}.name"))
        if mount.name not in volumes:
            errors.append(not_found(f"{at}.name", mount.name))
        if not mount.mountPath:
            errors.append(required(f"{at}.mountPath"))
        if mount.mountPath in mount_points:
            errors.append(invalid(f"{at}.mountPath", mount.mountPath, _UNIQUE))
        mount_points.add(mount.mountPath)
        if device_paths:
            if mount.name in device_paths:
                errors.append(invalid(f"{at}.name", mount.name, "must not already exist in volumeDevices"))
            if mount.mountPath in taken_by_devices:
                detail = "must not already exist as a path in volumeDevices"
                errors.append(invalid(f"{at}.mountPath", mount.mountPath, detail))
        if mount.subPath:
            errors += validate_descending_path(mount.subPath, f"{path}.subPath")
        if mount.subPathExpr:
            if mount.subPath:
                detail = "subPathExpr and subPath are mutually exclusive"
                errors.append(invalid(f"{at}.subPathExpr", mount.subPathExpr, detail))
            errors += validate_descending_path(mount.subPathExpr, f"{path}.subPathExpr")
        if mount.mountPropagation is not None:
            errors += _validate_propagation(mount.mountPropagation, f"{path}.mountPropagation", container)
        if mount.recursiveReadOnly is not None:
            errors += _validate_recursive(mount, mount.recursiveReadOnly, f"{path}.recursiveReadOnly")
    return errors


def _validate_propagation(mode: str, path: str, container: AnyContainer) -> list[FieldError]:
    if mode not in _PROPAGATIONS:
        return [not_supported(path, AsJSON(mode), _PROPAGATIONS)]
    privileged = container.securityContext is not None and container.securityContext.privileged
    if mode == "Bidirectional" and not privileged:
        return [forbidden(path, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _validate_recursive(mount: VolumeMount, mode: str, path: str) -> list[FieldError]:
    if mode not in _RECURSIVE_MODES:
        return [not_supported(path, AsJSON(mode), _RECURSIVE_MODES)]
    if mode == "Disabled":
        return []
    errors: list[FieldError] = []
    if not mount.readOnly:
        errors.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.mountPropagation not in (None, "None"):
        errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def validate_volume_devices(container: AnyContainer, path: str, volumes: Mapping[str, Volume]) -> list[FieldError]:
    errors: list[FieldError] = []
    mount_paths = {mount.name: mount.mountPath for mount in container.volumeMounts}
    taken_by_mounts = set(mount_paths.values())
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container.volumeDevices):
        at, name, device_path = f"{path}[{index}]", device.name, device.devicePath
        if not name:
            errors.append(required(f"{at}.name"))
        if name in names:
            errors.append(invalid(f"{at}.name", name, _UNIQUE))
        volume = volumes.get(name)
        if volume is None:
            errors.append(not_found(f"{at}.name", name))
        elif volume.persistentVolumeClaim is None and volume.ephemeral is None:
            errors.append(invalid(f"{at}.name", name, _NOT_A_CLAIM))
        if not device_path:
            errors.append(required(f"{at}.devicePath"))
        if device_path in paths:
            errors.append(invalid(f"{at}.devicePath", device_path, _UNIQUE))
        if has_backsteps(device_path):
            errors.append(invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device_path)
        if name in mount_paths:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if device_path in taken_by_mounts:
            detail = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", device_path, detail))
        if name:
            names.add(name)
    return errors
