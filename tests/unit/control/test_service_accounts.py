"""Every namespace gets its ServiceAccount, and gets it again."""

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.namespace import NamespaceController, ServiceAccountController
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import NAMESPACES


async def test_every_namespace_has_a_service_account() -> None:
    async with VirtualCluster.running(
        lambda: [ServiceAccountController(controller_context()), NamespaceController(controller_context())]
    ) as cluster:
        document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}}
        await cluster.client.create(KINDS.NAMESPACE, document)
        await cluster.settle()
        accounts = {item.key for item in await cluster.all(KINDS.SERVICE_ACCOUNT)}
        assert accounts == {f"{name}/default" for name in (*NAMESPACES, "mine")}
        await cluster.client.delete(KINDS.SERVICE_ACCOUNT, "default", "mine")
        await cluster.settle()
        assert len(await cluster.all(KINDS.SERVICE_ACCOUNT, "mine")) == 1
        await cluster.client.delete(KINDS.NAMESPACE, "mine")
        await cluster.settle()
        assert not await cluster.all(KINDS.SERVICE_ACCOUNT, "mine")
        assert "mine" not in {item.name for item in await cluster.all(KINDS.NAMESPACE)}
