"""Allocate the claims of a pod on one node, all or nothing.

Kubernetes: Allocator.Allocate in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from moorage.match.devices.allocation.features import NodeAllocationError
from moorage.match.devices.allocation.result import build_result, node_selector
from moorage.match.devices.allocation.search import MAX_STEPS, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.offer import Offer, Place
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

    def places(self, offer: Offer) -> list[list[Place]]:
        """Return where the devices are among what the node offers."""
        return [[offer.place(picked.device) for picked in of_claim] for of_claim in self.picked]

    def moved(self, places: Sequence[Sequence[Place]], offer: Offer) -> FoundDevices:
        """Return the devices at the same places of another node that offers the same in the same use."""
        picked = [
            [
                device if place is None else device.moved(offer.own[place[0]].devices[place[1]])
                for device, place in zip(of_claim, there, strict=True)
            ]
            for of_claim, there in zip(self.picked, places, strict=True)
        ]
        return FoundDevices(self.chosen, picked)

    def check(self, claims: Sequence[ClaimToAllocate], node: str) -> None:
        """Raise the AllocationError that `results` would."""
        for claim, picked in zip(claims, self.picked, strict=True):
            node_selector(picked, node, claim.name.rpartition("/")[2])

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
    pools: Offer | Sequence[DevicePool],
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
    if search.offer.has_invalid:
        raise NodeAllocationError("invalid resource pools were encountered")
    return None


def allocate(
    pools: Offer | Sequence[DevicePool],
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
