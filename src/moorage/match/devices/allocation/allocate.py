"""Allocate the claims of a pod on one node, all or nothing.

Kubernetes: Allocator.Allocate in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from moorage.match.devices.allocation.features import NodeAllocationError
from moorage.match.devices.allocation.result import build_result
from moorage.match.devices.allocation.search import MAX_STEPS, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import AllocationNode, DevicesInUse
    from moorage.match.devices.allocation.result import PickedDevice, RawAllocation
    from moorage.match.devices.allocation.search import ClaimToAllocate, Hopeless


def new_uuid() -> str:
    return str(uuid4())


class FoundDevices(NamedTuple):
    """What a search has found: of each claim the chosen alternatives and the picked devices."""

    chosen: Sequence[Sequence[int]]
    picked: Sequence[Sequence[PickedDevice]]

    def places(self, pools: Sequence[DevicePool]) -> list[list[tuple[int, int]]]:
        """Return where the devices are: in which of the pools, and where in it."""
        number = {pool.id: index for index, pool in enumerate(pools)}
        pool_of = [[number[device.device.published.pool] for device in of_claim] for of_claim in self.picked]
        return [
            [
                (index, pools[index].devices.index(device.device))
                for index, device in zip(numbers, of_claim, strict=True)
            ]
            for numbers, of_claim in zip(pool_of, self.picked, strict=True)
        ]

    def moved(self, places: Sequence[Sequence[tuple[int, int]]], pools: Sequence[DevicePool]) -> FoundDevices:
        """Return the devices at the same places of pools of another node that offers the same in the same use."""
        picked = [
            [device.moved(pools[pool].devices[index]) for device, (pool, index) in zip(of_claim, there, strict=True)]
            for of_claim, there in zip(self.picked, places, strict=True)
        ]
        return FoundDevices(self.chosen, picked)

    def results(
        self,
        claims: Sequence[ClaimToAllocate],
        node: str,
        features: AllocatorFeatures,
        new_share_id: Callable[[], str] = new_uuid,
    ) -> list[RawAllocation]:
        """Return an AllocationResult for each claim; raises AllocationError."""
        return [
            build_result(
                claim.compiled,
                chosen,
                picked,
                node,
                claim.name.rpartition("/")[2],
                new_share_id,
                features.binding_conditions,
            )
            for claim, chosen, picked in zip(claims, self.chosen, self.picked, strict=True)
        ]


def find_devices(
    pools: Sequence[DevicePool],
    claims: Sequence[ClaimToAllocate],
    in_use: DevicesInUse,
    node: AllocationNode,
    features: AllocatorFeatures,
    max_steps: int = MAX_STEPS,
    hopeless: Hopeless | None = None,
    pause: Callable[[], None] | None = None,
) -> FoundDevices | None:
    """Return devices for all claims, or None if they do not fit; raises AllocationError. `pause` as in `Search`.

    `pools` are those that the node sees, in order (`gather_pools`). `hopeless` is for the next search among them: where
    nothing was freed meanwhile, it begins after the devices that cannot be picked.
    """
    search = Search(pools, claims, in_use, node, features, max_steps, hopeless, pause)
    if search.run():
        return FoundDevices(search.chosen, search.picked)
    if any(pool.invalid for pool in pools):
        raise NodeAllocationError("invalid resource pools were encountered")
    return None


def allocate(
    pools: Sequence[DevicePool],
    claims: Sequence[ClaimToAllocate],
    in_use: DevicesInUse,
    node: AllocationNode,
    features: AllocatorFeatures,
    *,
    max_steps: int = MAX_STEPS,
    new_share_id: Callable[[], str] = new_uuid,
) -> list[RawAllocation] | None:
    """Return an AllocationResult for each claim, or None if they do not fit; raises AllocationError."""
    devices = find_devices(pools, claims, in_use, node, features, max_steps)
    return None if devices is None else devices.results(claims, node.name, features, new_share_id)
