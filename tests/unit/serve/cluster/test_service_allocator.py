"""Services get what is free, and what they ask for only if it is."""

from random import Random

import pytest

from moorage.admit.prepare.service_addresses import NotAllocated
from moorage.admit.prepare.service_allocator import ServiceAllocator
from moorage.model.types.core import Service, ServicePort, ServiceSpec


def having(**spec: object) -> ServiceAllocator:
    services = {"default/a": Service(spec=ServiceSpec(**spec))} if spec else {}  # type: ignore[arg-type]
    return ServiceAllocator(services, Random(1))


def test_the_first_service_has_the_first_address() -> None:
    assert having().cluster_ip("") == "10.96.0.1"


def test_an_address_is_free_or_refused() -> None:
    taken = having(clusterIPs=("10.96.0.1",))
    assert taken.cluster_ip("") != "10.96.0.1"
    assert taken.cluster_ip("10.96.7.7") == "10.96.7.7"
    with pytest.raises(NotAllocated, match=r"^provided IP is already allocated$"):
        taken.cluster_ip("10.96.0.1")
    with pytest.raises(NotAllocated, match=r"^the provided network does not match the current range$"):
        taken.cluster_ip("192.0.2.1")


def test_a_port_is_free_or_refused() -> None:
    taken = having(ports=(ServicePort(port=80, nodePort=30000),), healthCheckNodePort=30001)
    assert 30001 < taken.node_port(0) <= 32767
    assert taken.node_port(0, range(30002, 32767)) == 32767
    for port in (30000, 30001):
        with pytest.raises(NotAllocated, match=r"^provided port is already allocated$"):
            taken.node_port(port)
    with pytest.raises(NotAllocated, match=r"not in the valid range\. The range of valid ports is 30000-32767"):
        taken.node_port(80)
