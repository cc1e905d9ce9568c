"""Volumes of pods and the bytes behind PersistentVolumes.

In: a raw volume or the part of it that says what it is. Out: the same, changed in place. Kubernetes:
SetDefaults_Volume, SetDefaults_*VolumeSource and the declarative defaults of zz_generated.defaults.go.
"""

from moorage.admit.prepare.defaults.containers import default_field_reference, default_pull_policy
from moorage.admit.prepare.defaults.resources import round_up_lists
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model.types.storage import VolumeSource

_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_SOURCES = frozenset(VolumeSource.__struct_fields__)
_SOURCES_WITH_MODE = ("secret", "configMap", "downwardAPI", "projected")

#: Sources that pods and PersistentVolumes have in common: what to fill where empty, and where absent.
_EMPTY: dict[str, Raw] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}
_ABSENT: dict[str, Raw] = {
    "hostPath": {"type": ""},
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
}


def default_volume_source(source: Raw) -> None:
    """Fill in what both a pod's volume and a PersistentVolume may be made of."""
    for name, values in _EMPTY.items():
        if source.get(name) is not None:
            fill_empty(source[name], values)
    for name, values in _ABSENT.items():
        if source.get(name) is not None:
            fill_absent(source[name], values)


def default_volume(volume: Raw) -> None:
    if all(value is None or name not in _SOURCES for name, value in volume.items()):
        volume["emptyDir"] = {}
        return
    default_volume_source(volume)
    for name in _SOURCES_WITH_MODE:
        if volume.get(name) is not None:
            fill_absent(volume[name], {"defaultMode": _FILE_MODE})
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = default_pull_policy(image.get("reference") or "")
    for file in items(volume.get("downwardAPI") or {}, "items"):
        default_field_reference(file.get("fieldRef"))
    for projection in items(volume.get("projected") or {}, "sources"):
        for file in items(projection.get("downwardAPI") or {}, "items"):
            default_field_reference(file.get("fieldRef"))
        if projection.get("serviceAccountToken") is not None:
            fill_absent(projection["serviceAccountToken"], {"expirationSeconds": _TOKEN_SECONDS})
    template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(part(template, "spec"))


def default_claim_spec(spec: Raw) -> None:
    fill_absent(spec, {"volumeMode": "Filesystem"})
    round_up_lists(spec.get("resources"), "limits", "requests")
