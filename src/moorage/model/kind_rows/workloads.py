"""Describe the kinds that make pods, and the volumes and devices that pods claim."""

from typing import Final

from moorage.model.gates import DRA_DEVICE_TAINT_RULES
from moorage.model.kind_rows.kind import (
    ALL,
    POD_TEMPLATE,
    SCALED,
    WITH_STATUS,
    Kind,
    cluster_kind,
    unplanned_cluster_kind,
    unplanned_kind,
)
from moorage.model.types import devices, other_versions, storage
from moorage.model.types.autoscaler import HorizontalPodAutoscaler
from moorage.model.types.devices import ResourceSlice
from moorage.model.types.workload import (
    ControllerRevision,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    PodTemplate,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)

_DEVICE_VERSIONS: Final = ("v1beta2", "v1beta1")

ROWS: Final = (
    # Kinds of volumes and storage drivers.
    cluster_kind("storage.k8s.io/v1", "storageclasses", storage.StorageClass, ("sc",), loads_first=True),
    cluster_kind(
        "v1",
        "persistentvolumes",
        storage.PersistentVolume,
        ("pv",),
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
    unplanned_cluster_kind(
        "storage.k8s.io/v1", "volumeattributesclasses", storage.VolumeAttributesClass, ("vac",), returns_deleted=True
    ),
    cluster_kind("storage.k8s.io/v1", "csinodes", storage.CSINode, unconditional_update=False),
    cluster_kind("storage.k8s.io/v1", "csidrivers", storage.CSIDriver, unconditional_update=False),
    Kind("storage.k8s.io/v1", "csistoragecapacities", storage.CSIStorageCapacity, unconditional_update=False),
    unplanned_cluster_kind(
        "storage.k8s.io/v1",
        "volumeattachments",
        storage.VolumeAttachment,
        subresources=WITH_STATUS,
        unconditional_update=False,
        status_resets=(("metadata",), ("spec",)),
    ),
    # Kinds of dynamic resource allocation.
    cluster_kind(
        "resource.k8s.io/v1",
        "deviceclasses",
        devices.DeviceClass,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    cluster_kind(
        "resource.k8s.io/v1",
        "resourceslices",
        ResourceSlice,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    cluster_kind(
        "resource.k8s.io/v1beta2",
        "devicetaintrules",
        devices.DeviceTaintRule,
        subresources=WITH_STATUS,
        returns_deleted=True,
        status_resets=(("metadata",), ("spec",)),
        loads_first=True,
        older_versions=("v1alpha3",),
        gate=DRA_DEVICE_TAINT_RULES,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceclaimtemplates",
        devices.ResourceClaimTemplate,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceclaims",
        devices.ResourceClaim,
        subresources=WITH_STATUS,
        returns_deleted=True,
        status_resets=(("metadata",), ("spec",)),
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    # Kinds that make pods.
    Kind(
        "apps/v1",
        "deployments",
        Deployment,
        ("deploy",),
        template=POD_TEMPLATE,
        categories=ALL,
        subresources=SCALED,
        status_resets=(("spec",), ("metadata", "labels")),
    ),
    Kind("apps/v1", "replicasets", ReplicaSet, ("rs",), template=POD_TEMPLATE, categories=ALL, subresources=SCALED),
    Kind(
        "v1",
        "replicationcontrollers",
        ReplicationController,
        ("rc",),
        template=POD_TEMPLATE,
        categories=ALL,
        subresources=SCALED,
        dependents="orphan",
    ),
    Kind("apps/v1", "statefulsets", StatefulSet, ("sts",), template=POD_TEMPLATE, categories=ALL, subresources=SCALED),
    Kind("apps/v1", "daemonsets", DaemonSet, ("ds",), template=POD_TEMPLATE, categories=ALL, subresources=WITH_STATUS),
    unplanned_kind("v1", "podtemplates", PodTemplate, template=("template",), returns_deleted=True),
    Kind(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        HorizontalPodAutoscaler,
        ("hpa",),
        categories=ALL,
        subresources=WITH_STATUS,
        older_versions=("v1",),
        older_views={"v1": other_versions.HorizontalPodAutoscaler},
    ),
    Kind("apps/v1", "controllerrevisions", ControllerRevision),
    Kind("batch/v1", "jobs", Job, template=POD_TEMPLATE, categories=ALL, subresources=WITH_STATUS, dependents="orphan"),
    Kind(
        "batch/v1",
        "cronjobs",
        CronJob,
        ("cj",),
        template=("spec", "jobTemplate", *POD_TEMPLATE),
        categories=ALL,
        subresources=WITH_STATUS,
    ),
)
