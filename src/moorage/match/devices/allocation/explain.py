"""Explain why a request cannot have a device: which selector, which taint, which inequality.

In: a compiled request and a device of a pool. Out: the part of a sentence about the device, or None exactly when a
search with nothing picked yet would pick it, constraints aside. Kubernetes: none; its allocator logs at most.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from moorage.match.devices.allocation.capacity import CounterBudget, why_unfit
from moorage.model.gates import DRA_DEVICE_BINDING_CONDITIONS, DRA_PARTITIONABLE_DEVICES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import AllocationNode, DevicesInUse, PublishedDevice
    from moorage.match.devices.allocation.requests import CompiledRequest

IN_USE = "it is in use by another claim"
ELSEWHERE = "it is not for this node"
FAILED = " failed: "
_MAX_REASONS = 3


def why_not_device(
    request: CompiledRequest,
    device: PublishedDevice,
    pool: DevicePool,
    in_use: DevicesInUse,
    node: AllocationNode,
    features: AllocatorFeatures,
) -> str | None:
    """Return why the request cannot have the device, or None."""
    is_taken = not request.admin_access and in_use.is_taken(device.id)
    if device.device.bindingConditions and not features.binding_conditions:
        return f"it has binding conditions, which need the feature gate {DRA_DEVICE_BINDING_CONDITIONS.name}"
    if (why := request.why_unselected(device.description)) is not None:
        return IN_USE if is_taken and FAILED in why else why
    if not device.is_on(node):
        return ELSEWHERE
    if is_taken:
        return IN_USE
    consumed = in_use.consumed(device.id)
    if features.consumable_capacity:
        why = why_unfit(request.capacity, device.device.capacity, consumed)
        if why is not None:
            return why
    if device.device.consumesCounters:
        if not features.partitionable_devices:
            return f"it consumes counters, which need the feature gate {DRA_PARTITIONABLE_DEVICES.name}"
        is_shared = device.shareable and features.consumable_capacity and consumed
        budget = CounterBudget(pool, frozenset(in_use.in_pool(pool.id)))
        if not is_shared and (why := budget.why_not(device)) is not None:
            return why
    if features.device_taints:
        for taint in device.excluding:
            if (why := request.tolerations.explain(taint)) is not None:
                return why
    return None


def explain_request(
    request: CompiledRequest,
    pools: Iterable[DevicePool],
    in_use: DevicesInUse,
    node: AllocationNode,
    features: AllocatorFeatures,
) -> Counter[str]:
    """Count the devices of a node's pools that cannot be had, by reason."""
    answers = (
        why_not_device(request, device, pool, in_use, node, features) for pool in pools for device in pool.devices
    )
    return Counter(why for why in answers if why is not None)


def tell_reasons(reasons: Counter[str], number: int, noun: str = "", most: int = _MAX_REASONS) -> list[str]:
    """Return the reasons that keep devices out, with counts: those of devices closest to the request first."""
    ordered = sorted(reasons.items(), key=lambda counted: (_distance(counted[0]), -counted[1]))
    sentences = [f"{count} of {number}{noun}: {why}" for why, count in ordered[:most]]
    if (more := len(ordered) - most) > 0:
        sentences.append(f"{more} more reason{'s' * (more > 1)}")
    return sentences


def _distance(why: str) -> int:
    """Return how far a device is from what is asked for: of another class, not selected, taken, or else close."""
    if why == ELSEWHERE:
        return 4
    if why == IN_USE:
        return 1
    if FAILED in why or not why.startswith("selector #"):
        return 0
    return 2 if " of the request " in why else 3
