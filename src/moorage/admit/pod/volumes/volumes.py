"""Volumes of a pod: named once, with exactly one source.

In: a pod's `volumes`, its metadata (None in a template). Out: field errors, and the valid volumes by name, which are
the ones that containers may mount. Kubernetes: ValidateVolumes, validateVolumeSource; the table below has its order
and its paths, misspelt ones included.
"""

from collections.abc import Callable
from typing import Any

from msgspec.structs import astuple

from moorage.admit.dns_names import validate_dns_label
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.containers import validate_pull_policy
from moorage.admit.pod.volumes import volume_backends as backends
from moorage.admit.pod.volumes import volume_files as files
from moorage.admit.pod.volumes.projections import validate_projected
from moorage.admit.pod.volumes.volume_claims import validate_ephemeral
from moorage.model.field_error import FieldError, duplicate, forbidden, invalid, required
from moorage.model.go.quoting import go_quote
from moorage.model.names import dns1123_subdomain_errors
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.storage import ImageVolumeSource, Volume, VolumeSource

_SEVERAL = "may not specify more than 1 volume type"
_CREATED_CLAIM = "must not reference a PVC that gets created for an ephemeral volume"


def _validate_image(source: ImageVolumeSource, path: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if options.resource_is_pod and not source.reference:
        errors.append(required(f"{path}.reference"))
    return errors + validate_pull_policy(source.pullPolicy, f"{path}.pullPolicy")


SourceRule = Callable[[Any, str, ValidationOptions], list[FieldError]]

SourceRow = tuple[str, str, str, SourceRule]

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
    ("glusterfs", "glusterfs", "glusterfs", backends.validate_glusterfs),
    ("flocker", "flocker", "flocker", backends.validate_flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", backends.validate_claim_reference),
    ("rbd", "rbd", "rbd", backends.validate_rbd),
    ("cinder", "cinder", "cinder", backends.validate_cinder),
    ("cephfs", "cephFS", "cephfs", backends.validate_cephfs),
    ("quobyte", "quobyte", "quobyte", backends.validate_quobyte),
    ("downwardAPI", "downwarAPI", "downwardAPI", files.validate_downward_api),
    ("fc", "fc", "fc", backends.validate_fibre_channel),
    ("flexVolume", "flexVolume", "flexVolume", backends.validate_flex_volume),
    ("configMap", "configMap", "configMap", files.validate_config_map),
    ("azureFile", "azureFile", "azureFile", backends.validate_azure_file),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", backends.validate_vsphere),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", backends.validate_photon),
    ("portworxVolume", "portworxVolume", "portworxVolume", backends.validate_portworx),
    ("azureDisk", "azureDisk", "azureDisk", backends.validate_azure_disk),
    ("storageos", "storageos", "storageos", backends.validate_storageos),
    ("projected", "projected", "projected", validate_projected),
    ("scaleIO", "scaleIO", "scaleIO", backends.validate_scale_io),
    ("csi", "csi", "csi", backends.validate_csi),
    ("ephemeral", "ephemeral", "ephemeral", validate_ephemeral),
    ("image", "image", "image", _validate_image),
)
# The same rows in the order of the view's fields; the view's last field, the name, has none.
_ROWS_BY_FIELD = tuple({row[0]: row for row in _SOURCES}[field] for field in VolumeSource.__struct_fields__)


def validate_volumes(
    volumes: tuple[Volume, ...], path: str, metadata: ObjectMeta | None, options: ValidationOptions
) -> tuple[dict[str, Volume], list[FieldError]]:
    errors: list[FieldError] = []
    valid: dict[str, Volume] = {}
    pod_name = metadata.name if metadata is not None else ""
    created_claims = {f"{pod_name}-{volume.name}" for volume in volumes if volume.ephemeral is not None}
    for index, volume in enumerate(volumes):
        at = f"{path}[{index}]"
        own = _validate_source(volume, at, pod_name, options)
        own += validate_dns_label(volume.name, f"{at}.name") if volume.name else [required(f"{at}.name")]
        if volume.name in valid:
            own.append(duplicate(f"{at}.name", volume.name))
        if own:
            errors += own
        else:
            valid[volume.name] = volume
        claim = volume.persistentVolumeClaim
        if claim is not None and pod_name and claim.claimName in created_claims:
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim.claimName, _CREATED_CLAIM))
    return valid, errors


def _validate_source(volume: Volume, path: str, pod_name: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    found = ""
    for field, forbidden_name, own_name, rule in _sources_of(volume):
        source = getattr(volume, field)
        if found:
            errors.append(forbidden(f"{path}.{forbidden_name}", _SEVERAL))
        else:
            found = field
            errors += rule(source, f"{path}.{own_name}", options)
        if field == "iscsi":
            errors += _validate_iscsi_name(volume, f"{path}.name")
        elif field == "ephemeral" and found == "ephemeral" and pod_name and volume.name:
            errors += _validate_created_claim(f"{pod_name}-{volume.name}", volume.name, f"{path}.name")
    if not found:
        errors.append(required(path, "must specify a volume type"))
    return errors


def _sources_of(volume: Volume) -> list[SourceRow]:
    """The sources a volume has, in upstream's order; nearly always there is one, so looking for it must be cheap."""
    found = [row for row, source in zip(_ROWS_BY_FIELD, astuple(volume), strict=False) if source is not None]
    return found if len(found) < 2 else [row for row in _SOURCES if row in found]


def _validate_iscsi_name(volume: Volume, path: str) -> list[FieldError]:
    source = volume.iscsi
    if source is None or source.initiatorName is None:
        return []
    too_long = backends.is_iscsi_name_too_long(volume.name, source.targetPortal)
    return [invalid(path, volume.name, backends.ISCSI_NAME_TOO_LONG)] if too_long else []


def _validate_created_claim(claim_name: str, volume_name: str, path: str) -> list[FieldError]:
    return [
        invalid(path, volume_name, f"PVC name {go_quote(claim_name)}: {message}")
        for message in dns1123_subdomain_errors(claim_name)
    ]
