"""Allocate cluster IPs and node ports of Services: from 10.96.0.0/12 by default, and from 30000-32767.

The API's own Service has the first address. Kubernetes: the ipallocator and portallocator of pkg/registry/core/service.
"""

import ipaddress
from collections.abc import Collection, Mapping
from random import Random

from moorage.admit.plugins import Forbidden
from moorage.admit.prepare.service_addresses import NotAllocated
from moorage.model.types.core import Service

#: The addresses that Services get, unless a server is started with others.
SERVICE_RANGE = ipaddress.IPv4Network("10.96.0.0/12")
_FIRST_PORT, _LAST_PORT = 30000, 32767
_TRIES = 1000


class ServiceAllocator:
    """Finds values that no Service of `services` has. They are taken once the Service is stored.

    Raises NotAllocated for a value that is taken, Forbidden if none is left.
    """

    def __init__(
        self, services: Mapping[str, Service], random: Random, addresses: ipaddress.IPv4Network = SERVICE_RANGE
    ) -> None:
        self._services = services
        self._random = random
        self._range = addresses

    def cluster_ip(self, wanted: str) -> str:
        taken = {address for service in tuple(self._services.values()) for address in service.spec.clusterIPs}
        if wanted:
            self._check(wanted, taken)
            return wanted
        first = str(self._range[1])
        if first not in taken and not self._services:
            return first
        for _ in range(_TRIES):
            address = str(self._range[self._random.randrange(2, self._range.num_addresses - 1)])
            if address not in taken:
                return address
        raise Forbidden("failed to allocate a serviceIP: range is full")

    def node_port(self, wanted: int, besides: Collection[int] = ()) -> int:
        """Find a free port that is not in `besides`, the ports that the Service has already or is going to have."""
        services = tuple(self._services.values())
        taken = {port.nodePort for service in services for port in service.spec.ports}
        taken |= {service.spec.healthCheckNodePort for service in services}
        if wanted:
            if not _FIRST_PORT <= wanted <= _LAST_PORT:
                valid = f"The range of valid ports is {_FIRST_PORT}-{_LAST_PORT}"
                raise NotAllocated(f"provided port is not in the valid range. {valid}")
            if wanted in taken or wanted in besides:
                raise NotAllocated("provided port is already allocated")
            return wanted
        free = [port for port in range(_FIRST_PORT, _LAST_PORT + 1) if port not in taken and port not in besides]
        if not free:
            raise Forbidden("failed to allocate a nodePort: range is full")
        return self._random.choice(free)

    def _check(self, wanted: str, taken: set[str]) -> None:
        try:
            address = ipaddress.ip_address(wanted)
        except ValueError:
            return  # validation says what is wrong with it
        if wanted in taken:
            raise NotAllocated("provided IP is already allocated")
        if address not in self._range:
            raise NotAllocated("the provided network does not match the current range")
