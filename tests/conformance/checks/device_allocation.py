"""allocate.json: one call of the structured allocator, for one node and all claims of a pod."""

from typing import Any

from tests.conformance.checks.device_cel import gates_named

from moorage.columns.devices.use import DeviceUse
from moorage.match.devices.allocation.allocate import allocate
from moorage.match.devices.allocation.features import AllocationError, allocator_features
from moorage.match.devices.allocation.pools import gather_pools
from moorage.match.devices.allocation.published import AllocationNode, PublishedSlice
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node


def check_allocate(case: dict[str, Any]) -> str | None:
    given, want = case["in"], case["out"]
    got = _allocate(given)
    return None if got == want else f"{case['name']}: got {got}, want {want}"


def _allocate(given: dict[str, Any]) -> dict[str, Any]:
    gates = gates_named(given["gates"])
    features = allocator_features(gates)._replace(list_attributes=given["gates"] == "allAlpha")
    node = convert_view(given["node"], Node)
    here = AllocationNode(node.metadata.name, node.metadata.labels)
    classes = {raw["metadata"]["name"]: convert_view(raw, DeviceClass) for raw in given["deviceClasses"]}
    use = DeviceUse()
    for index, raw in enumerate(given["allocatedClaims"]):
        use.hold(str(index), convert_view(raw, ResourceClaim).status.allocation)
    claims = [convert_view(raw, ResourceClaim) for raw in given["claims"]]
    try:
        published = [PublishedSlice(convert_view(raw, ResourceSlice), gates) for raw in given["resourceSlices"]]
        wanted = [
            ClaimToAllocate(
                f"{claim.metadata.namespace}/{claim.metadata.name}", compile_claim(claim.spec, classes.get, gates)
            )
            for claim in claims
        ]
        pools = gather_pools(published, here, features)
        results = allocate(pools, wanted, use, here, features, new_share_id=lambda: "*")
    except AllocationError as error:
        return {"error": str(error), "nodeOnly": error.node_only}
    return {"allocated": False} if results is None else {"allocated": True, "results": results}
