"""Prepare published slices for allocation: every device with its taints and its description, made once.

In: a ResourceSlice and the DeviceTaintRules. Out: a `PublishedSlice`, which the caller keeps until either changes, and
which answers on which nodes it and its devices are. Kubernetes: NodeMatches in dynamic-resource-allocation/structured.
Differs: node selectors know the semver operators of KEP-5721, under their gate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from moorage.match.devices.allocation.capacity import counters_of
from moorage.match.devices.allocation.features import AllocationError
from moorage.match.devices.description import describe_device
from moorage.match.devices.tolerations import EXCLUDING_EFFECTS, device_taints
from moorage.match.node_selector import compile_node_selector
from moorage.match.requirement import aggregate
from moorage.model.types.view import AbsentList

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moorage.match.devices.allocation.capacity import CounterAmounts
    from moorage.match.devices.description import DeviceDescription
    from moorage.match.node_selector import NodeSelectorMatcher
    from moorage.model.gates import GateSet
    from moorage.model.quantity import Quantity
    from moorage.model.types.devices import Device, DeviceTaint, DeviceTaintRule, ResourceSlice
    from moorage.model.types.node import NodeSelector

DeviceId = tuple[str, str, str]  # driver, pool, device
PoolId = tuple[str, str]  # driver, pool


class AllocationNode(NamedTuple):
    """The node that devices are allocated on."""

    name: str
    labels: Mapping[str, str]


class DevicesInUse(Protocol):
    """What other claims have: whole devices, and shares of devices."""

    def is_taken(self, device: DeviceId) -> bool:
        """Return whether a claim has the device as a whole."""

    def consumed(self, device: DeviceId) -> Mapping[str, Quantity]:
        """Return what all shares of the device consume together."""

    def in_pool(self, pool: PoolId) -> Iterable[str]:
        """Return the names of the pool's devices that are in use in any way."""


class NodeChoice:
    """Where a slice or a device is: on one node, on all, or on those that a selector matches."""

    __slots__ = ("_matcher", "all_nodes", "node_name", "selector")

    def __init__(
        self, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None, gates: GateSet
    ) -> None:
        self.node_name = node_name
        self.all_nodes = bool(all_nodes)
        self.selector = selector
        chooses = selector is not None and not node_name and not all_nodes
        self._matcher: NodeSelectorMatcher | None = (
            compile_node_selector(selector, gates) if chooses and selector is not None else None
        )

    def is_given(self) -> bool:
        return bool(self.node_name) or self.all_nodes or self.selector is not None

    def matches(self, node: AllocationNode, what: str) -> bool:
        """Return whether the node is chosen; `what` is named in the error about a selector that does not parse."""
        if self.node_name:
            return self.node_name == node.name
        if self._matcher is None:
            return self.all_nodes
        if self._matcher.errors:
            message = f"failed to perform node selection for {what}: failed to parse node selector: "
            raise AllocationError(f"gather pool information: {message}{aggregate(self._matcher.errors)}")
        return self._matcher.match(node.labels, node.name)


class PublishedDevice:
    """One device of a slice. `excluding` are the taints that keep it from requests that do not tolerate them."""

    __slots__ = (
        "_description",
        "counters",
        "device",
        "excluding",
        "has_policies",
        "id",
        "nodes",
        "published",
        "shareable",
    )

    def __init__(
        self, published: PublishedSlice, device: Device, taints: tuple[DeviceTaint, ...], gates: GateSet
    ) -> None:
        self.published = published
        self.device = device
        self.id: DeviceId = (*published.pool, device.name)
        self.excluding = tuple(taint for taint in taints if taint.effect in EXCLUDING_EFFECTS)
        self.shareable = bool(device.allowMultipleAllocations)
        self.has_policies = any(capacity.requestPolicy is not None for capacity in device.capacity.values())
        self.counters: CounterAmounts = tuple(counters_of(device)) if device.consumesCounters else ()
        self.nodes: NodeChoice | None = None
        if published.selects_per_device:
            self.nodes = NodeChoice(device.nodeName, device.allNodes, device.nodeSelector, gates)
        self._description: DeviceDescription | None = None

    @property
    def description(self) -> DeviceDescription:
        """Return what selectors see, made when first asked for."""
        if self._description is None:
            self._description = describe_device(self.id[0], self.device)
        return self._description

    def is_on(self, node: AllocationNode) -> bool:
        if self.nodes is None:
            return True
        return self.nodes.matches(node, f"device {self.id[2]} in slice {self.published.name}")


class PublishedSlice:
    """One slice with its devices."""

    __slots__ = (
        "counter_sets",
        "devices",
        "generation",
        "has_binding_conditions",
        "name",
        "nodes",
        "per_device_is_set",
        "pool",
        "selects_per_device",
        "slice_count",
    )

    def __init__(self, published: ResourceSlice, gates: GateSet, rules: Iterable[DeviceTaintRule] = ()) -> None:
        spec = published.spec
        self.name = published.metadata.name
        self.pool: PoolId = (spec.driver, spec.pool.name)
        self.generation = spec.pool.generation
        self.slice_count = spec.pool.resourceSliceCount
        self.counter_sets = spec.sharedCounters
        self.per_device_is_set = spec.perDeviceNodeSelection is not None
        self.selects_per_device = bool(spec.perDeviceNodeSelection)
        self.nodes = NodeChoice(spec.nodeName, spec.allNodes, spec.nodeSelector, gates)
        rules = tuple(rules)
        self.devices = tuple(
            PublishedDevice(self, device, device_taints(*self.pool, device, rules) if rules else device.taints, gates)
            for device in spec.devices
        )
        self.has_binding_conditions = any(
            not isinstance(device.bindingConditions, AbsentList) for device in spec.devices
        )

    def is_on(self, node: AllocationNode) -> bool:
        """Return whether the slice has devices for the node; shared counters concern every node."""
        if self.counter_sets:
            return True
        if self.nodes.is_given():
            return self.nodes.matches(node, f"slice {self.name}")
        return self.selects_per_device and any(device.is_on(node) for device in self.devices)
