"""PersistentVolumes, claims and StorageClasses.

In: a raw object. Out: the same, changed in place. Kubernetes: pkg/apis/core/v1/defaults.go,
pkg/apis/storage/v1/defaults.go.
"""

from moorage.admit.prepare.defaults.resources import round_up_lists
from moorage.admit.prepare.defaults.volumes import default_claim_spec, default_volume_source
from moorage.admit.raw import Raw, fill_absent, fill_empty, part


def default_persistent_volume(volume: Raw) -> None:
    fill_empty(part(volume, "status"), {"phase": "Pending"})
    spec = part(volume, "spec")
    fill_empty(spec, {"persistentVolumeReclaimPolicy": "Retain"})
    fill_absent(spec, {"volumeMode": "Filesystem"})
    round_up_lists(spec, "capacity")
    default_volume_source(spec)


def default_claim(claim: Raw) -> None:
    status = part(claim, "status")
    fill_empty(status, {"phase": "Pending"})
    default_claim_spec(part(claim, "spec"))
    round_up_lists(status, "capacity", "allocatedResources")


def default_storage_class(storage_class: Raw) -> None:
    fill_absent(storage_class, {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})
