"""Endpoints: the addresses behind a Service, in the form of the core group.

Kubernetes: k8s.io/api/core/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, ObjectReference
from moorage.model.types.view import ABSENT_LIST, Int32, View


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
