"""EndpointSlices: some of the addresses behind a Service.

Kubernetes: k8s.io/api/discovery/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, ObjectReference
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, DiscoveryView, Int32


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
