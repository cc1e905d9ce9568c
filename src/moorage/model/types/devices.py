"""ResourceClaims, their templates, DeviceClasses and DeviceTaintRules.

Kubernetes: k8s.io/api/resource/v1, and v1beta2 for DeviceTaintRule. Differs: `DeviceToleration.expression`, as
KEP-5500 adds to pods' tolerations.
"""

from typing import Any

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, Condition, ObjectMeta
from moorage.model.types.node import NodeSelector
from moorage.model.types.resource_slice import DeviceTaint
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int64, ResourceV1beta2View, ResourceView


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
