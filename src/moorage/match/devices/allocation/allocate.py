"""Allocate the claims of a pod on one node, all or nothing.

Kubernetes: Allocator.Allocate in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from moorage.match.devices.allocation.problems import NodeAllocationError
from moorage.match.devices.allocation.result import build_result
from moorage.match.devices.allocation.search import MAX_STEPS, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import AllocationNode, DevicesInUse
    from moorage.match.devices.allocation.result import RawAllocation
    from moorage.match.devices.allocation.search import ClaimToAllocate, Hopeless


def allocate(
    pools: Sequence[DevicePool],
    claims: Sequence[ClaimToAllocate],
    in_use: DevicesInUse,
    node: AllocationNode,
    features: AllocatorFeatures,
    *,
    max_steps: int = MAX_STEPS,
    new_share_id: Callable[[], str] = lambda: str(uuid4()),
    hopeless: Hopeless | None = None,
) -> list[RawAllocation] | None:
    """Return an AllocationResult for each claim, or None if they do not fit; raises AllocationError.

    `pools` are those that the node sees, in order (`gather_pools`). `hopeless` is for the next search among them: where
    nothing was freed meanwhile, it begins after the devices that cannot be picked.
    """
    search = Search(pools, claims, in_use, node, features, max_steps, hopeless)
    if not search.run():
        if any(pool.invalid for pool in pools):
            raise NodeAllocationError("invalid resource pools were encountered")
        return None
    return [
        build_result(
            claim.compiled,
            search.chosen[index],
            search.picked[index],
            node.name,
            claim.name.rpartition("/")[2],
            new_share_id,
            features.binding_conditions,
        )
        for index, claim in enumerate(claims)
    ]
