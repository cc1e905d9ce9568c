"""Validate volumes that a storage product provides.

In: one source of a volume, its path. Out: field errors. Kubernetes: the validate*VolumeSource functions of
pkg/apis/core/validation. All functions take the options, though none needs them, so that they fit one table.
"""

from collections.abc import Callable
from typing import Any

from moorage.admit.metadata import validate_dns_label, validate_dns_subdomain
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.shared import validate_descending_path
from moorage.model.field_error import FieldError, FieldErrors, invalid, not_supported, one_of, required, too_long
from moorage.model.names import byte_length, dns1123_subdomain_errors, in_range_errors
from moorage.model.text.patterns import anywhere, whole
from moorage.model.types import volume_sources as sources

_HIGHEST_LUN = 255
_NOT_A_PARTITION = "must be between 1 and 255, inclusive"
ISCSI_NAME_TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)
NOT_AN_ISCSI_NAME = "must be valid format"
_NOT_AN_ISCSI_PREFIX = f"{NOT_AN_ISCSI_NAME} starting with iqn, eui, or naa"
_ISCSI_NAME_LIMIT = 64
_ISCSI_PREFIXES = ("iqn", "eui", "naa")
_is_eui = whole(r"eui.[0-9A-Za-z]{16}")
_is_naa = whole(r"naa.[0-9A-Za-z]{32}")
_has_iqn = anywhere(r"iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$")  # upstream's is not anchored at its start
_CSI_DRIVER_LIMIT = 63
_TENANT_LIMIT = 64
_NOT_A_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_DISK = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_RESERVED = "kubernetes.io and k8s.io namespaces are reserved"


SourceRule = Callable[[Any, str, ValidationOptions], FieldErrors]


def require(*fields: str) -> SourceRule:
    """Return the rule of a source that must have these fields, and of which nothing else is checked."""
    return lambda source, path, _: _require(source, path, *fields)


def _require(source: Any, path: str, *fields: str) -> list[FieldError]:
    return [required(f"{path}.{field}") for field in fields if not getattr(source, field)]


def _require_secret_name(source: Any, path: str) -> list[FieldError]:
    unnamed = source.secretRef is not None and not source.secretRef.name
    return [required(f"{path}.secretRef.name")] if unnamed else []


def validate_git_repo(source: sources.GitRepoVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "repository")
    yield from validate_descending_path(source.directory, f"{path}.directory")


def validate_gce_disk(source: sources.GCEPersistentDiskVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    return _require(source, path, "pdName") + _validate_partition(source.partition, f"{path}.partition")


def validate_aws_disk(source: sources.AWSElasticBlockStoreVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    return _require(source, path, "volumeID") + _validate_partition(source.partition, f"{path}.partition")


def _validate_partition(partition: int, path: str) -> list[FieldError]:
    return [] if 0 <= partition <= 255 else [invalid(path, partition, _NOT_A_PARTITION)]


def validate_nfs(source: sources.NFSVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "server", "path")
    if not source.path.startswith("/"):
        yield invalid(f"{path}.path", source.path, "must be an absolute path")


def validate_iscsi(source: sources.ISCSIVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "targetPortal")
    yield from validate_iscsi_names(source, path, _NOT_AN_ISCSI_PREFIX)


def validate_iscsi_names(
    source: sources.ISCSIVolumeSource, path: str, wrong_prefix: str, *, names_secret: bool = False
) -> FieldErrors:
    yield from _require(source, path, "iqn")
    if source.iqn:
        yield from _validate_iscsi_name(source.iqn, f"{path}.iqn", wrong_prefix)
    yield from validate_lun(source.lun, f"{path}.lun")
    if (source.chapAuthDiscovery or source.chapAuthSession) and source.secretRef is None:
        yield required(f"{path}.secretRef")
    if names_secret:
        yield from _require_secret_name(source, path)
    if source.initiatorName is not None:
        yield from _validate_iscsi_name(source.initiatorName, f"{path}.initiatorname", wrong_prefix)


def is_iscsi_name_too_long(volume_name: str, portal: str) -> bool:
    return byte_length(f"{volume_name}:{portal}") > _ISCSI_NAME_LIMIT


def _validate_iscsi_name(name: str, path: str, wrong_prefix: str) -> list[FieldError]:
    if not name.startswith(_ISCSI_PREFIXES):
        return [invalid(path, name, wrong_prefix)]
    is_name = {"iqn": _has_iqn, "eui": _is_eui, "naa": _is_naa}[name[:3]]
    return [] if is_name(name) else [invalid(path, name, NOT_AN_ISCSI_NAME)]


def validate_lun(lun: int, path: str) -> list[FieldError]:
    return [invalid(path, lun, message) for message in in_range_errors(lun, 0, _HIGHEST_LUN)]


def validate_flocker(source: sources.FlockerVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.datasetName and not source.datasetUUID:
        yield required(path, "one of datasetName and datasetUUID is required")
    if source.datasetName and source.datasetUUID:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in source.datasetName:
        yield invalid(f"{path}.datasetName", source.datasetName, "must not contain '/'")


def validate_cinder(source: sources.CinderVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    return _require(source, path, "volumeID") + _require_secret_name(source, path)


def validate_quobyte(source: sources.QuobyteVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.registry:
        yield required(f"{path}.registry", _NOT_A_REGISTRY)
    elif byte_length(source.tenant) > _TENANT_LIMIT:
        yield required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in source.registry.split(","):
            if not _is_host_and_port(pair):
                yield invalid(f"{path}.registry", source.registry, _NOT_A_REGISTRY)
    yield from _require(source, path, "volume")


def _is_host_and_port(text: str) -> bool:
    """Return whether Go's `net.SplitHostPort` accepts the text."""
    host, colon, port = text.rpartition(":")
    if not colon:
        return False
    if not text.startswith("["):
        return not set(host) & set(":[]") and not set(port) & set("[]")
    inside = host[1:-1]
    return host.endswith("]") and not set(inside) & set("[]") and not set(port) & set("[]")


def validate_fibre_channel(source: sources.FCVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    if not source.targetWWNs and not source.wwids:
        yield required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if source.targetWWNs and source.wwids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        yield invalid(f"{path}.targetWWNs", list(source.targetWWNs), detail)
    if source.targetWWNs:
        if source.lun is None:
            yield required(f"{path}.lun", "lun is required if targetWWNs is specified")
        else:
            yield from validate_lun(source.lun, f"{path}.lun")


def validate_flex_volume(source: sources.FlexVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "driver")
    for key in sorted(source.options):
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            yield invalid(f"{path}.options[{key}]", key, _RESERVED)


def validate_azure_disk(source: sources.AzureDiskVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "diskName", "diskURI")
    yield from one_of(source.cachingMode, _CACHING_MODES, f"{path}.cachingMode")
    if source.kind is None:
        return
    yield from one_of(source.kind, _DISK_KINDS, f"{path}.kind")
    managed = source.kind == "Managed"
    if not source.diskURI.startswith("/subscriptions/" if managed else "https://"):
        yield not_supported(f"{path}.diskURI", source.diskURI, (_MANAGED_DISK if managed else _BLOB_DISK,))


def validate_storageos(source: sources.StorageOSVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from _require(source, path, "volumeName")
    if source.volumeName:
        yield from validate_dns_label(source.volumeName, f"{path}.volumeName")
    if source.volumeNamespace:
        yield from validate_dns_label(source.volumeNamespace, f"{path}.volumeNamespace")
    yield from _require_secret_name(source, path)


def validate_csi(source: sources.CSIVolumeSource, path: str, _: ValidationOptions) -> FieldErrors:
    yield from validate_csi_driver_name(source.driver, f"{path}.driver")
    secret = source.nodePublishSecretRef
    if secret is not None and not secret.name:
        yield required(f"{path}.nodePublishSecretRef.name")
    elif secret is not None:
        yield from validate_dns_subdomain(secret.name, f"{path}.name")  # upstream's path


def validate_csi_driver_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _CSI_DRIVER_LIMIT)] if byte_length(name) > _CSI_DRIVER_LIMIT else []
    return errors + [invalid(path, name, message) for message in dns1123_subdomain_errors(name.lower())]
