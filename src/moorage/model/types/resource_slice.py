"""ResourceSlices: the devices that a driver publishes, with attributes, capacity, counters and taints.

Kubernetes: k8s.io/api/resource/v1.
"""

from typing import Annotated

from msgspec import Meta

from moorage.model.quantity import ZERO, Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.node import NodeSelector
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int64, ResourceView

#: `bool` is the name of a field below.
_Boolean = bool


class DeviceAttribute(ResourceView, frozen=True, gc=False):
    int: Int64 | None = None
    bool: _Boolean | None = None
    string: str | None = None
    version: str | None = None
    ints: tuple[Int64, ...] = ABSENT_LIST
    bools: tuple[_Boolean, ...] = ABSENT_LIST
    strings: tuple[str, ...] = ABSENT_LIST
    versions: tuple[str, ...] = ABSENT_LIST


class CapacityRequestPolicyRange(ResourceView, frozen=True, gc=False):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(ResourceView, frozen=True, gc=False):
    default: Quantity | None = None
    validValues: tuple[Quantity, ...] = ABSENT_LIST
    validRange: CapacityRequestPolicyRange | None = None


class DeviceCapacity(ResourceView, frozen=True, gc=False):
    value: Quantity = ZERO
    requestPolicy: CapacityRequestPolicy | None = None


class Counter(ResourceView, frozen=True, gc=False):
    value: Quantity = ZERO


class CounterSet(ResourceView, frozen=True, gc=False):
    name: str = ""
    counters: dict[str, Counter] = ABSENT_MAP


class DeviceCounterConsumption(ResourceView, frozen=True, gc=False):
    counterSet: str = ""
    counters: dict[str, Counter] = ABSENT_MAP


class DeviceTaint(ResourceView, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: named.DeviceTaintEffect = ""
    timeAdded: named.Time | None = None


class NodeAllocatableResourceMapping(ResourceView, frozen=True, gc=False):
    capacityKey: named.QualifiedName | None = None
    allocationMultiplier: Quantity | None = None


_Attributes = Annotated[dict[str, DeviceAttribute], Meta(title="map[v1.QualifiedName]v1.DeviceAttribute")]
_Capacity = Annotated[dict[str, DeviceCapacity], Meta(title="map[v1.QualifiedName]v1.DeviceCapacity")]
_Mappings = Annotated[
    dict[str, NodeAllocatableResourceMapping], Meta(title="map[v1.ResourceName]v1.NodeAllocatableResourceMapping")
]


class Device(ResourceView, frozen=True, gc=False):
    name: str = ""
    attributes: _Attributes = ABSENT_MAP
    capacity: _Capacity = ABSENT_MAP
    consumesCounters: tuple[DeviceCounterConsumption, ...] = ABSENT_LIST
    nodeName: str | None = None
    nodeSelector: NodeSelector | None = None
    allNodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ABSENT_LIST
    bindsToNode: bool | None = None
    bindingConditions: tuple[str, ...] = ABSENT_LIST
    bindingFailureConditions: tuple[str, ...] = ABSENT_LIST
    allowMultipleAllocations: bool | None = None
    nodeAllocatableResourceMappings: _Mappings = ABSENT_MAP


class ResourcePool(ResourceView, frozen=True, gc=False):
    name: str = ""
    generation: Int64 = 0
    resourceSliceCount: Int64 = 0


class ResourceSliceSpec(ResourceView, frozen=True, gc=False):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    nodeName: str | None = None
    nodeSelector: NodeSelector | None = None
    allNodes: bool | None = None
    devices: tuple[Device, ...] = ABSENT_LIST
    perDeviceNodeSelection: bool | None = None
    sharedCounters: tuple[CounterSet, ...] = ABSENT_LIST


class ResourceSlice(ApiObject, frozen=True, gc=False):
    spec: ResourceSliceSpec = ResourceSliceSpec()
