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
    from collections.abc import Collection, Iterator

    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import PublishedDevice
    from moorage.model.types.devices import Device

CounterKey = tuple[str, str]  # counter set, counter
CounterAmounts = tuple[tuple[CounterKey, Quantity], ...]


class CounterBudget:
    """The counters of one pool during one allocation."""

    __slots__ = ("_left", "_overdrawn", "_pool", "_taken")

    def __init__(self, pool: DevicePool, in_use: Collection[str]) -> None:
        self._pool = pool
        self._taken = 0
        left = self._left = {
            (counter_set.name, name): counter.value
            for counter_set in pool.counter_sets.values()
            for name, counter in counter_set.counters.items()
        }
        if in_use:
            for devices in (pool.devices, pool.elsewhere):
                for device in devices:
                    if device.counters and device.id[2] in in_use:
                        for key, amount in device.counters:
                            if key in left:
                                left[key] = difference(left[key], amount)
        self._overdrawn = sum(amount.sign() < 0 for amount in left.values())

    def take(self, device: PublishedDevice) -> bool:
        """Take what a device consumes if no counter is overdrawn then; otherwise take nothing."""
        left = self._left
        new: dict[CounterKey, Quantity] = {}
        try:
            for key, amount in device.counters:
                if key in left:
                    new[key] = (new.get(key) or left[key]).sub(amount)
        except QuantityError:
            return False
        cured = sum(left[key].sign() < 0 for key in new) if self._overdrawn else 0
        if cured < self._overdrawn or any(amount.sign() < 0 for amount in new.values()):
            return False
        left.update(new)
        self._overdrawn = 0
        self._taken += 1
        return True

    @property
    def is_untouched(self) -> bool:
        """Return whether this allocation takes nothing of it at the moment."""
        return not self._taken

    @property
    def only_falls(self) -> bool:
        """Return whether no device of the pool leaves more of a counter than it finds: negative amounts are valid."""
        return self._pool.only_takes_counters

    def has_enough(self, device: PublishedDevice) -> bool:
        if not self.take(device):
            return False
        self.give_back(device)
        return True

    def why_not(self, device: PublishedDevice) -> str | None:
        """Return which counter is not enough for a device, or None."""
        left = self._left
        if self.has_enough(device):
            return None
        for (counter_set, name), amount in device.counters:
            have = left.get((counter_set, name))
            if have is not None and have < amount:
                return f"it consumes {amount} of counter {name} in counter set {counter_set}, of which {have} are left"
        return "a counter of its pool is overdrawn"

    def give_back(self, device: PublishedDevice) -> None:
        self._taken -= 1
        for key, amount in device.counters:
            left = self._left.get(key)
            if left is not None:
                before, after = left.sign() < 0, (new := left.add(amount)).sign() < 0
                self._left[key] = new
                self._overdrawn += after - before


def counters_of(device: Device) -> Iterator[tuple[CounterKey, Quantity]]:
    """Yield what a device consumes of the counters of its pool."""
    for consumption in device.consumesCounters:
        for name, counter in consumption.counters.items():
            yield (consumption.counterSet, name), counter.value
