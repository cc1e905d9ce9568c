"""Kinds that extend the API."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinition

ROWS: Final = (
    Kind(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        CustomResourceDefinition,
        ("crd", "crds"),
        namespaced=False,
        categories=("api-extensions",),
        subresources=WITH_STATUS,
        unconditional_update=False,
        loads_first=True,
        read_by_plan=False,
    ),
)
