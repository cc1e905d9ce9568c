"""Kinds of volumes and storage drivers."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types import storage

ROWS: Final = (
    Kind("storage.k8s.io/v1", "storageclasses", storage.StorageClass, ("sc",), namespaced=False, loads_first=True),
    Kind(
        "v1",
        "persistentvolumes",
        storage.PersistentVolume,
        ("pv",),
        namespaced=False,
        subresources=WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    Kind(
        "v1",
        "persistentvolumeclaims",
        storage.PersistentVolumeClaim,
        ("pvc",),
        subresources=WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    Kind(
        "storage.k8s.io/v1",
        "volumeattributesclasses",
        storage.VolumeAttributesClass,
        ("vac",),
        namespaced=False,
        returns_deleted=True,
        read_by_plan=False,
    ),
    Kind("storage.k8s.io/v1", "csinodes", storage.CSINode, namespaced=False, unconditional_update=False),
    Kind("storage.k8s.io/v1", "csidrivers", storage.CSIDriver, namespaced=False, unconditional_update=False),
    Kind("storage.k8s.io/v1", "csistoragecapacities", storage.CSIStorageCapacity, unconditional_update=False),
    Kind(
        "storage.k8s.io/v1",
        "volumeattachments",
        storage.VolumeAttachment,
        namespaced=False,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=(("metadata",), ("spec",)),
        read_by_plan=False,
    ),
)
