"""Shared counters of a pool: what is left beside the devices in use, and what this allocation takes so far.

Kubernetes: checkAvailableCounters in dynamic-resource-allocation/structured. As there, a pool of which any counter is
overdrawn gives no device that consumes counters, whichever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.quantity import Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.model.types.devices import Device

CounterKey = tuple[str, str]  # counter set, counter


class CounterBudget:
    """The counters of one pool during one allocation."""

    __slots__ = ("_left", "_pool", "_taken")

    def __init__(self, pool: DevicePool, in_use: Collection[str]) -> None:
        self._pool = pool
        self._taken = 0
        self._left: dict[CounterKey, Quantity] = {
            (counter_set.name, name): counter.value
            for counter_set in pool.counter_sets.values()
            for name, counter in counter_set.counters.items()
        }
        if in_use:
            for devices in (pool.devices, pool.elsewhere):
                for one in devices:
                    if one.id[2] in in_use:
                        self._subtract(one.device)

    def _subtract(self, device: Device) -> None:
        for key, amount in _consumed(device):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = left.sub(amount)

    def take(self, device: Device) -> bool:
        """Take what a device consumes if no counter is overdrawn then; otherwise take nothing."""
        before = self._left
        self._left = before.copy()
        try:
            self._subtract(device)
        except QuantityError:
            self._left = before
            return False
        if any(left.sign() < 0 for left in self._left.values()):
            self._left = before
            return False
        self._taken += 1
        return True

    @property
    def is_untouched(self) -> bool:
        """Return whether this allocation takes nothing of it at the moment."""
        return not self._taken

    @property
    def only_falls(self) -> bool:
        """Return whether no device of the pool leaves more of a counter than it finds: negative amounts are valid."""
        devices = (one.device for part in (self._pool.devices, self._pool.elsewhere) for one in part)
        return all(amount.sign() >= 0 for device in devices for _, amount in _consumed(device))

    def has_enough(self, device: Device) -> bool:
        if not self.take(device):
            return False
        self.give_back(device)
        return True

    def why_not(self, device: Device) -> str | None:
        """Return which counter is not enough for a device, or None."""
        left = self._left
        if self.has_enough(device):
            return None
        for (counter_set, name), amount in _consumed(device):
            have = left.get((counter_set, name))
            if have is not None and have < amount:
                return f"it consumes {amount} of counter {name} in counter set {counter_set}, of which {have} are left"
        return "a counter of its pool is overdrawn"

    def give_back(self, device: Device) -> None:
        self._taken -= 1
        for key, amount in _consumed(device):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = left.add(amount)


def _consumed(device: Device) -> Iterator[tuple[CounterKey, Quantity]]:
    for consumption in device.consumesCounters:
        for name, counter in consumption.counters.items():
            yield (consumption.counterSet, name), counter.value
