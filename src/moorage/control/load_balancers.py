"""Give Services of type LoadBalancer an address, as a cloud would; nothing is routed there.

The addresses are those of 198.18.0.0/15, which is reserved for benchmarks and routed nowhere (RFC 2544), or what
`loadBalancerIP` asks for. Services with a `loadBalancerClass` are left to others. Kubernetes: the service controller of
k8s.io/cloud-provider, whose cloud this one simulates. It runs where nodes are simulated, or where it is asked for.
"""

from collections.abc import Iterable
from hashlib import blake2b
from ipaddress import IPv4Network, ip_address

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan, note, patch_status
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.core import ServiceSpec

RANGE = IPv4Network("198.18.0.0/15")
_TRIES = 1_000


class LoadBalancerController(Controller):
    """Reconciles the addresses of Services for the outside."""

    name = "service-lb-controller"
    component = "service-controller"
    watches = (KINDS.SERVICE,)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._owners: dict[str, str] = {}
        self._addresses: dict[str, list[str]] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        changed = new or old
        assert changed is not None
        if new is None:
            self._own(changed.key, [])
            return ()
        ingress = [one.ip for one in new.view.status.loadBalancer.ingress if one.ip]
        if ingress:
            self._own(changed.key, ingress)
        return (changed.key,) if ingress or _wants_address(new.view.spec) else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        service = world.get(KINDS.SERVICE, key)
        if service is None or service.view.metadata.deletionTimestamp is not None:
            return NOTHING
        has_address = bool(service.view.status.loadBalancer.ingress)
        if not _wants_address(service.view.spec):
            if not has_address or service.view.spec.type == "LoadBalancer":
                return NOTHING
            self._own(key, [])
            return Plan((patch_status(service, {"loadBalancer": {"ingress": None}}),))
        if has_address:
            return NOTHING
        address = self._address_for(service)
        if address is None:
            return Plan(retries=True)
        self._own(key, [address])
        status = {"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}}
        begun = note(service, "EnsuringLoadBalancer", "Ensuring load balancer")
        ended = note(service, "EnsuredLoadBalancer", "Ensured load balancer")
        return Plan((begun, patch_status(service, status), ended))

    def _own(self, key: str, addresses: list[str]) -> None:
        for address in self._addresses.pop(key, ()):
            if self._owners.get(address) == key:
                del self._owners[address]
        if addresses:
            self._addresses[key] = addresses
            self._owners |= dict.fromkeys(addresses, key)

    def _address_for(self, service: Object) -> str | None:
        """Return a free address, the same for the same Service if possible; None if the range is crowded."""
        wanted = service.view.spec.loadBalancerIP
        if wanted and _is_address(wanted) and self._owners.get(wanted, service.key) == service.key:
            return str(wanted)
        begin = int.from_bytes(blake2b(service.key.encode(), digest_size=8).digest(), "big")
        size = RANGE.num_addresses - 2
        for step in range(_TRIES):
            address = str(RANGE[1 + (begin + step) % size])
            if self._owners.get(address, service.key) == service.key:
                return address
        return None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _wants_address(spec: ServiceSpec) -> bool:
    return spec.type == "LoadBalancer" and spec.loadBalancerClass is None
