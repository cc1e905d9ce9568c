"""Every namespace has the ConfigMap kube-root-ca.crt, whatever becomes of it."""

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.root_certificates import NAME, RootCertificatePublisher
from moorage.model.kinds import KINDS


async def test_the_authority_is_published_and_kept() -> None:
    context = controller_context()._replace(root_authority="PEM")
    async with VirtualCluster.running(lambda: [RootCertificatePublisher(context)]) as cluster:
        await cluster.client.create(
            KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}}
        )
        await cluster.settle(1)
        assert {found.namespace for found in await cluster.all(KINDS.CONFIG_MAP)} >= {"default", "kube-system", "new"}
        await cluster.client.delete(KINDS.CONFIG_MAP, NAME, "new")
        await cluster.client.patch(KINDS.CONFIG_MAP, NAME, "default", {"data": {"ca.crt": "wrong", "more": "x"}})
        await cluster.settle(1)
        for namespace in ("default", "new"):
            found = await cluster.client.get(KINDS.CONFIG_MAP, NAME, namespace)
            assert found.raw["data"] == {"ca.crt": "PEM"}
            assert "CA bundle" in found.raw["metadata"]["annotations"]["kubernetes.io/description"]
