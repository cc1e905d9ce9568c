"""A cluster with the StatefulSet controller, and StatefulSets as short as tests want them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.controller_context import controller_context
from tests.unit.control.workloads import workload
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet

from moorage.client.protocol import Object, PatchType
from moorage.control.stateful_set.controller import StatefulSetController
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def stateful_set(name: str = "web", replicas: int = 3, **spec: Any) -> Raw:
    return workload("StatefulSet", name, replicas, **{"serviceName": "nginx", **spec})


def claim_template(name: str = "www") -> Raw:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": spec}


class Numbered(NamedTuple):
    """The cluster, its kubelet, and what tests ask about them."""

    cluster: VirtualCluster
    kubelet: VirtualKubelet

    async def create(self, wanted: Raw, settle: float = 30) -> Object:
        made = await self.cluster.client.create(KINDS.STATEFUL_SET, wanted)
        await self.cluster.settle(settle)
        return made

    async def change(self, spec: Raw, settle: float = 30) -> None:
        await self.cluster.client.patch(
            KINDS.STATEFUL_SET, "web", "default", {"spec": spec}, patch_type=PatchType.STRATEGIC
        )
        await self.cluster.settle(settle)

    async def change_image(self, image: str, settle: float = 30) -> None:
        containers = [{"name": "c", "image": image}]
        await self.change({"template": {"spec": {"containers": containers}}}, settle)

    async def pods(self) -> list[Object]:
        found = [pod for pod in await self.cluster.all(KINDS.POD) if pod.view.metadata.deletionTimestamp is None]
        return sorted(found, key=lambda pod: int(pod.name.rpartition("-")[2]))

    async def names(self) -> list[str]:
        return [pod.name for pod in await self.pods()]

    async def images(self) -> list[str]:
        return [pod.view.spec.containers[0].image for pod in await self.pods()]

    async def claims(self) -> list[Object]:
        return sorted(await self.cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM), key=lambda claim: claim.name)

    async def status(self) -> Raw:
        status: Raw = (await self.cluster.client.get(KINDS.STATEFUL_SET, "web", "default")).raw["status"]
        return status

    async def revisions(self) -> list[Object]:
        found = await self.cluster.all(KINDS.CONTROLLER_REVISION)
        return sorted(found, key=lambda revision: revision.view.revision)

    def messages(self, reason: str = "") -> list[str]:
        return [event.message for event in self.cluster.events if reason in ("", event.reason)]


@asynccontextmanager
async def numbered(*, collects_garbage: bool = False, **times: Any) -> AsyncIterator[Numbered]:
    async with (
        VirtualCluster.running(
            lambda: (StatefulSetController(controller_context()),), collects_garbage=collects_garbage
        ) as cluster,
        VirtualKubelet.running(cluster, **times) as kubelet,
    ):
        yield Numbered(cluster, kubelet)
