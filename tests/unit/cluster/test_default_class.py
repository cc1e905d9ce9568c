"""What a new cluster has of its own: a default StorageClass, and where the API server is."""

from tests.virtual_cluster import VirtualCluster

from moorage.cluster.control_plane import ensure_default_class
from moorage.model.kinds import KINDS
from moorage.serve.cluster.server_identity import endpoint_address, publish_authentication, publish_endpoints


async def test_claims_without_a_class_get_the_default_one() -> None:
    async with VirtualCluster.running(list) as cluster:
        await ensure_default_class(cluster.client)
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        metadata = {"name": "data", "namespace": "default"}
        document = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}
        assert (await cluster.client.create(KINDS.PERSISTENT_VOLUME_CLAIM, document)).raw["spec"][
            "storageClassName"
        ] == "standard"


async def test_a_class_that_the_user_brings_is_the_only_one() -> None:
    async with VirtualCluster.running(list) as cluster:
        own = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
        await cluster.client.create(KINDS.STORAGE_CLASS, {**own, "provisioner": "example.com/disk"})
        await ensure_default_class(cluster.client)
        assert [found.name for found in await cluster.all(KINDS.STORAGE_CLASS)] == ["fast"]


async def test_the_api_server_publishes_its_address_after_each_start() -> None:
    async with VirtualCluster.running(list) as cluster:
        for port in (6443, 6444):
            await publish_endpoints(cluster.api, [("10.1.2.3", port)])
            await publish_authentication(cluster.api, "PEM")
            endpoints = await cluster.client.get(KINDS.ENDPOINTS, "kubernetes", "default")
            ports = [{"name": "https", "port": port, "protocol": "TCP"}]
            assert endpoints.raw["subsets"] == [{"addresses": [{"ip": "10.1.2.3"}], "ports": ports}]
            assert endpoints.raw["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}
            found = await cluster.client.get(KINDS.ENDPOINT_SLICE, "kubernetes", "default")
            assert found.raw["endpoints"] == [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}]
            assert found.raw["ports"] == ports
        authentication = await cluster.client.get(KINDS.CONFIG_MAP, "extension-apiserver-authentication", "kube-system")
        assert authentication.raw["data"] == {"client-ca-file": "PEM"}


def test_an_endpoint_is_never_a_loopback_address() -> None:
    assert [endpoint_address(text) for text in ("127.0.0.1", "::", "localhost", "10.0.0.1", "2001:db8::1")] == [
        "192.0.2.1",
        "192.0.2.1",
        "192.0.2.1",
        "10.0.0.1",
        "2001:db8::1",
    ]
