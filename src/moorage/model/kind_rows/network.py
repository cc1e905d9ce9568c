"""Kinds of networking.k8s.io. They are stored: nothing is routed, and no traffic is refused."""

from typing import Final

from moorage.model.kind_rows.kind import WITH_STATUS, Kind
from moorage.model.types.network.addresses import IPAddress, ServiceCIDR
from moorage.model.types.network.ingress import Ingress, IngressClass
from moorage.model.types.network.network_policy import NetworkPolicy

_GROUP: Final = "networking.k8s.io/v1"

ROWS: Final = (
    Kind(_GROUP, "ingressclasses", IngressClass, namespaced=False, read_by_plan=False),
    Kind(_GROUP, "ingresses", Ingress, ("ing",), subresources=WITH_STATUS, read_by_plan=False),
    Kind(_GROUP, "networkpolicies", NetworkPolicy, ("netpol",), read_by_plan=False),
    Kind(
        _GROUP,
        "servicecidrs",
        ServiceCIDR,
        namespaced=False,
        subresources=WITH_STATUS,
        status_resets=(("metadata",), ("spec",)),
        read_by_plan=False,
    ),
    Kind(_GROUP, "ipaddresses", IPAddress, ("ip",), namespaced=False, read_by_plan=False),
)
