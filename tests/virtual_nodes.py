"""Nodes for a `VirtualCluster`: pods go where they are pinned to, if the node is there; others to the first node.

A `VirtualKubelet` that looks at what pods ask for. Nodes are made, tainted, labelled and deleted through the API.
"""

from contextlib import suppress
from typing import Any

from tests.objects import taint as taint
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet

from moorage.client.protocol import Object, PatchType
from moorage.match.daemon_pods import pinned_to
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


class VirtualNodes(VirtualKubelet):
    """See the module. A pod for a node that is gone stays pending."""

    async def bind(self, pod: Object, node: int) -> bool:
        name = pinned_to(pod.view.spec)
        nodes = {found.name for found in (await self._client.list_all(KINDS.NODE)).items}
        target = name or min(nodes, default="")
        if target not in nodes:
            return False
        with suppress(ApiError):
            await self._client.bind(pod.namespace, pod.name, pod.uid, target)
            return True
        return False


async def add_node(cluster: VirtualCluster, name: str, labels: Raw | None = None, taints: Any = ()) -> None:
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": list(taints)}}
    await cluster.client.create(KINDS.NODE, node)


async def change_node(cluster: VirtualCluster, name: str, patch: Raw) -> None:
    await cluster.client.patch(KINDS.NODE, name, "", patch, patch_type=PatchType.MERGE)
