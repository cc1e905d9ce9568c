"""Where the bytes of a PersistentVolume are: exactly one source, with what it needs.

In: a PersistentVolume's spec, its path. Out: field errors. Kubernetes: the chain of sources in
ValidatePersistentVolumeSpec. A source is one row of `SOURCES`, in upstream's order; sources that pods have too share
their rule with them.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.admit.dns_names import validate_dns_label, validate_dns_subdomain
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.volumes import volume_backends as backends
from moorage.admit.pod.volumes.paths import validate_no_backsteps
from moorage.admit.pod.volumes.volume_files import validate_host_path
from moorage.model.field_error import FieldError, forbidden, invalid, required
from moorage.model.types.meta import SecretReference
from moorage.model.types.storage import PersistentVolumeSpec
from moorage.model.types.volume_sources import (
    AzureFilePersistentVolumeSource,
    CinderPersistentVolumeSource,
    CSIPersistentVolumeSource,
    FlexPersistentVolumeSource,
    GlusterfsPersistentVolumeSource,
    ISCSIPersistentVolumeSource,
    LocalVolumeSource,
    StorageOSPersistentVolumeSource,
)

ONLY_ONE = "may not specify more than 1 volume type"
NEEDS_ONE = "must specify a volume type"
LOCAL_NEEDS_AFFINITY = "Local volume requires node affinity"
RESERVED_OPTION = "kubernetes.io and k8s.io namespaces are reserved"

Rule = Callable[[Any, str, ValidationOptions], list[FieldError]]


class Source(msgspec.Struct, frozen=True):
    """One way to have bytes: the field, the rule, and the names by which upstream's paths call the field."""

    field: str
    rule: Rule | None  # None: the one rule that has to know the volume's name
    own_name: str = ""
    forbidden_name: str = ""


def _require(*fields: str) -> Rule:
    def rule(source: Any, path: str, options: ValidationOptions) -> list[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not getattr(source, field)]

    return rule


def _validate_glusterfs(
    source: GlusterfsPersistentVolumeSource, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors = _require("endpoints", "path")(source, path, options)
    namespace = source.endpointsNamespace
    if namespace == "":
        detail = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(f"{path}.endpointsNamespace", namespace, detail))
    elif namespace is not None:
        errors += validate_dns_label(namespace, f"{path}.endpointsNamespace")
    return errors


def _validate_iscsi(source: ISCSIPersistentVolumeSource, volume_name: str, path: str) -> list[FieldError]:
    """As of a pod's volume, but with fewer words about names, and with the secret's name."""
    errors = [] if source.targetPortal else [required(f"{path}.targetPortal")]
    if source.initiatorName is not None and backends.is_iscsi_name_too_long(volume_name, source.targetPortal):
        errors.append(invalid(f"{path}.targetportal", source.targetPortal, backends.ISCSI_NAME_TOO_LONG))
    wrong = backends.NOT_AN_ISCSI_NAME
    if source.iqn:
        errors += backends.validate_iscsi_name(source.iqn, f"{path}.iqn", wrong_prefix=wrong)
    else:
        errors.append(required(f"{path}.iqn"))
    errors += backends.validate_lun(source.lun, f"{path}.lun")
    if (source.chapAuthDiscovery or source.chapAuthSession) and source.secretRef is None:
        errors.append(required(f"{path}.secretRef"))
    if source.secretRef is not None and not source.secretRef.name:
        errors.append(required(f"{path}.secretRef.name"))
    if source.initiatorName is not None:
        errors += backends.validate_iscsi_name(source.initiatorName, f"{path}.initiatorname", wrong_prefix=wrong)
    return errors


def _validate_cinder(source: CinderPersistentVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = _require("volumeID")(source, path, options)
    return errors + _validate_whole_reference(source.secretRef, f"{path}.secretRef")


def _validate_whole_reference(reference: Any, path: str) -> list[FieldError]:
    if reference is None:
        return []
    return [required(f"{path}.{field}") for field in ("name", "namespace") if not getattr(reference, field)]


def _validate_flex(source: FlexPersistentVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = _require("driver")(source, path, options)
    for key in source.options:
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            errors.append(invalid(f"{path}.options[{key}]", key, RESERVED_OPTION))
    return errors


def _validate_azure_file(
    source: AzureFilePersistentVolumeSource, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors = _require("secretName", "shareName")(source, path, options)
    return errors + ([required(f"{path}.secretNamespace")] if source.secretNamespace == "" else [])


def _validate_local(source: LocalVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    return validate_no_backsteps(source.path, f"{path}.path") if source.path else [required(f"{path}.path")]


def _validate_storageos(
    source: StorageOSPersistentVolumeSource, path: str, options: ValidationOptions
) -> list[FieldError]:
    name = source.volumeName
    errors = validate_dns_label(name, f"{path}.volumeName") if name else [required(f"{path}.volumeName")]
    if source.volumeNamespace:
        errors += validate_dns_label(source.volumeNamespace, f"{path}.volumeNamespace")
    return errors + _validate_whole_reference(source.secretRef, f"{path}.secretRef")


def _validate_csi(source: CSIPersistentVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    errors = backends.validate_csi_driver_name(source.driver, f"{path}.driver")
    errors += _require("volumeHandle")(source, path, options)
    secrets = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
    for name in secrets:
        errors += _validate_secret(getattr(source, name), f"{path}.{name}")
    return errors


def _validate_secret(secret: SecretReference | None, path: str) -> list[FieldError]:
    if secret is None:
        return []
    errors = validate_dns_subdomain(secret.name, f"{path}.name") if secret.name else [required(f"{path}.name")]
    at = f"{path}.namespace"
    return errors + (validate_dns_label(secret.namespace, at) if secret.namespace else [required(at)])


SOURCES = (
    Source("hostPath", validate_host_path),
    Source("gcePersistentDisk", backends.validate_gce_disk, own_name="persistentDisk"),
    Source("awsElasticBlockStore", backends.validate_aws_disk),
    Source("glusterfs", _validate_glusterfs),
    Source("flocker", backends.validate_flocker),
    Source("nfs", backends.validate_nfs),
    Source("rbd", _require("monitors", "image")),
    Source("quobyte", backends.validate_quobyte),
    Source("cephfs", _require("monitors"), forbidden_name="cephFS"),
    Source("iscsi", None),
    Source("cinder", _validate_cinder),
    Source("fc", backends.validate_fibre_channel),
    Source("flexVolume", _validate_flex),
    Source("azureFile", _validate_azure_file),
    Source("vsphereVolume", backends.validate_vsphere),
    Source("photonPersistentDisk", backends.validate_photon),
    Source("portworxVolume", backends.validate_portworx),
    Source("azureDisk", backends.validate_azure_disk),
    Source("scaleIO", _require("gateway", "system", "volumeName")),
    Source("local", _validate_local),
    Source("storageos", _validate_storageos),
    Source("csi", _validate_csi),
)


def validate_volume_source(
    spec: PersistentVolumeSpec, volume_name: str, path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    found = False
    for source in SOURCES:
        value = getattr(spec, source.field)
        if value is None:
            continue
        if found and source.field != "flexVolume":
            errors.append(forbidden(f"{path}.{source.forbidden_name or source.field}", ONLY_ONE))
            continue
        found = True
        if source.rule is None:
            errors += _validate_iscsi(value, volume_name, f"{path}.{source.field}")
        else:
            errors += source.rule(value, f"{path}.{source.own_name or source.field}", options)
        if source.field == "local" and spec.nodeAffinity is None:
            errors.append(required(f"{path}.nodeAffinity", LOCAL_NEEDS_AFFINITY))
    return errors if found else [*errors, required(path, NEEDS_ONE)]
