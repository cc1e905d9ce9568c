"""Kinds that rank and protect pods."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types.policy import PodDisruptionBudget, PriorityClass

ROWS: Final = (
    Kind("scheduling.k8s.io/v1", "priorityclasses", PriorityClass, ("pc",), namespaced=False, loads_first=True),
    Kind(
        "policy/v1",
        "poddisruptionbudgets",
        PodDisruptionBudget,
        ("pdb",),
        subresources=WITH_STATUS,
        unconditional_update=False,
    ),
)
