"""Kinds of dynamic resource allocation."""

from typing import Final

from moorage.model.gates import DRA_DEVICE_TAINT_RULES
from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types import devices
from moorage.model.types.resource_slice import ResourceSlice

_DEVICE_VERSIONS: Final = ("v1beta2", "v1beta1")

ROWS: Final = (
    Kind(
        "resource.k8s.io/v1",
        "deviceclasses",
        devices.DeviceClass,
        namespaced=False,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1",
        "resourceslices",
        ResourceSlice,
        namespaced=False,
        returns_deleted=True,
        loads_first=True,
        older_versions=_DEVICE_VERSIONS,
    ),
    Kind(
        "resource.k8s.io/v1beta2",
        "devicetaintrules",
        devices.DeviceTaintRule,
        namespaced=False,
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
)
