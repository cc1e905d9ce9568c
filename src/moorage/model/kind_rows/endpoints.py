"""Kinds that list the addresses behind Services."""

from typing import Final

from moorage.model.kind_rows.kind import Kind
from moorage.model.types.network.endpoint_slice import EndpointSlice
from moorage.model.types.network.endpoints import Endpoints

ROWS: Final = (
    Kind(
        "v1",
        "endpoints",
        Endpoints,
        ("ep",),
        creates_on_update=True,
        read_by_plan=False,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    Kind("discovery.k8s.io/v1", "endpointslices", EndpointSlice, read_by_plan=False),
)
