"""Ingresses and their classes.

Kubernetes: k8s.io/api/networking/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, TypedLocalObjectReference
from moorage.model.types.view import ABSENT_LIST, Int32, NetworkingView


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
