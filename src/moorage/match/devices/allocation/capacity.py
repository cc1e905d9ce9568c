"""Compute what a share of a device takes of its capacity, and a device of its pool's counters, and whether that fits.

Kubernetes: consumable_capacity.go and checkAvailableCounters in dynamic-resource-allocation/structured. As there, a
pool of which any counter is overdrawn gives no device that consumes counters, whichever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.go.integers import divide64, wrap64
from moorage.model.quantity import Format, Quantity, QuantityError, difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.model.types.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity

Amounts = dict[str, Quantity]


def consumed_amounts(requested: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity]) -> Amounts:
    """Return what a request takes of every capacity: what it asks for, rounded up, else the default, else all."""
    return {name: _consumed(requested.get(name), device_capacity) for name, device_capacity in capacity.items()}


def fits_capacity(
    requested: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity], *taken: Mapping[str, Quantity]
) -> bool:
    """Return whether a request obeys the policies and fits beside what is taken already."""
    return _problem(requested, capacity, *taken) is None


def why_unfit(
    requested: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity], *taken: Mapping[str, Quantity]
) -> str | None:
    """Return why a request cannot have a device, or another share of it; None if it can."""
    problem = _problem(requested, capacity, *taken)
    return problem and problem[0].format(*problem[1:])


def _problem(
    requested: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity], *taken: Mapping[str, Quantity]
) -> tuple[str, *tuple[object, ...]] | None:
    """Return why a request does not fit, as a text and what is to be put into it; None if it does."""
    for name in requested:
        if name not in capacity:
            return "it has no capacity {}", name
    for name, device_capacity in capacity.items():
        consumed = amount = _consumed(requested.get(name), device_capacity)
        if device_capacity.requestPolicy is not None and _violates(amount, device_capacity.requestPolicy):
            return "its policy for capacity {} does not allow {}", name, requested.get(name, consumed)
        try:
            for others in taken:
                if name in others:
                    amount = amount.add(others[name])
        except QuantityError as error:
            return "{}", error
        if amount > device_capacity.value:
            return "{} of capacity {} would make {}, and it has {}", consumed, name, amount, device_capacity.value
    return None


def _consumed(requested: Quantity | None, capacity: DeviceCapacity) -> Quantity:
    policy = capacity.requestPolicy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.validRange is not None and policy.validRange.min is not None:
        return _rounded_up(requested, policy.validRange.min, policy.validRange)
    return next((valid for valid in policy.validValues if requested <= valid), requested)


def _rounded_up(requested: Quantity, least: Quantity, valid: CapacityRequestPolicyRange) -> Quantity:
    """Round the request up to the minimum plus a whole number of steps."""
    if requested < least:
        return least
    if valid.step is None or valid.step.value() == 0:
        return requested
    start, step = least.value(), valid.step.value()
    added = wrap64(requested.value() - start)
    steps = divide64(added, step)
    if wrap64(added - step * steps):
        steps += 1
    return Quantity.from_int(wrap64(start + step * steps), Format.BINARY_SI)


def _violates(amount: Quantity, policy: CapacityRequestPolicy) -> bool:
    default = policy.default
    if default is not None and amount == default and amount.format is default.format:
        return False
    valid = policy.validRange
    if valid is not None:
        if valid.max is not None and amount > valid.max:
            return True
        if valid.step is None or valid.min is None or valid.step.value() == 0:
            return False
        return wrap64(amount.value() - valid.min.value()) % valid.step.value() != 0
    return bool(policy.validValues) and all(amount != value for value in policy.validValues)


if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

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
                for device in devices:
                    if device.id[2] in in_use:
                        self._subtract(device.device, difference)

    def _subtract(self, device: Device, minus: Callable[[Quantity, Quantity], Quantity] = Quantity.sub) -> None:
        for key, amount in _counters_of(device):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = minus(left, amount)

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
        devices = (published.device for part in (self._pool.devices, self._pool.elsewhere) for published in part)
        return all(amount.sign() >= 0 for device in devices for _, amount in _counters_of(device))

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
        for (counter_set, name), amount in _counters_of(device):
            have = left.get((counter_set, name))
            if have is not None and have < amount:
                return f"it consumes {amount} of counter {name} in counter set {counter_set}, of which {have} are left"
        return "a counter of its pool is overdrawn"

    def give_back(self, device: Device) -> None:
        self._taken -= 1
        for key, amount in _counters_of(device):
            left = self._left.get(key)
            if left is not None:
                self._left[key] = left.add(amount)


def _counters_of(device: Device) -> Iterator[tuple[CounterKey, Quantity]]:
    for consumption in device.consumesCounters:
        for name, counter in consumption.counters.items():
            yield (consumption.counterSet, name), counter.value
