"""The addresses of services: the ranges they are taken from, and those that are taken.

Kubernetes: k8s.io/api/networking/v1.
"""

from moorage.model.types.meta import ApiObject, Condition
from moorage.model.types.view import ABSENT_LIST, NetworkingView


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
