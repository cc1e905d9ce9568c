"""Objects of kinds that nothing acts on go with their namespace and their owner, like any other."""

import copy

from tests.controller_context import controller_context
from tests.unit.admit.stored_objects import STORED
from tests.virtual_cluster import VirtualCluster

from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.control.namespace import NamespaceController
from moorage.model.kinds import KINDS, Kind

KIND_OF: dict[str, Kind] = {name: kind for (_, name), kind in KINDS.items() if name in STORED}


def controllers() -> list[Controller]:
    context = controller_context()
    return [NamespaceController(context), GarbageCollector(context)]


async def test_they_go_with_their_owner_and_their_namespace() -> None:
    async with VirtualCluster.running(controllers, collects_garbage=True) as cluster:
        client = cluster.client
        await client.create(KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "going"}})
        owners = {}
        for namespace in ("default", "going"):
            owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}
            owners[namespace] = (await client.create(KINDS.CONFIG_MAP, owner, namespace)).uid
        for name, kind in KIND_OF.items():
            for namespace in owners if kind.namespaced else ("",):
                document = copy.deepcopy(STORED[name])
                if namespace == "default":
                    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owners[namespace]}
                    document["metadata"]["ownerReferences"] = [reference]
                await client.create(kind, document, namespace)
        await cluster.settle(1)
        await client.delete(KINDS.CONFIG_MAP, "owner", "default")
        await client.delete(KINDS.NAMESPACE, "going")
        await cluster.settle(20)
        assert "going" not in {item.name for item in await cluster.all(KINDS.NAMESPACE)}
        for kind in KIND_OF.values():
            if kind.namespaced:
                assert await cluster.all(kind, "default") == []
                assert await cluster.all(kind, "going") == []
