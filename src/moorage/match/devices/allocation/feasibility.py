"""A quick test whether claims could fit on a node at all: is there a device for each, if constraints are set aside?

In: what `allocate` gets. Out: False only if no search can succeed, and none would end in an error. Each request is
matched with devices that are free, selected and tolerated; a `matchAttribute` constraint is asked value by value.
Counters, capacity and `distinctAttribute` are not looked at. Kubernetes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moorage.match.devices.allocation.problems import AllocationError, SearchLimitError
from moorage.match.devices.attributes import find_attribute, scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import DevicesInUse, PublishedDevice
    from moorage.match.devices.allocation.requests import CompiledRequest
    from moorage.match.devices.allocation.search import ClaimToAllocate
    from moorage.model.types.devices import DeviceConstraint

    Selects = Callable[[CompiledRequest, PublishedDevice, str], bool]


class _Need(NamedTuple):
    """So many devices for one request: of devices that only one request can have, and of shareable ones."""

    claim: int
    alternatives: tuple[CompiledRequest, ...]
    wanted: int
    devices: frozenset[PublishedDevice]
    shareable: frozenset[PublishedDevice]


def could_fit(
    pools: Sequence[DevicePool],
    claims: Sequence[ClaimToAllocate],
    in_use: DevicesInUse,
    selects: Selects,
    features: AllocatorFeatures,
) -> bool:
    """Return False if the claims cannot be allocated on the node; True if they might, or if only a search can tell.

    `selects` tells whether a request's selectors and the node allow a device; it may raise AllocationError.
    """
    available = [device for pool in pools for device in pool.devices if not in_use.is_taken(device.id)]
    needs: list[_Need] = []
    for index, claim in enumerate(claims):
        for alternatives in claim.compiled.requests:
            if any(request.all_devices or request.admin_access for request in alternatives):
                if claim.compiled.spec.devices.constraints:
                    return True
                continue
            try:
                found = {
                    device
                    for request in alternatives
                    for device in available
                    if selects(request, device, claim.name) and _is_tolerated(request, device, features)
                }
            except SearchLimitError:
                raise
            except AllocationError:
                return True
            shareable = frozenset(device for device in found if device.shareable and features.consumable_capacity)
            wanted = min(request.count for request in alternatives)
            needs.append(_Need(index, alternatives, wanted, frozenset(found) - shareable, shareable))
    if not _can_match(needs):
        return False
    return features.list_attributes or all(
        _can_match_alike(needs, index, constraint)
        for index, claim in enumerate(claims)
        for constraint in claim.compiled.spec.devices.constraints
    )


def _is_tolerated(request: CompiledRequest, device: PublishedDevice, features: AllocatorFeatures) -> bool:
    return not features.device_taints or all(map(request.tolerations.tolerates, device.excluding))


def _can_match(needs: Iterable[_Need]) -> bool:
    """Return whether every need gets its devices, no device twice unless it is shareable."""
    slots = [need for need in needs for _ in range(need.wanted - len(need.shareable))]
    owner: dict[PublishedDevice, int] = {}
    return all(_place(slot, slots, owner, set()) for slot in range(len(slots)))


def _place(slot: int, slots: list[_Need], owner: dict[PublishedDevice, int], tried: set[PublishedDevice]) -> bool:
    """Find a device for a slot, moving others to other devices if that helps."""
    for device in slots[slot].devices:
        if device in tried:
            continue
        tried.add(device)
        holder = owner.get(device)
        if holder is None or _place(holder, slots, owner, tried):
            owner[device] = slot
            return True
    return False


def _can_match_alike(needs: list[_Need], claim: int, constraint: DeviceConstraint) -> bool:
    """Return whether the needs can be met with one value of the attribute for all that the constraint is for."""
    attribute = constraint.matchAttribute
    if attribute is None:
        return True
    names = frozenset(constraint.requests)
    bound = [
        need
        for need in needs
        if need.claim == claim and all(not names or names & {one.full_name, one.parent} for one in need.alternatives)
    ]
    others = [need for need in needs if need not in bound]
    groups: dict[object, set[PublishedDevice]] = {}
    for device in {device for need in bound for device in need.devices | need.shareable}:
        found = find_attribute(device.device.attributes, device.id[0], attribute)
        if found is not None:
            groups.setdefault(scalar(found) or device, set()).add(device)
    return not bound or any(
        _can_match(
            [
                *others,
                *(need._replace(devices=need.devices & group, shareable=need.shareable & group) for need in bound),
            ]
        )
        for group in groups.values()
    )
