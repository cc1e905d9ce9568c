"""Services with a selector, without one and that go away: what becomes of their Endpoints and EndpointSlices."""

from collections.abc import Iterable
from typing import Any

from tests.controller_context import controller_context
from tests.unit.control.workloads import pod
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Object, PatchType
from moorage.control.endpoints.endpoints_controller import EndpointsController
from moorage.control.endpoints.mirroring import EndpointSliceMirroringController
from moorage.control.endpoints.slice_controller import EndpointSliceController
from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def _controllers() -> Iterable[Controller]:
    context = controller_context()
    classes = EndpointSliceController, EndpointsController, EndpointSliceMirroringController, GarbageCollector
    return [one(context) for one in classes]


def _service(**spec: Any) -> Raw:
    metadata = {"name": "web", "namespace": "default", "labels": {"team": "a"}}
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports, **spec}}


async def _run(cluster: VirtualCluster, name: str, address: str, *, ready: bool = True) -> Object:
    await cluster.client.create(KINDS.POD, pod(name, {"app": "web"}, spec={"nodeName": "node-a"}))
    return await _report(cluster, name, address, ready=ready)


async def _report(cluster: VirtualCluster, name: str, address: str, *, ready: bool) -> Object:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:00:09Z"}
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": [condition]}
    patch = {"status": status}
    return await cluster.client.patch(
        KINDS.POD, name, "default", patch, subresource="status", patch_type=PatchType.STRATEGIC
    )


async def _slices(cluster: VirtualCluster) -> list[Object]:
    return [one for one in await cluster.all(KINDS.ENDPOINT_SLICE, "default") if one.name != "kubernetes"]


async def test_slices_and_endpoints_follow_readiness_and_go_with_the_service() -> None:
    async with VirtualCluster.running(_controllers, collects_garbage=True) as cluster:
        labels = {"topology.kubernetes.io/zone": "zone-1"}
        await cluster.client.create(KINDS.NODE, {"metadata": {"name": "node-a", "labels": labels}})
        service = await cluster.client.create(KINDS.SERVICE, _service(selector={"app": "web"}))
        await cluster.settle(1)
        (empty,) = await _slices(cluster)
        assert (empty.raw["endpoints"], empty.raw["ports"]) == (None, None)
        first = await _run(cluster, "one", "10.0.0.1")
        await _run(cluster, "two", "10.0.0.2", ready=False)
        await cluster.settle(1)
        (found,) = await _slices(cluster)
        assert found.name == empty.name
        assert found.raw["metadata"]["labels"] == {
            "team": "a",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        owner = {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": service.uid}
        assert found.raw["metadata"]["ownerReferences"] == [{**owner, "controller": True, "blockOwnerDeletion": True}]
        assert found.raw["metadata"]["annotations"] == {
            "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:09Z"
        }
        assert found.raw["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        assert found.raw["endpoints"][0] == {
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": {"kind": "Pod", "namespace": "default", "name": "one", "uid": first.uid},
            "nodeName": "node-a",
            "zone": "zone-1",
        }
        assert found.raw["endpoints"][1]["conditions"] == {"ready": False, "serving": False, "terminating": False}
        endpoints = await cluster.client.get(KINDS.ENDPOINTS, "web", "default")
        (subset,) = endpoints.raw["subsets"]
        assert [one["ip"] for one in subset["addresses"]] == ["10.0.0.1"]
        assert [one["ip"] for one in subset["notReadyAddresses"]] == ["10.0.0.2"]
        assert endpoints.raw["metadata"]["labels"]["endpoints.kubernetes.io/managed-by"] == "endpoint-controller"
        await cluster.restart()
        await _report(cluster, "two", "10.0.0.2", ready=True)
        await cluster.client.delete(KINDS.POD, "one", "default")
        await cluster.settle(1)
        (found,) = await _slices(cluster)
        states = {one["addresses"][0]: one["conditions"] for one in found.raw["endpoints"]}
        assert states["10.0.0.1"] == {"ready": False, "serving": True, "terminating": True}
        assert states["10.0.0.2"]["ready"]
        await cluster.client.delete(KINDS.SERVICE, "web", "default")
        await cluster.settle(1)
        assert not await _slices(cluster)
        assert [one.name for one in await cluster.all(KINDS.ENDPOINTS, "default") if one.name == "web"] == []


async def test_endpoints_that_a_user_writes_are_mirrored() -> None:
    async with VirtualCluster.running(_controllers, collects_garbage=True) as cluster:
        await cluster.client.create(KINDS.SERVICE, _service())
        addresses = [{"ip": "192.0.2.1"}, {"ip": "192.0.2.2", "hostname": "b"}, {"ip": "2001:db8::1"}]
        subsets = [{"addresses": addresses, "ports": [{"name": "http", "port": 80}]}]
        metadata = {"name": "web", "namespace": "default", "labels": {"x": "y"}, "annotations": {"n": "m"}}
        document = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subsets}
        await cluster.client.create(KINDS.ENDPOINTS, document)
        await cluster.settle(1)
        found = {one.raw["addressType"]: one.raw for one in await _slices(cluster)}
        assert [one["addresses"] for one in found["IPv4"]["endpoints"]] == [["192.0.2.1"], ["192.0.2.2"]]
        assert [one["addresses"] for one in found["IPv6"]["endpoints"]] == [["2001:db8::1"]]
        assert found["IPv4"]["endpoints"][1]["hostname"] == "b"
        assert found["IPv4"]["metadata"]["annotations"] == {"n": "m"}
        assert found["IPv4"]["metadata"]["labels"] == {
            "x": "y",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
        }
        await cluster.client.patch(KINDS.SERVICE, "web", "default", {"spec": {"selector": {"app": "web"}}})
        await cluster.settle(1)
        (slice_of_pods,) = await _slices(cluster)
        managed_by = slice_of_pods.raw["metadata"]["labels"]["endpointslice.kubernetes.io/managed-by"]
        assert managed_by == "endpointslice-controller.k8s.io"
        assert "subsets" not in (await cluster.client.get(KINDS.ENDPOINTS, "web", "default")).raw
