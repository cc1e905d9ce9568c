"""The features of the allocator that have gates of their own.

Kubernetes: structured.Features and the DynamicResources plugin, which never hands over the list-type attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moorage.model import gates as known

if TYPE_CHECKING:
    from moorage.model.gates import GateSet


class AllocatorFeatures(NamedTuple):
    """What the allocator may use; `list_attributes` lets constraints look into lists."""

    admin_access: bool = True
    prioritized_list: bool = True
    partitionable_devices: bool = True
    device_taints: bool = True
    binding_conditions: bool = True
    consumable_capacity: bool = True
    list_attributes: bool = False


def allocator_features(gates: GateSet) -> AllocatorFeatures:
    return AllocatorFeatures(
        admin_access=gates.enabled(known.DRA_ADMIN_ACCESS),
        prioritized_list=gates.enabled(known.DRA_PRIORITIZED_LIST),
        partitionable_devices=gates.enabled(known.DRA_PARTITIONABLE_DEVICES),
        device_taints=gates.enabled(known.DRA_DEVICE_TAINTS),
        binding_conditions=gates.enabled(known.DRA_DEVICE_BINDING_CONDITIONS)
        and gates.enabled(known.DRA_RESOURCE_CLAIM_DEVICE_STATUS),
        consumable_capacity=gates.enabled(known.DRA_CONSUMABLE_CAPACITY),
    )
