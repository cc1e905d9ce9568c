"""Set defaults of Endpoints and EndpointSlices, and prepare them for validation.

Kubernetes: SetDefaults_Endpoints, SetDefaults_EndpointPort and the strategies of pkg/registry.
"""

from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model.gates import GateSet
from moorage.model.schema.conversion import convert_view
from moorage.model.types.networking import EndpointSlice

_LISTS = ("endpoints", "ports")


def default_endpoints(endpoints: Raw) -> None:
    for subset in items(endpoints, "subsets"):
        for port in items(subset, "ports"):
            fill_empty(port, {"protocol": "TCP"})


def default_endpoint_slice(endpoint_slice: Raw) -> None:
    for port in items(endpoint_slice, "ports"):
        fill_absent(port, {"name": "", "protocol": "TCP"})


def prepare_endpoints(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if not new.get("subsets"):
        new.pop("subsets", None)


def prepare_endpoint_slice(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Count changes in the generation; drop deprecatedTopology, which v1 does not write; empty lists are null."""
    for endpoint in items(new, "endpoints"):
        endpoint.pop("deprecatedTopology", None)
        part(endpoint, "conditions")
    for name in _LISTS:
        new[name] = new.get(name) or None
    metadata = part(new, "metadata")
    if old is None:
        metadata["generation"] = 1
    elif _is_other(new, old):
        metadata["generation"] = (part(old, "metadata").get("generation") or 0) + 1


def _is_other(new: Raw, old: Raw) -> bool:
    if all(new.get(name) == old.get(name) for name in (*_LISTS, "addressType")):
        return (new["metadata"].get("labels") or {}) != (part(old, "metadata").get("labels") or {})
    after, before = convert_view(new, EndpointSlice), convert_view(old, EndpointSlice)
    return (after.addressType, after.endpoints, after.ports) != (before.addressType, before.endpoints, before.ports)
