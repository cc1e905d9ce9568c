"""Consumable capacity: what a share of a device takes of it, by its policies, and whether that still fits.

Kubernetes: consumable_capacity.go in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.quantity import Format, Quantity, QuantityError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from moorage.model.types.devices import CapacityRequestPolicy, CapacityRequestPolicyRange, DeviceCapacity

Amounts = dict[str, Quantity]


def consumed_amounts(requested: Mapping[str, Quantity], capacity: Mapping[str, DeviceCapacity]) -> Amounts:
    """Return what a request takes of every capacity: what it asks for, rounded up, else the default, else all."""
    return {name: _consumed(requested.get(name), one) for name, one in capacity.items()}


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
    for name, one in capacity.items():
        wanted = amount = _consumed(requested.get(name), one)
        if one.requestPolicy is not None and _violates(amount, one.requestPolicy):
            return "its policy for capacity {} does not allow {}", name, requested.get(name, wanted)
        try:
            for others in taken:
                if name in others:
                    amount = amount.add(others[name])
        except QuantityError as error:
            return "{}", error
        if amount > one.value:
            return "{} of capacity {} would make {}, and it has {}", wanted, name, amount, one.value
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
    """Return the least that is valid, or so many steps more that it is enough."""
    if requested < least:
        return least
    if valid.step is None or valid.step.value() == 0:
        return requested
    start, step = least.value(), valid.step.value()
    steps = -((start - requested.value()) // step)
    return Quantity.from_int(start + step * steps, Format.BINARY_SI)


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
        return (amount.value() - valid.min.value()) % valid.step.value() != 0
    return bool(policy.validValues) and all(amount != one for one in policy.validValues)
