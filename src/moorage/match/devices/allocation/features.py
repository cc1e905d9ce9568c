"""Define the allocator's optional features, and the errors that end an allocation, in the allocator's own words.

Kubernetes: structured.Features and the DynamicResources plugin, which never hands over the list-type attributes.
Differs: a search has a bound on steps where Kubernetes has a time-out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from moorage.model import gates as known


class AllocationError(Exception):
    """Allocation failed; `node_only` tells that other nodes may be tried, otherwise the whole attempt fails."""

    node_only = False


class NodeAllocationError(AllocationError):
    """Allocation failed on this node only."""

    node_only = True


class SearchLimitError(NodeAllocationError):
    """The search was given up: it would have taken too many steps."""


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
