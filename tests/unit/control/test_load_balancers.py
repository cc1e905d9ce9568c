"""Services of type LoadBalancer get an address, no two the same, and lose it with their type."""

from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.load_balancers import RANGE, LoadBalancerController
from moorage.control.registry import chosen
from moorage.model.kinds import KINDS


def _service(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    wanted = {"type": "LoadBalancer", "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": wanted}


async def _ingress(cluster: VirtualCluster, name: str) -> list[dict[str, str]]:
    status = (await cluster.client.get(KINDS.SERVICE, name, "default")).raw["status"]
    ingress: list[dict[str, str]] = status["loadBalancer"].get("ingress") or []
    return ingress


async def test_balancers_get_addresses_of_their_own() -> None:
    async with VirtualCluster.running(lambda: [LoadBalancerController(controller_context())]) as cluster:
        for number in range(20):
            await cluster.client.create(KINDS.SERVICE, _service(f"lb-{number}"))
        await cluster.client.create(KINDS.SERVICE, _service("asked", loadBalancerIP="203.0.113.9"))
        await cluster.client.create(KINDS.SERVICE, _service("other", loadBalancerClass="example.com/lb"))
        await cluster.settle(1)
        found = [await _ingress(cluster, f"lb-{number}") for number in range(20)]
        assert {one["ipMode"] for (one,) in found} == {"VIP"}
        addresses = {one["ip"] for (one,) in found}
        assert len(addresses) == 20
        assert all(any(address.startswith(prefix) for prefix in ("198.18.", "198.19.")) for address in addresses)
        assert str(RANGE) == "198.18.0.0/15"
        assert await _ingress(cluster, "asked") == [{"ip": "203.0.113.9", "ipMode": "VIP"}]
        assert await _ingress(cluster, "other") == []
        (before,) = await _ingress(cluster, "lb-0")
        await cluster.restart()
        await cluster.client.patch(KINDS.SERVICE, "lb-1", "default", {"spec": {"type": "ClusterIP"}})
        await cluster.settle(1)
        assert await _ingress(cluster, "lb-0") == [before]
        assert await _ingress(cluster, "lb-1") == []
        assert {event.reason for event in cluster.events} == {"EnsuringLoadBalancer", "EnsuredLoadBalancer"}


def test_a_star_means_it_only_where_nodes_are_simulated() -> None:
    name = LoadBalancerController.name
    assert name not in [row.name for row in chosen(("*",))]
    assert name in [row.name for row in chosen(("*",), simulated=True)]
    assert name in [row.name for row in chosen((name,))]
    assert name not in [row.name for row in chosen(("*", f"-{name}"), simulated=True)]
