"""Views of Ingresses, NetworkPolicies, EndpointSlices, and the addresses of Services.

Kubernetes: k8s.io/api/networking/v1 and k8s.io/api/discovery/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, Condition, LabelSelector, ObjectReference, TypedLocalObjectReference
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, DiscoveryView, Int32, NetworkingView


class ServiceBackendPort(NetworkingView, frozen=True, gc=False):
    name: str = ""
    number: Int32 = 0


class IngressServiceBackend(NetworkingView, frozen=True, gc=False):
    name: str = ""
    port: ServiceBackendPort = ServiceBackendPort()


class IngressBackend(NetworkingView, frozen=True, gc=False):
    service: IngressServiceBackend | None = None
    resource: TypedLocalObjectReference | None = None


class IngressTLS(NetworkingView, frozen=True, gc=False):
    hosts: tuple[str, ...] = ABSENT_LIST
    secretName: str = ""


class HTTPIngressPath(NetworkingView, frozen=True, gc=False):
    path: str = ""
    pathType: named.PathType | None = None
    backend: IngressBackend = IngressBackend()


class HTTPIngressRuleValue(NetworkingView, frozen=True, gc=False):
    paths: tuple[HTTPIngressPath, ...] = ABSENT_LIST


class IngressRuleValue(NetworkingView, frozen=True, gc=False):
    http: HTTPIngressRuleValue | None = None


class IngressRule(IngressRuleValue, frozen=True, gc=False):
    host: str = ""


class IngressSpec(NetworkingView, frozen=True, gc=False):
    ingressClassName: str | None = None
    defaultBackend: IngressBackend | None = None
    tls: tuple[IngressTLS, ...] = ABSENT_LIST
    rules: tuple[IngressRule, ...] = ABSENT_LIST


class IngressPortStatus(NetworkingView, frozen=True, gc=False):
    port: Int32 = 0
    protocol: named.Protocol = ""
    error: str | None = None


class IngressLoadBalancerIngress(NetworkingView, frozen=True, gc=False):
    ip: str = ""
    hostname: str = ""
    ports: tuple[IngressPortStatus, ...] = ABSENT_LIST


class IngressLoadBalancerStatus(NetworkingView, frozen=True, gc=False):
    ingress: tuple[IngressLoadBalancerIngress, ...] = ABSENT_LIST


class IngressStatus(NetworkingView, frozen=True, gc=False):
    loadBalancer: IngressLoadBalancerStatus = IngressLoadBalancerStatus()


class Ingress(ApiObject, frozen=True, gc=False):
    spec: IngressSpec = IngressSpec()
    status: IngressStatus = IngressStatus()


class IngressClassParametersReference(NetworkingView, frozen=True, gc=False):
    apiGroup: str | None = None
    kind: str = ""
    name: str = ""
    scope: str | None = None
    namespace: str | None = None


class IngressClassSpec(NetworkingView, frozen=True, gc=False):
    controller: str = ""
    parameters: IngressClassParametersReference | None = None


class IngressClass(ApiObject, frozen=True, gc=False):
    spec: IngressClassSpec = IngressClassSpec()


class NetworkPolicyPort(NetworkingView, frozen=True, gc=False):
    protocol: named.Protocol | None = None
    port: Int32 | str | None = None
    endPort: Int32 | None = None


class IPBlock(NetworkingView, frozen=True, gc=False, rename={"except_": "except"}):
    cidr: str = ""
    except_: tuple[str, ...] = ABSENT_LIST


class NetworkPolicyPeer(NetworkingView, frozen=True, gc=False):
    podSelector: LabelSelector | None = None
    namespaceSelector: LabelSelector | None = None
    ipBlock: IPBlock | None = None


class NetworkPolicyIngressRule(NetworkingView, frozen=True, gc=False, rename={"from_": "from"}):
    ports: tuple[NetworkPolicyPort, ...] = ABSENT_LIST
    from_: tuple[NetworkPolicyPeer, ...] = ABSENT_LIST


class NetworkPolicyEgressRule(NetworkingView, frozen=True, gc=False):
    ports: tuple[NetworkPolicyPort, ...] = ABSENT_LIST
    to: tuple[NetworkPolicyPeer, ...] = ABSENT_LIST


class NetworkPolicySpec(NetworkingView, frozen=True, gc=False):
    podSelector: LabelSelector = LabelSelector()
    ingress: tuple[NetworkPolicyIngressRule, ...] = ABSENT_LIST
    egress: tuple[NetworkPolicyEgressRule, ...] = ABSENT_LIST
    policyTypes: tuple[named.PolicyType, ...] = ABSENT_LIST


class NetworkPolicy(ApiObject, frozen=True, gc=False):
    spec: NetworkPolicySpec = NetworkPolicySpec()


class ParentReference(NetworkingView, frozen=True, gc=False):
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class IPAddressSpec(NetworkingView, frozen=True, gc=False):
    parentRef: ParentReference | None = None


class IPAddress(ApiObject, frozen=True, gc=False):
    spec: IPAddressSpec = IPAddressSpec()


class ServiceCIDRSpec(NetworkingView, frozen=True, gc=False):
    cidrs: tuple[str, ...] = ABSENT_LIST


class ServiceCIDRStatus(NetworkingView, frozen=True, gc=False):
    conditions: tuple[Condition, ...] = ABSENT_LIST


class ServiceCIDR(ApiObject, frozen=True, gc=False):
    spec: ServiceCIDRSpec = ServiceCIDRSpec()
    status: ServiceCIDRStatus = ServiceCIDRStatus()


class EndpointConditions(DiscoveryView, frozen=True, gc=False):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class ForZone(DiscoveryView, frozen=True, gc=False):
    name: str = ""


class ForNode(DiscoveryView, frozen=True, gc=False):
    name: str = ""


class EndpointHints(DiscoveryView, frozen=True, gc=False):
    forZones: tuple[ForZone, ...] = ABSENT_LIST
    forNodes: tuple[ForNode, ...] = ABSENT_LIST


class Endpoint(DiscoveryView, frozen=True, gc=False):
    addresses: tuple[str, ...] = ABSENT_LIST
    conditions: EndpointConditions = EndpointConditions()
    hostname: str | None = None
    targetRef: ObjectReference | None = None
    deprecatedTopology: dict[str, str] = ABSENT_MAP
    nodeName: str | None = None
    zone: str | None = None
    hints: EndpointHints | None = None


class EndpointPort(DiscoveryView, frozen=True, gc=False):
    name: str | None = None
    protocol: named.Protocol | None = None
    port: Int32 | None = None
    appProtocol: str | None = None


class EndpointSlice(ApiObject, frozen=True, gc=False):
    addressType: named.AddressType = ""
    endpoints: tuple[Endpoint, ...] = ABSENT_LIST
    ports: tuple[EndpointPort, ...] = ABSENT_LIST
