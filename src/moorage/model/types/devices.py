"""Views of ResourceClaims, their templates, ResourceSlices, DeviceClasses and DeviceTaintRules.

Kubernetes: k8s.io/api/resource/v1, and v1beta2 for DeviceTaintRule. Differs: `DeviceToleration.expression`, as
KEP-5500 adds to pods' tolerations.
"""

from typing import Annotated, Any

from msgspec import Meta

from moorage.model.quantity import ZERO, Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, Condition, ObjectMeta
from moorage.model.types.node import NodeSelector
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int64, ResourceV1beta2View, ResourceView

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


class CELDeviceSelector(ResourceView, frozen=True, gc=False):
    expression: str = ""


class DeviceSelector(ResourceView, frozen=True, gc=False):
    cel: CELDeviceSelector | None = None


class DeviceToleration(ResourceView, frozen=True, gc=False):
    key: str = ""
    operator: named.DeviceTolerationOperator = ""
    value: str = ""
    effect: named.DeviceTaintEffect = ""
    tolerationSeconds: Int64 | None = None
    expression: str = ""


class CapacityRequirements(ResourceView, frozen=True, gc=False):
    requests: named.QualifiedQuantities = ABSENT_MAP


class ExactDeviceRequest(ResourceView, frozen=True, gc=False):
    deviceClassName: str = ""
    selectors: tuple[DeviceSelector, ...] = ABSENT_LIST
    allocationMode: named.DeviceAllocationMode = ""
    count: Int64 = 0
    adminAccess: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ABSENT_LIST
    capacity: CapacityRequirements | None = None


class DeviceSubRequest(ResourceView, frozen=True, gc=False):
    name: str = ""
    deviceClassName: str = ""
    selectors: tuple[DeviceSelector, ...] = ABSENT_LIST
    allocationMode: named.DeviceAllocationMode = ""
    count: Int64 = 0
    tolerations: tuple[DeviceToleration, ...] = ABSENT_LIST
    capacity: CapacityRequirements | None = None


class DeviceRequest(ResourceView, frozen=True, gc=False):
    name: str = ""
    exactly: ExactDeviceRequest | None = None
    firstAvailable: tuple[DeviceSubRequest, ...] = ABSENT_LIST


class DeviceConstraint(ResourceView, frozen=True, gc=False):
    requests: tuple[str, ...] = ABSENT_LIST
    matchAttribute: named.FullyQualifiedName | None = None
    distinctAttribute: named.FullyQualifiedName | None = None


class OpaqueDeviceConfiguration(ResourceView, frozen=True, gc=False):
    driver: str = ""
    parameters: Any = None


class DeviceConfiguration(ResourceView, frozen=True, gc=False):
    opaque: OpaqueDeviceConfiguration | None = None


class DeviceClaimConfiguration(DeviceConfiguration, frozen=True, gc=False):
    requests: tuple[str, ...] = ABSENT_LIST


class DeviceClaim(ResourceView, frozen=True, gc=False):
    requests: tuple[DeviceRequest, ...] = ABSENT_LIST
    constraints: tuple[DeviceConstraint, ...] = ABSENT_LIST
    config: tuple[DeviceClaimConfiguration, ...] = ABSENT_LIST


class ResourceClaimSpec(ResourceView, frozen=True, gc=False):
    devices: DeviceClaim = DeviceClaim()


class DeviceRequestAllocationResult(ResourceView, frozen=True, gc=False):
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    adminAccess: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ABSENT_LIST
    bindingConditions: tuple[str, ...] = ABSENT_LIST
    bindingFailureConditions: tuple[str, ...] = ABSENT_LIST
    shareID: named.UID | None = None
    consumedCapacity: named.QualifiedQuantities = ABSENT_MAP


class DeviceAllocationConfiguration(DeviceConfiguration, frozen=True, gc=False):
    source: named.AllocationConfigSource = ""
    requests: tuple[str, ...] = ABSENT_LIST


class DeviceAllocationResult(ResourceView, frozen=True, gc=False):
    results: tuple[DeviceRequestAllocationResult, ...] = ABSENT_LIST
    config: tuple[DeviceAllocationConfiguration, ...] = ABSENT_LIST


class AllocationResult(ResourceView, frozen=True, gc=False):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    nodeSelector: NodeSelector | None = None
    allocationTimestamp: named.Time | None = None


class ResourceClaimConsumerReference(ResourceView, frozen=True, gc=False):
    apiGroup: str = ""
    resource: str = ""
    name: str = ""
    uid: named.UID = ""


class NetworkDeviceData(ResourceView, frozen=True, gc=False):
    interfaceName: str = ""
    ips: tuple[str, ...] = ABSENT_LIST
    hardwareAddress: str = ""


class AllocatedDeviceStatus(ResourceView, frozen=True, gc=False):
    driver: str = ""
    pool: str = ""
    device: str = ""
    shareID: str | None = None
    conditions: tuple[Condition, ...] = ABSENT_LIST
    data: Any = None
    networkData: NetworkDeviceData | None = None


class ResourceClaimStatus(ResourceView, frozen=True, gc=False):
    allocation: AllocationResult | None = None
    reservedFor: tuple[ResourceClaimConsumerReference, ...] = ABSENT_LIST
    devices: tuple[AllocatedDeviceStatus, ...] = ABSENT_LIST


class ResourceClaim(ApiObject, frozen=True, gc=False):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(ResourceView, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(ApiObject, frozen=True, gc=False):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceClassConfiguration(DeviceConfiguration, frozen=True, gc=False):
    pass


class DeviceClassSpec(ResourceView, frozen=True, gc=False):
    selectors: tuple[DeviceSelector, ...] = ABSENT_LIST
    config: tuple[DeviceClassConfiguration, ...] = ABSENT_LIST
    extendedResourceName: str | None = None


class DeviceClass(ApiObject, frozen=True, gc=False):
    spec: DeviceClassSpec = DeviceClassSpec()


class DeviceTaintSelector(ResourceV1beta2View, frozen=True, gc=False):
    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(ResourceV1beta2View, frozen=True, gc=False):
    deviceSelector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRuleStatus(ResourceV1beta2View, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ABSENT_LIST


class DeviceTaintRule(ApiObject, frozen=True, gc=False):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
    status: DeviceTaintRuleStatus = DeviceTaintRuleStatus()
