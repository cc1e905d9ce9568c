"""Track which devices are in use: those that claims were allocated, and those promised to pods about to be bound.

Claims are counted by their UIDs, promises by the names of their claims until the watch shows them.
Kubernetes: dynamicresources/allocateddevices.go and the in-flight allocations of dra_manager.go.
"""

from collections.abc import Iterable, Mapping

import msgspec

from moorage.match.devices.allocation.published import DeviceId, PoolId
from moorage.model.quantity import Quantity
from moorage.model.types.devices import AllocationResult

#: How one device is in use: as a whole, or the amounts that its shares consume, by name.
UseKey = tuple[bool, tuple[tuple[str, Quantity], ...]]


class _Held(msgspec.Struct, frozen=True):
    """What one claim holds: whole devices, and shares with what they consume."""

    whole: tuple[DeviceId, ...]
    shares: tuple[tuple[DeviceId, str, Mapping[str, Quantity]], ...]


_NOTHING = _Held((), ())


class DeviceUse:
    """Devices in use by claims. `hold` returns the pools whose use changed."""

    def __init__(self) -> None:
        self.shares: set[tuple[DeviceId, str]] = set()  # every share that exists, by its ID
        self._held: dict[str, _Held] = {}  # by the claim's UID
        self._whole: dict[DeviceId, int] = {}
        self._consumed: dict[DeviceId, dict[str, Quantity]] = {}
        self._in_pool: dict[PoolId, set[str]] = {}
        self.freed = 0  # moves when a device, or a share of one, is free again

    def hold(self, claim: str, allocation: AllocationResult | None) -> set[PoolId]:
        """Count what a claim holds from now on, given its UID."""
        new = _held_by(allocation) if allocation is not None else _NOTHING
        old = self._held.get(claim, _NOTHING)
        if new == old:
            return set()
        self.freed += old is not _NOTHING
        self._count(old, -1)
        self._count(new, 1)
        if new is _NOTHING:
            del self._held[claim]
        else:
            self._held[claim] = new
        return {device[:2] for device in (*_devices(old), *_devices(new))}

    def hand_over(self, holder: str, claim: str) -> None:
        """Count what a holder has as the claim's, given its UID, if the claim holds nothing yet."""
        if claim not in self._held and holder in self._held:
            self._held[claim] = self._held.pop(holder)

    def is_taken(self, device: DeviceId) -> bool:
        """Return whether a claim has the device as a whole."""
        return device in self._whole

    def consumed(self, device: DeviceId) -> Mapping[str, Quantity]:
        """Return what all shares of the device consume together."""
        return self._consumed.get(device, {})

    def in_pool(self, pool: PoolId) -> Iterable[str]:
        """Return the names of the pool's devices that are in use in any way."""
        return self._in_pool.get(pool, ())

    def key(self, device: DeviceId) -> UseKey:
        """Return how the device is in use; equal keys mean that an allocation cannot tell them apart."""
        consumed = self._consumed.get(device)
        return device in self._whole, tuple(sorted(consumed.items())) if consumed else ()

    def _count(self, held: _Held, by: int) -> None:
        for device in held.whole:
            users = self._whole.get(device, 0) + by
            if users:
                self._whole[device] = users
            else:
                del self._whole[device]
        for device, share, amounts in held.shares:
            consumed = self._consumed.setdefault(device, {})
            for name, amount in amounts.items():
                before = consumed.get(name, Quantity.from_int(0))
                consumed[name] = before.add(amount) if by > 0 else before.sub(amount)
                if consumed[name].is_zero():
                    del consumed[name]
            if not consumed:
                del self._consumed[device]
            if by > 0:
                self.shares.add((device, share))
            else:
                self.shares.discard((device, share))
        for device in _devices(held):
            names = self._in_pool.setdefault(device[:2], set())
            if device in self._whole or device in self._consumed:
                names.add(device[2])
            else:
                names.discard(device[2])
                if not names:
                    del self._in_pool[device[:2]]


def _devices(held: _Held) -> list[DeviceId]:
    return [*held.whole, *(share[0] for share in held.shares)]


def _held_by(allocation: AllocationResult) -> _Held:
    """Return what an allocation takes from others: not what it has for administrative access only."""
    whole, shares = [], []
    for result in allocation.devices.results:
        if result.adminAccess:
            continue
        device = (result.driver, result.pool, result.device)
        if result.shareID is None:
            whole.append(device)
        else:
            shares.append((device, result.shareID, result.consumedCapacity))
    return _Held(tuple(whole), tuple(shares)) if whole or shares else _NOTHING
