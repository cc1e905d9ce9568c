"""Check the constraints between the devices of a claim, and whether claims could fit on a node at all.

Kubernetes: matchAttributeConstraint, distinctAttributeConstraint in dynamic-resource-allocation/structured. As there,
`distinctAttribute` remembers one value per request and forgets it when a device is given back, and with lists the
common values do not grow again: `keeps_state` tells that a constraint is not exactly as before after `remove`.

`could_fit` is a quick test before a long search: False only if no search can succeed, and none would end in an error.
Each request is matched with devices that are free, selected and tolerated; a `matchAttribute` constraint is asked value
by value. Counters, capacity and `distinctAttribute` are not looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from moorage.match.devices.allocation.features import AllocationError, SearchLimitError
from moorage.match.devices.description import find_attribute, scalar, value_set

if TYPE_CHECKING:
    from moorage.match.devices.allocation.published import PublishedDevice
    from moorage.match.devices.allocation.requests import CompiledRequest
    from moorage.match.devices.description import AttributeValue
    from moorage.model.types.devices import DeviceAttribute, DeviceConstraint, ResourceClaimSpec


class Constraint(Protocol):
    """What must hold for all devices of a claim. `add` tells whether it holds with one more; `remove` undoes it."""

    keeps_state: bool

    def find(self, device: PublishedDevice) -> DeviceAttribute | None:
        """Return the attribute of the device that the constraint looks at."""

    def allows(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        """Return False where `add` would, or True; nothing is added."""

    def wanted(self, request: CompiledRequest) -> tuple[str, AttributeValue] | None:
        """Return the attribute and the value that every further device must have, if that is certain."""

    def add(self, request: CompiledRequest, device: PublishedDevice) -> bool: ...

    def remove(self, request: CompiledRequest) -> None: ...


class _AttributeConstraint:
    """The part that both constraints have: which requests and which attribute."""

    def __init__(self, requests: tuple[str, ...], attribute: str, lists: bool) -> None:
        self.attribute = attribute
        self._requests = frozenset(requests)
        self._lists = lists
        self._count = 0

    def applies(self, request: CompiledRequest) -> bool:
        names = self._requests
        return not names or request.full_name in names or request.parent in names

    def find(self, device: PublishedDevice) -> DeviceAttribute | None:
        return find_attribute(device.device.attributes, device.id[0], self.attribute)

    def wanted(self, request: CompiledRequest) -> tuple[str, AttributeValue] | None:
        return None


class MatchAttribute(_AttributeConstraint):
    """All devices have the same value, or one value in common where values are lists."""

    keeps_state = False

    def __init__(self, requests: tuple[str, ...], attribute: str, lists: bool) -> None:
        super().__init__(requests, attribute, lists)
        self.keeps_state = lists
        self._first: DeviceAttribute | None = None
        self._common: tuple[str, frozenset[Any]] = ("", frozenset())

    def allows(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = self.find(device)
        if attribute is None or self._lists or not self._count:
            return attribute is not None  # of lists `add` finds out
        value = scalar(attribute)
        return value is not None and getattr(self._first, value[0]) == value[1]

    def wanted(self, request: CompiledRequest) -> tuple[str, AttributeValue] | None:
        if not self._count or self._lists or self._first is None or not self.applies(request):
            return None
        value = scalar(self._first)
        return None if value is None else (self.attribute, value)

    def add(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = self.find(device)
        if attribute is None or not (self._add_list(attribute) if self._lists else self._add_scalar(attribute)):
            return False
        self._count += 1
        return True

    def _add_scalar(self, attribute: DeviceAttribute) -> bool:
        if self._count == 0:
            self._first = attribute
            return True
        value = scalar(attribute)
        return value is not None and getattr(self._first, value[0]) == value[1]

    def _add_list(self, attribute: DeviceAttribute) -> bool:
        values = value_set(attribute)
        if values is None:
            return False
        if self._count:
            if values[0] != self._common[0] or not values[1] & self._common[1]:
                return False
            values = values[0], values[1] & self._common[1]
        self._common = values
        return True

    def remove(self, request: CompiledRequest) -> None:
        if self.applies(request):
            self._count -= 1


class DistinctAttribute(_AttributeConstraint):
    """The devices have different values, or none in common where values are lists."""

    keeps_state = True

    def __init__(self, requests: tuple[str, ...], attribute: str, lists: bool) -> None:
        super().__init__(requests, attribute, lists)
        self._seen: dict[str, DeviceAttribute] = {}

    def allows(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        return not self.applies(request) or self.find(device) is not None

    def add(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        if not self.applies(request):
            return True
        attribute = self.find(device)
        if attribute is None:
            return False
        if self._count and not (self._differs_list(attribute) if self._lists else self._differs(attribute)):
            return False
        self._seen[request.parent or request.name] = attribute
        self._count += 1
        return True

    def _differs(self, attribute: DeviceAttribute) -> bool:
        if not self._seen:
            return True
        value = scalar(attribute)
        return value is not None and all(getattr(seen, value[0]) != value[1] for seen in self._seen.values())

    def _differs_list(self, attribute: DeviceAttribute) -> bool:
        values = value_set(attribute)
        if values is None:
            return False
        others = (value_set(seen) for seen in self._seen.values())
        return not any(other is not None and other[0] == values[0] and other[1] & values[1] for other in others)

    def remove(self, request: CompiledRequest) -> None:
        if self.applies(request):
            self._seen.pop(request.parent or request.name, None)
            self._count -= 1


def build_constraints(spec: ResourceClaimSpec, claim: str, lists: bool) -> list[Constraint]:
    """Return the constraints of a claim with nothing added yet."""
    constraints: list[Constraint] = []
    for index, constraint in enumerate(spec.devices.constraints):
        constraints.append(_build(constraint, f"claim {claim}, constraint #{index}", lists))
    return constraints


def _build(constraint: DeviceConstraint, where: str, lists: bool) -> Constraint:
    if constraint.matchAttribute is not None:
        return MatchAttribute(constraint.requests, constraint.matchAttribute, lists)
    if constraint.distinctAttribute is not None:
        return DistinctAttribute(constraint.requests, constraint.distinctAttribute, lists)
    raise AllocationError(f"{where}: empty constraint (unsupported constraint type?)")


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
                candidates = {
                    device
                    for request in alternatives
                    for device in available
                    if selects(request, device, claim.name) and _is_tolerated(request, device, features)
                }
            except SearchLimitError:
                raise
            except AllocationError:
                return True
            shareable = frozenset(device for device in candidates if device.shareable and features.consumable_capacity)
            fewest = min(request.count for request in alternatives)
            needs.append(_Need(index, alternatives, fewest, frozenset(candidates) - shareable, shareable))
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
        if need.claim == claim
        and all(not names or names & {alternative.full_name, alternative.parent} for alternative in need.alternatives)
    ]
    others = [need for need in needs if need not in bound]
    groups: dict[object, set[PublishedDevice]] = {}
    for device in {device for need in bound for device in need.devices | need.shareable}:
        value = find_attribute(device.device.attributes, device.id[0], attribute)
        if value is not None:
            groups.setdefault(scalar(value) or device, set()).add(device)
    return not bound or any(
        _can_match(
            [
                *others,
                *(need._replace(devices=need.devices & group, shareable=need.shareable & group) for need in bound),
            ]
        )
        for group in groups.values()
    )
