"""Gather pools: the newest generation of the slices with devices for a node, complete and valid or not.

In: published slices and a node. Out: `DevicePool`s in the order in which devices are tried: by driver and name, those
with binding conditions last, in each the slices by name. Kubernetes: GatherPools in
dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.published import AllocationNode, PoolId, PublishedDevice, PublishedSlice
    from moorage.model.types.devices import CounterSet


class DevicePool:
    """A pool as one node sees it.

    `devices` are those for the node, in order; `elsewhere` those of the pool's other slices, which matter for the
    counters only. Of a pool that is incomplete or invalid nothing is allocated, and `devices` is empty.
    """

    __slots__ = (
        "__weakref__",
        "_only_takes_counters",
        "counter_sets",
        "devices",
        "elsewhere",
        "has_binding_conditions",
        "id",
        "incomplete",
        "invalid",
    )

    def __init__(self, identity: PoolId, *, incomplete: bool = False, invalid: str = "") -> None:
        self.id = identity
        self.incomplete = incomplete
        self.invalid = invalid
        self.devices: tuple[PublishedDevice, ...] = ()
        self.elsewhere: tuple[PublishedDevice, ...] = ()
        self.counter_sets: dict[str, CounterSet] = {}
        self.has_binding_conditions = False
        self._only_takes_counters: bool | None = None

    @property
    def only_takes_counters(self) -> bool:
        """Return whether no device of the pool leaves more of a counter than it finds: negative amounts are valid."""
        if self._only_takes_counters is None:
            amounts = (amount for part in (self.devices, self.elsewhere) for one in part for _, amount in one.counters)
            self._only_takes_counters = all(amount.sign() >= 0 for amount in amounts)
        return self._only_takes_counters

    def __str__(self) -> str:
        return "/".join(self.id)


def gather_pools(
    published: Iterable[PublishedSlice], node: AllocationNode, features: AllocatorFeatures
) -> list[DevicePool]:
    """Return the pools of all these slices that a node sees, in order of preference."""
    by_pool: dict[PoolId, list[PublishedSlice]] = {}
    for slice_ in published:
        by_pool.setdefault(slice_.pool, []).append(slice_)
    pools = (gather_pool(slices, node, features) for slices in by_pool.values())
    return in_order(pool for pool in pools if pool is not None)


def in_order(pools: Iterable[DevicePool]) -> list[DevicePool]:
    """Sort pools by preference: those with binding conditions last, otherwise by driver and name."""
    return sorted(pools, key=preference)


def preference(pool: DevicePool) -> tuple[bool, PoolId]:
    """Return the sort key of a pool: the allocator takes devices of pools with smaller ones first."""
    return pool.has_binding_conditions, pool.id


def gather_pool(
    slices: Sequence[PublishedSlice], node: AllocationNode, features: AllocatorFeatures
) -> DevicePool | None:
    """Return one pool as the node sees it, given all slices of it; None if it has nothing for the node."""
    identity = slices[0].pool
    relevant = _relevant(slices, node, features)
    if not relevant:
        return None
    slice_count = relevant[0].slice_count
    if len(relevant) == slice_count:
        return _built(identity, relevant, (), features)
    # Slices that are for other nodes only count too, and may tell that the generation seen here is out of date.
    generation = relevant[0].generation
    if any(slice_.generation > generation for slice_ in slices):
        return None
    everything = [slice_ for slice_ in slices if slice_.generation == generation]
    if len(everything) != slice_count:
        return DevicePool(identity, incomplete=True)
    here = {own_slice.name for own_slice in relevant}
    return _built(identity, relevant, [own_slice for own_slice in everything if own_slice.name not in here], features)


def _relevant(
    slices: Sequence[PublishedSlice], node: AllocationNode, features: AllocatorFeatures
) -> list[PublishedSlice]:
    """Return the slices of the newest generation that have something for the node, the node's own first."""
    own = [slice_ for slice_ in slices if slice_.nodes.node_name == node.name and not slice_.counter_sets]
    shared = [slice_ for slice_ in slices if not slice_.nodes.node_name or slice_.counter_sets]
    relevant: list[PublishedSlice] = []
    for candidate in own + shared:
        if not features.partitionable_devices and (candidate.per_device_is_set or candidate.counter_sets):
            continue
        if not candidate.is_on(node):
            continue
        if relevant and candidate.generation < relevant[0].generation:
            continue
        if relevant and candidate.generation > relevant[0].generation:
            relevant.clear()
        relevant.append(candidate)
    return relevant


def _built(
    identity: PoolId,
    relevant: list[PublishedSlice],
    others: Sequence[PublishedSlice],
    features: AllocatorFeatures,
) -> DevicePool:
    relevant = sorted(relevant, key=lambda slice_of_pool: slice_of_pool.name)
    partitionable = features.partitionable_devices
    slices = [slice_of_pool for slice_of_pool in relevant if not (partitionable and slice_of_pool.counter_sets)]
    devices = tuple(device for slice_ in slices for device in slice_.devices)
    elsewhere = tuple(device for slice_of_pool in others for device in slice_of_pool.devices) if partitionable else ()
    counter_sets: dict[str, CounterSet] = {}
    invalid = _duplicate_name(devices)
    if partitionable and not invalid:
        for counter_set in (counters for slice_of_pool in relevant for counters in slice_of_pool.counter_sets):
            if counter_set.name in counter_sets:
                invalid = f"duplicate counter set name {counter_set.name}"
                break
            counter_sets[counter_set.name] = counter_set
        consumers = [device for slice_of_pool in relevant for device in slice_of_pool.devices]
        invalid = invalid or _unknown_counter(consumers, counter_sets) or _unknown_counter(elsewhere, counter_sets)
    if invalid:
        return DevicePool(identity, invalid=invalid)
    pool = DevicePool(identity)
    pool.devices, pool.elsewhere, pool.counter_sets = devices, elsewhere, counter_sets
    pool.has_binding_conditions = any(slice_.has_binding_conditions for slice_ in slices)
    return pool


def _duplicate_name(devices: Iterable[PublishedDevice]) -> str:
    names: set[str] = set()
    for device in devices:
        if device.id[2] in names:
            return f"duplicate device name {device.id[2]}"
        names.add(device.id[2])
    return ""


def _unknown_counter(devices: Iterable[PublishedDevice], counter_sets: dict[str, CounterSet]) -> str:
    for consumer in devices:
        for consumption in consumer.device.consumesCounters:
            counter_set = counter_sets.get(consumption.counterSet)
            if counter_set is None:
                return f"counter set {consumption.counterSet} not found"
            for name in consumption.counters:
                if name not in counter_set.counters:
                    return f"counter {name} not found in counter set {counter_set.name}"
    return ""
