"""Find where the webhook behind a Service is: as told, by an annotation, or at its endpoints.

Nothing listens at the addresses of simulated pods. A webhook that runs elsewhere, such as on the developer's machine,
is named by `--webhook-service`, or by the annotation simulate.moorage.dev/webhook-url of its Service; its certificate
has the name of the Service all the same. Kubernetes: apiserver/pkg/util/proxy, ResolveEndpoint.
"""

import ipaddress
from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import urlsplit

from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.text.readers import reads_text
from moorage.model.types.core import Service
from moorage.model.types.meta import ApiObject
from moorage.model.types.networking import Endpoint, EndpointSlice
from moorage.model.well_known.annotations import WEBHOOK_URL
from moorage.model.well_known.labels import SERVICE_NAME
from moorage.serve.resources.objects import decode, key_of, prefix_of
from moorage.serve.webhooks.connections import HostPort
from moorage.serve.webhooks.failures import CallFailed
from moorage.serve.webhooks.targets import WebhookTarget
from moorage.store.protocol import Store, Stored

View = TypeVar("View", bound=ApiObject)

#: Where simulated pods and nodes have their addresses.
SIMULATED_NETWORKS: Final = (ipaddress.ip_network("10.128.0.0/10"), ipaddress.ip_network("10.0.0.0/10"))
_TYPES: Final = ("ClusterIP", "NodePort", "LoadBalancer")
_HTTPS_PORT: Final = 443
_FORM: Final = "https://HOST[:PORT]"


class BadAddress(ValueError):
    """A text that does not say where a webhook is."""


@reads_text("https://", "a", ":", "1", "[", "]", raises=BadAddress)
def read_address(text: str) -> HostPort:
    """Read https://HOST[:PORT]. Raises BadAddress."""
    try:
        url = urlsplit(text.strip())
        port = url.port or _HTTPS_PORT
    except ValueError as error:
        raise BadAddress(f"{error}: {_FORM} is wanted") from None
    if url.scheme != "https" or not url.hostname:
        raise BadAddress(f"webhooks are called over TLS only: {_FORM} is wanted")
    if url.path not in ("", "/") or url.query or url.fragment or "@" in url.netloc:
        raise BadAddress(f"the path is that of the webhook configuration: {_FORM} is wanted")
    return HostPort(url.hostname, port)


@reads_text("a", "/", "=", "https://b", raises=BadAddress)
def read_webhook_service(text: str) -> tuple[tuple[str, str], HostPort]:
    """Read NAMESPACE/NAME=https://HOST[:PORT]. Raises BadAddress."""
    service, _, address = text.partition("=")
    namespace, _, name = service.partition("/")
    if not namespace or not name or "/" in name:
        raise BadAddress(f"NAMESPACE/NAME={_FORM} is wanted")
    return (namespace, name), read_address(address)


class WebhookServices:
    """The services of one cluster. `told` are those whose webhooks are somewhere else, by namespace and name."""

    def __init__(self, store: Store, told: Mapping[tuple[str, str], HostPort] | None = None) -> None:
        self._store, self._told = store, dict(told or {})

    async def locate(self, target: WebhookTarget) -> HostPort:
        """Return where to connect to. Raises CallFailed."""
        if target.service is None:
            return HostPort(target.host, target.port)
        if target.service in self._told:
            return self._told[target.service]
        namespace, name = target.service
        service = self._service(namespace, name)
        if service is None:
            raise CallFailed(f"service {go_quote(name)} not found")
        if address := service.metadata.annotations.get(WEBHOOK_URL):
            try:
                return read_address(address)
            except BadAddress as error:
                raise CallFailed(f"annotation {WEBHOOK_URL} of service {go_quote(name)}: {error}") from None
        return await self._endpoint(service, target.port)

    def _service(self, namespace: str, name: str) -> Service | None:
        stored = self._store.peek(key_of(KINDS.SERVICE, namespace, name))
        return None if stored is None else _view(KINDS.SERVICE, stored, Service)

    async def _endpoint(self, service: Service, port: int) -> HostPort:
        name = service.metadata.name
        if service.spec.type not in _TYPES:
            raise CallFailed(f"unsupported service type {go_quote(service.spec.type)}")
        named = next((known.name for known in service.spec.ports if known.port == port), None)
        if named is None:
            raise CallFailed(f"no service port {port} found for service {go_quote(name)}")
        are_simulated = False
        for slice_ in await self._slices(service.metadata.namespace, name):
            number = next((known.port for known in slice_.ports if known.name == named), None)
            for endpoint in slice_.endpoints if number else ():
                if endpoint.conditions.ready is False or not endpoint.addresses:
                    continue
                if number and not _is_simulated(endpoint):
                    return HostPort(endpoint.addresses[0], number)
                are_simulated = True
        raise CallFailed(_unreachable(service, are_simulated=are_simulated))

    async def _slices(self, namespace: str, name: str) -> list[EndpointSlice]:
        listing = await self._store.list(prefix_of(KINDS.ENDPOINT_SLICE, namespace))
        mark = name.encode()
        slices = [
            _view(KINDS.ENDPOINT_SLICE, stored, EndpointSlice) for stored in listing.items if mark in stored.value
        ]
        return [slice_ for slice_ in slices if slice_.metadata.labels.get(SERVICE_NAME) == name]


def _is_simulated(endpoint: Endpoint) -> bool:
    if endpoint.targetRef is None or endpoint.targetRef.kind != "Pod":
        return False
    try:
        address = ipaddress.ip_address(endpoint.addresses[0])
    except ValueError:
        return False
    return any(address in network for network in SIMULATED_NETWORKS)


def _unreachable(service: Service, *, are_simulated: bool) -> str:
    namespace, name = service.metadata.namespace, service.metadata.name
    why = f"no endpoints available for service {go_quote(name)}"
    if are_simulated:
        why = f"the endpoints of service {go_quote(name)} are simulated pods, in which nothing listens"
    return (
        f"{why}; to call a webhook that runs elsewhere, start the cluster with --webhook-service "
        f"{namespace}/{name}={_FORM}, or annotate the service with {WEBHOOK_URL}={_FORM}"
    )


def _view(kind: Kind, stored: Stored, type_: type[View]) -> View:
    if type(stored.view) is type_:
        return stored.view
    view: View = convert_view(decode(kind, stored), type_)
    return view
