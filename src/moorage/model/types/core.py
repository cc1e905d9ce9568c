"""Views of Namespaces, ConfigMaps, Secrets, Services, Endpoints, ServiceAccounts, Events and Leases.

Bytes stay the base64 text of the document. Kubernetes: k8s.io/api/core/v1 and k8s.io/api/coordination/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.schema.named_types import CoordinatedLeaseStrategy, MicroTime, Time
from moorage.model.types.meta import ApiObject, Condition, LocalObjectReference, ObjectReference, PlainCondition
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, View


class NamespaceSpec(View, frozen=True, gc=False):
    finalizers: tuple[named.FinalizerName, ...] = ABSENT_LIST


class NamespaceCondition(PlainCondition, frozen=True, gc=False):
    type: named.NamespaceConditionType = ""


class NamespaceStatus(View, frozen=True, gc=False):
    phase: named.NamespacePhase = ""
    conditions: tuple[NamespaceCondition, ...] = ABSENT_LIST


class Namespace(ApiObject, frozen=True, gc=False):
    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ComponentCondition(View, frozen=True, gc=False):
    type: named.ComponentConditionType = ""
    status: named.ConditionStatus = ""
    message: str = ""
    error: str = ""


class ComponentStatus(ApiObject, frozen=True, gc=False):
    conditions: tuple[ComponentCondition, ...] = ABSENT_LIST


class ConfigMap(ApiObject, frozen=True, gc=False):
    immutable: bool | None = None
    data: dict[str, str] = ABSENT_MAP
    binaryData: dict[str, named.Bytes] = ABSENT_MAP


class Secret(ApiObject, frozen=True, gc=False):
    immutable: bool | None = None
    data: dict[str, named.Bytes] = ABSENT_MAP
    stringData: dict[str, str] = ABSENT_MAP
    type: named.SecretType = ""


class ServicePort(View, frozen=True, gc=False):
    name: str = ""
    protocol: named.Protocol = ""
    appProtocol: str | None = None
    port: Int32 = 0
    targetPort: Int32 | str = 0
    nodePort: Int32 = 0


class ClientIPConfig(View, frozen=True, gc=False):
    timeoutSeconds: Int32 | None = None


class SessionAffinityConfig(View, frozen=True, gc=False):
    clientIP: ClientIPConfig | None = None


class ServiceSpec(View, frozen=True, gc=False):
    ports: tuple[ServicePort, ...] = ABSENT_LIST
    selector: dict[str, str] = ABSENT_MAP
    clusterIP: str = ""
    clusterIPs: tuple[str, ...] = ABSENT_LIST
    type: named.ServiceType = ""
    externalIPs: tuple[str, ...] = ABSENT_LIST
    sessionAffinity: named.ServiceAffinity = ""
    loadBalancerIP: str = ""
    loadBalancerSourceRanges: tuple[str, ...] = ABSENT_LIST
    externalName: str = ""
    externalTrafficPolicy: named.ServiceExternalTrafficPolicy = ""
    healthCheckNodePort: Int32 = 0
    publishNotReadyAddresses: bool = False
    sessionAffinityConfig: SessionAffinityConfig | None = None
    ipFamilies: tuple[named.IPFamily, ...] = ABSENT_LIST
    ipFamilyPolicy: named.IPFamilyPolicy | None = None
    allocateLoadBalancerNodePorts: bool | None = None
    loadBalancerClass: str | None = None
    internalTrafficPolicy: named.ServiceInternalTrafficPolicy | None = None
    trafficDistribution: str | None = None


class PortStatus(View, frozen=True, gc=False):
    port: Int32 = 0
    protocol: named.Protocol = ""
    error: str | None = None


class LoadBalancerIngress(View, frozen=True, gc=False):
    ip: str = ""
    hostname: str = ""
    ipMode: named.LoadBalancerIPMode | None = None
    ports: tuple[PortStatus, ...] = ABSENT_LIST


class LoadBalancerStatus(View, frozen=True, gc=False):
    ingress: tuple[LoadBalancerIngress, ...] = ABSENT_LIST


class ServiceStatus(View, frozen=True, gc=False):
    loadBalancer: LoadBalancerStatus = LoadBalancerStatus()
    conditions: tuple[Condition, ...] = ABSENT_LIST


class Service(ApiObject, frozen=True, gc=False):
    spec: ServiceSpec = ServiceSpec()
    status: ServiceStatus = ServiceStatus()


class ServiceAccount(ApiObject, frozen=True, gc=False):
    secrets: tuple[ObjectReference, ...] = ABSENT_LIST
    imagePullSecrets: tuple[LocalObjectReference, ...] = ABSENT_LIST
    automountServiceAccountToken: bool | None = None


class EventSource(View, frozen=True, gc=False):
    component: str = ""
    host: str = ""


class EventSeries(View, frozen=True, gc=False):
    count: Int32 = 0
    lastObservedTime: MicroTime | None = None


class Event(ApiObject, frozen=True, gc=False):
    involvedObject: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    firstTimestamp: Time | None = None
    lastTimestamp: Time | None = None
    count: Int32 = 0
    type: str = ""
    eventTime: MicroTime | None = None
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reportingComponent: str = ""
    reportingInstance: str = ""


class LeaseSpec(View, frozen=True, gc=False):
    package = "io.k8s.api.coordination.v1"

    holderIdentity: str | None = None
    leaseDurationSeconds: Int32 | None = None
    acquireTime: MicroTime | None = None
    renewTime: MicroTime | None = None
    leaseTransitions: Int32 | None = None
    strategy: CoordinatedLeaseStrategy | None = None
    preferredHolder: str | None = None


class Lease(ApiObject, frozen=True, gc=False):
    spec: LeaseSpec = LeaseSpec()


class EndpointAddress(View, frozen=True, gc=False):
    ip: str = ""
    hostname: str = ""
    nodeName: str | None = None
    targetRef: ObjectReference | None = None


class EndpointPort(View, frozen=True, gc=False):
    name: str = ""
    port: Int32 = 0
    protocol: named.Protocol = ""
    appProtocol: str | None = None


class EndpointSubset(View, frozen=True, gc=False):
    addresses: tuple[EndpointAddress, ...] = ABSENT_LIST
    notReadyAddresses: tuple[EndpointAddress, ...] = ABSENT_LIST
    ports: tuple[EndpointPort, ...] = ABSENT_LIST


class Endpoints(ApiObject, frozen=True, gc=False):
    subsets: tuple[EndpointSubset, ...] = ABSENT_LIST
