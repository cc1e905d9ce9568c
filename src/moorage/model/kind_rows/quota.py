"""Kinds that say what a namespace may use, and what a container runtime needs."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types.quota.limits import LimitRange, ResourceQuota
from moorage.model.types.quota.runtime import RuntimeClass

ROWS: Final = (
    Kind("v1", "limitranges", LimitRange, ("limits",), creates_on_update=True, loads_first=True),
    Kind(
        "v1",
        "resourcequotas",
        ResourceQuota,
        ("quota",),
        subresources=WITH_STATUS,
        returns_deleted=True,
        loads_first=True,
    ),
    Kind(
        "node.k8s.io/v1",
        "runtimeclasses",
        RuntimeClass,
        namespaced=False,
        creates_on_update=True,
        unconditional_update=False,
        loads_first=True,
    ),
)
