"""A cluster with nodes and the DaemonSet controller, and DaemonSets as short as tests want them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from tests.controller_context import controller_context
from tests.unit.control.workloads import template
from tests.virtual_cluster import VirtualCluster
from tests.virtual_nodes import VirtualNodes, add_node

from moorage.client.protocol import Object, PatchType
from moorage.control.daemon_set.controller import DaemonSetController
from moorage.control.framework.controller import Controller
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
ON_DELETE = {"type": "OnDelete"}


def only_daemon_sets(gates: GateSet | None = None, metrics: Metrics | None = None) -> Iterable[Controller]:
    return (DaemonSetController(controller_context(gates or default_gates(), metrics)),)


def daemon_set(name: str = "agent", image: str = "one", pod_spec: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": template(name, image, **(pod_spec or {})),
            **spec,
        },
    }


def rolling(unavailable: int | str, surge: int | str = 0) -> Raw:
    return {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": unavailable, "maxSurge": surge}}


class Daemons(NamedTuple):
    """The cluster, its nodes, and what tests ask about them."""

    cluster: VirtualCluster
    nodes: VirtualNodes

    async def create(self, wanted: Raw, settle: float = 10) -> Object:
        made = await self.cluster.client.create(KINDS.DAEMON_SET, wanted)
        await self.cluster.settle(settle)
        return made

    async def change(self, patch: Raw, name: str = "agent", settle: float = 10) -> None:
        await self.cluster.client.patch(KINDS.DAEMON_SET, name, "default", patch, patch_type=PatchType.STRATEGIC)
        await self.cluster.settle(settle)

    async def change_image(self, image: str, settle: float = 10) -> None:
        containers = [{"name": "c", "image": image}]
        await self.change({"spec": {"template": {"spec": {"containers": containers}}}}, settle=settle)

    async def pods(self) -> list[Object]:
        found = [pod for pod in await self.cluster.all(KINDS.POD) if pod.view.metadata.deletionTimestamp is None]
        return sorted(found, key=lambda pod: (pod.view.spec.nodeName, pod.name))

    async def where(self) -> list[str]:
        """The nodes of all pods."""
        return [pod.view.spec.nodeName for pod in await self.pods()]

    async def images(self) -> list[str]:
        return [pod.view.spec.containers[0].image for pod in await self.pods()]

    async def status(self, name: str = "agent") -> Raw:
        found = await self.cluster.client.get(KINDS.DAEMON_SET, name, "default")
        status: Raw = found.raw["status"]
        return status

    async def revisions(self) -> list[Object]:
        found = await self.cluster.all(KINDS.CONTROLLER_REVISION)
        return sorted(found, key=lambda revision: revision.view.revision)

    def messages(self, reason: str) -> list[str]:
        return [event.message for event in self.cluster.events if event.reason == reason]


@asynccontextmanager
async def daemons(
    nodes: int = 3,
    *,
    gates: GateSet | None = None,
    server_gates: GateSet | None = None,
    metrics: Metrics | None = None,
    **times: Any,
) -> AsyncIterator[Daemons]:
    async with (
        VirtualCluster.running(lambda: only_daemon_sets(gates, metrics), gates=server_gates or gates) as cluster,
        VirtualNodes.running(cluster, **times) as kubelets,
    ):
        for number in range(nodes):
            await add_node(cluster, f"n{number}")
        assert isinstance(kubelets, VirtualNodes)
        yield Daemons(cluster, kubelets)
