"""Pods that nobody else would remove; in virtual time with the real API server."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node, pod, taint
from tests.virtual_cluster import VirtualCluster

from moorage.control.pod_garbage import PodGarbageController
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
WAITS: Raw = {"finalizers": ["example.com/wait"]}


@asynccontextmanager
async def running(threshold: int = 12_500) -> AsyncIterator[VirtualCluster]:
    kept: list[VirtualCluster] = []

    def make() -> list[PodGarbageController]:
        metrics = kept[0].metrics if kept else Metrics()
        return [PodGarbageController(controller_context(metrics=metrics), threshold)]

    async with VirtualCluster.running(make) as cluster:
        kept.append(cluster)
        await cluster.restart()
        yield cluster


@pytest.fixture
def cluster() -> AbstractAsyncContextManager[VirtualCluster]:
    return running()


async def names(cluster: VirtualCluster) -> set[str]:
    return {found.name for found in await cluster.all(KINDS.POD)}


async def set_phase(cluster: VirtualCluster, name: str, phase: str, **more: Any) -> None:
    await cluster.client.patch(KINDS.POD, name, "default", {"status": {"phase": phase, **more}}, subresource="status")


def counted(cluster: VirtualCluster, reason: str) -> bool:
    line = f'pod_gc_collector_force_delete_pods_total{{namespace="default",reason="{reason}"}} 1'
    return line in cluster.metrics.render()[0].decode()


async def test_pods_of_a_node_that_is_gone_go_after_the_quarantine(cluster: VirtualCluster) -> None:
    seen: list[Raw] = []
    await cluster.client.create(KINDS.NODE, node("n"))
    await cluster.client.create(KINDS.POD, pod("p", "n", metadata=WAITS))
    await cluster.client.create(KINDS.POD, pod("elsewhere", "other"))
    await cluster.client.create(KINDS.NODE, node("other"))
    await cluster.settle(100)
    await cluster.client.delete(KINDS.NODE, "n")
    await cluster.settle(39)
    assert (await cluster.client.get(KINDS.POD, "p", "default")).view.metadata.deletionTimestamp is None
    await cluster.settle(2)
    seen.append((await cluster.client.get(KINDS.POD, "p", "default")).raw)
    await cluster.settle(1000)
    assert await names(cluster) == {"p", "elsewhere"}
    await cluster.client.patch(KINDS.POD, "p", "default", {"metadata": {"finalizers": None}})
    await cluster.settle(1)
    assert await names(cluster) == {"elsewhere"}
    assert seen[0]["status"]["phase"] == "Failed"
    condition = next(one for one in seen[0]["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert (condition["status"], condition["reason"]) == ("True", "DeletionByPodGC")
    assert condition["message"] == "PodGC: node no longer exists"
    assert counted(cluster, "orphaned")


async def test_a_node_that_comes_back_in_time_keeps_its_pods(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.POD, pod("p", "n"))
    await cluster.settle(30)
    await cluster.client.create(KINDS.NODE, node("n"))
    await cluster.settle(1)
    await cluster.client.delete(KINDS.NODE, "n")
    await cluster.settle(39)
    assert await names(cluster) == {"p"}
    await cluster.settle(2)
    assert await names(cluster) == set()


async def test_unscheduled_pods_that_are_deleted_fail(cluster: VirtualCluster) -> None:
    for name in ("p", "stays"):
        await cluster.client.create(KINDS.POD, pod(name, "", metadata=WAITS))
    await cluster.client.delete(KINDS.POD, "p", "default")
    await cluster.settle(100)
    assert (await cluster.client.get(KINDS.POD, "p", "default")).view.status.phase == "Failed"
    assert (await cluster.client.get(KINDS.POD, "stays", "default")).view.status.phase == "Pending"
    assert counted(cluster, "unscheduled")


@pytest.mark.parametrize("ready", ["False", "True"])
async def test_pods_that_are_deleted_on_a_node_out_of_service(ready: str, cluster: VirtualCluster) -> None:
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    await cluster.client.create(KINDS.NODE, node("n", status=status))
    slow = {"terminationGracePeriodSeconds": 300}
    await cluster.client.create(KINDS.POD, pod("deleted", "n", **slow))
    await cluster.client.create(KINDS.POD, pod("stays", "n", **slow))
    await cluster.client.delete(KINDS.POD, "deleted", "default")
    await cluster.settle(1)
    assert await names(cluster) == {"deleted", "stays"}
    out = taint("node.kubernetes.io/out-of-service", "nodeshutdown")
    await cluster.client.patch(KINDS.NODE, "n", "", {"spec": {"taints": [out]}})
    await cluster.settle(1)
    assert await names(cluster) == ({"stays"} if ready == "False" else {"deleted", "stays"})
    assert counted(cluster, "out-of-service") is (ready == "False")


async def test_only_so_many_pods_that_are_over_are_kept_and_evicted_ones_go_first() -> None:
    async with running(threshold=3) as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        for index in range(6):
            await cluster.client.create(KINDS.POD, pod(f"p{index}", "n"))
            await cluster.settle(1)
        for index in range(5):
            more = {"reason": "Evicted"} if index == 4 else {}
            await set_phase(cluster, f"p{index}", "Failed" if more else "Succeeded", **more)
            await cluster.settle(1)
        assert await names(cluster) == {"p1", "p2", "p3", "p5"}


async def test_many_at_once() -> None:
    async with running(threshold=10) as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        await cluster.stop()
        for index in range(1300):
            await cluster.client.create(KINDS.POD, pod(f"p{index:04}", "n"))
            await set_phase(cluster, f"p{index:04}", "Succeeded")
        await cluster.start()
        await cluster.settle(10)
        assert await names(cluster) == {f"p{index:04}" for index in range(1290, 1300)}


async def test_without_a_threshold_all_are_kept() -> None:
    async with running(threshold=0) as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        for index in range(3):
            await cluster.client.create(KINDS.POD, pod(f"p{index}", "n"))
            await set_phase(cluster, f"p{index}", "Succeeded")
        await cluster.settle(100)
        assert len(await names(cluster)) == 3
