"""Controllers wait for the answers to expensive expressions: nothing is evicted, created or deleted before."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.controller_context import controller_context
from tests.fake_worker import SLOW, FakeWorker, evaluations
from tests.unit.control.cluster_objects import node, pod, taint
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import PatchType
from moorage.control.daemon_set.controller import DaemonSetController
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.taint_eviction import TaintEvictionController
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

ALL_ON = gates_from({"AllAlpha": True})
SLOW_TOLERATION = {"expression": SLOW}


@asynccontextmanager
async def running(worker: FakeWorker, make: Callable[[ControllerContext], Controller]) -> AsyncIterator[VirtualCluster]:
    isolated = evaluations(worker)
    context = controller_context(ALL_ON, evaluations=isolated)
    async with VirtualCluster.running(lambda: [make(context)], gates=ALL_ON) as cluster:
        yield cluster
    await isolated.close()


async def names(cluster: VirtualCluster) -> set[str]:
    return {found.name for found in await cluster.all(KINDS.POD)}


async def set_taints(cluster: VirtualCluster, name: str, *taints: dict[str, Any]) -> None:
    await cluster.client.patch(KINDS.NODE, name, "", {"spec": {"taints": list(taints)}}, patch_type=PatchType.MERGE)


async def test_a_pod_is_evicted_when_it_is_known_that_it_does_not_tolerate_and_others_at_once() -> None:
    worker = FakeWorker(seconds=5)
    async with running(worker, TaintEvictionController) as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        for name, tolerations in {"slow": [SLOW_TOLERATION], "plain": []}.items():
            await cluster.client.create(KINDS.POD, pod(name, "n", *tolerations))
        await cluster.settle()
        await set_taints(cluster, "n", taint("a"))
        await cluster.settle(4)
        assert await names(cluster) == {"slow"}
        await cluster.settle(4)
        assert await names(cluster) == set()
        assert len(worker.asked) == 1


async def test_a_pod_that_tolerates_by_an_expensive_expression_stays() -> None:
    worker = FakeWorker(seconds=5)
    async with running(worker, TaintEvictionController) as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        await cluster.client.create(KINDS.POD, pod("slow", "n", SLOW_TOLERATION))
        await cluster.client.create(KINDS.POD, pod("short", "n", {**SLOW_TOLERATION, "tolerationSeconds": 60}))
        await cluster.settle()
        await set_taints(cluster, "n", taint("zz"))
        await cluster.settle(30)
        assert await names(cluster) == {"slow", "short"}
        await cluster.settle(60)
        assert await names(cluster) == {"slow"}


async def test_a_daemon_set_waits_and_then_has_its_pods_where_it_tolerates_the_taints() -> None:
    worker = FakeWorker(seconds=5)
    async with running(worker, DaemonSetController) as cluster:
        await cluster.client.create(KINDS.NODE, node("no", taint("a", effect="NoSchedule")))
        await cluster.client.create(KINDS.NODE, node("yes", taint("zz", effect="NoSchedule")))
        labels = {"app": "agent"}
        spec = {"containers": [{"name": "c", "image": "i"}], "tolerations": [SLOW_TOLERATION]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        daemon_set = {
            "metadata": {"name": "agent"},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        await cluster.client.create(KINDS.DAEMON_SET, daemon_set, "default")
        await cluster.settle(4)
        assert await names(cluster) == set()
        await cluster.settle(20)
        assert len(await names(cluster)) == 1
        await set_taints(cluster, "no", taint("b", effect="NoSchedule"))
        await cluster.settle(20)
        assert len(await names(cluster)) == 1
        await set_taints(cluster, "no", taint("zz", effect="NoSchedule"))
        await cluster.settle(20)
        assert len(await names(cluster)) == 2
