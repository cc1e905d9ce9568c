"""Nodes that fall silent, come back, are told to take no pods; in virtual time with the real API server."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node, pod, taint
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import time_of_day

from moorage.control.node_lifecycle.controller import NodeLifecycleController
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
NAMESPACE = "kube-node-lease"


class Nodes:
    """A cluster whose nodes beat as long as nobody stops them."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self._hearts: dict[str, asyncio.Task[None]] = {}

    async def start(self, names: Iterable[str], zone: str = "z", **more: Any) -> None:
        for name in names:
            labels = {"topology.kubernetes.io/zone": zone}
            await self.cluster.client.create(KINDS.NODE, node(name, metadata={"labels": labels}, **more))
            await self.cluster.client.create(KINDS.LEASE, {"metadata": {"name": name}, "spec": {}}, NAMESPACE)
            await self.revive(name)

    async def report(self, name: str, **conditions: str) -> None:
        text = time_text(time_of_day())
        said = {
            "MemoryPressure": "False",
            "DiskPressure": "False",
            "PIDPressure": "False",
            "Ready": "True",
        } | conditions
        told = [
            {"type": kind, "status": status, "lastHeartbeatTime": text, "lastTransitionTime": text, "reason": "R"}
            for kind, status in said.items()
        ]
        await self.cluster.client.patch(KINDS.NODE, name, "", {"status": {"conditions": told}}, subresource="status")

    async def revive(self, name: str) -> None:
        await self.report(name)
        self._hearts[name] = asyncio.create_task(self._beat(name))

    def kill(self, *names: str) -> None:
        for name in names:
            self._hearts.pop(name).cancel()

    async def _beat(self, name: str) -> None:
        while True:
            text = time_text(time_of_day()).replace("Z", ".000000Z")
            await self.cluster.client.patch(KINDS.LEASE, name, NAMESPACE, {"spec": {"renewTime": text}})
            await asyncio.sleep(10)

    async def taints(self, name: str) -> set[tuple[str, str]]:
        found = await self.cluster.client.get(KINDS.NODE, name)
        return {(one.key.rpartition("/")[2], one.effect) for one in found.view.spec.taints}

    async def evicting(self) -> set[str]:
        """The nodes whose pods must go."""
        found = await self.cluster.all(KINDS.NODE)
        return {one.name for one in found if any(taint.effect == "NoExecute" for taint in one.view.spec.taints)}

    def stop(self) -> None:
        self.kill(*list(self._hearts))


@asynccontextmanager
async def running() -> AsyncIterator[Nodes]:
    kept: list[VirtualCluster] = []

    def make() -> list[NodeLifecycleController]:
        metrics = kept[0].metrics if kept else Metrics()
        return [NodeLifecycleController(controller_context(metrics=metrics))]

    async with VirtualCluster.running(make) as cluster:
        kept.append(cluster)
        await cluster.restart()
        nodes = Nodes(cluster)
        try:
            yield nodes
        finally:
            nodes.stop()


@pytest.fixture
def nodes() -> AbstractAsyncContextManager[Nodes]:
    return running()


async def test_a_node_that_beats_is_left_alone(nodes: Nodes) -> None:
    await nodes.start(["a", "b"])
    await nodes.cluster.settle(1)
    before = (await nodes.cluster.client.get(KINDS.NODE, "a")).revision
    await nodes.cluster.settle(10_000)
    assert (await nodes.cluster.client.get(KINDS.NODE, "a")).revision == before
    cluster = nodes.cluster
    assert cluster.reasons() == ["RegisteredNode", "RegisteredNode"]
    assert cluster.events[0].message == "Node a event: Registered Node a in Controller"


async def test_a_silent_node_becomes_unknown_and_its_pods_are_not_ready(nodes: Nodes) -> None:
    await nodes.start(["a", "b"])
    ready = [{"type": "Ready", "status": "True", "reason": "Kept"}]
    await nodes.cluster.client.create(KINDS.POD, pod("p", "a"))
    await nodes.cluster.client.patch(KINDS.POD, "p", "default", {"status": {"conditions": ready}}, subresource="status")
    await nodes.cluster.settle(30)
    nodes.kill("a")
    await nodes.cluster.settle(39)
    assert await nodes.taints("a") == set()
    await nodes.cluster.settle(22)
    found = await nodes.cluster.client.get(KINDS.NODE, "a")
    told = {one.type: (one.status, one.reason, one.message) for one in found.view.status.conditions}
    silent = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
    assert told == dict.fromkeys(("MemoryPressure", "DiskPressure", "PIDPressure", "Ready"), silent)
    assert await nodes.taints("a") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    assert all(one.timeAdded for one in found.view.spec.taints)
    pod_found = (await nodes.cluster.client.get(KINDS.POD, "p", "default")).view
    assert [(one.status, one.reason) for one in pod_found.status.conditions if one.type == "Ready"] == [
        ("False", "Kept")
    ]
    await nodes.revive("a")
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == set()
    cluster = nodes.cluster
    assert [(one.reason, one.message) for one in cluster.events if one.involved["name"] in ("a", "p")][1:] == [
        ("NodeNotReady", "Node a status is now: NodeNotReady"),
        ("NodeNotReady", "Node is not ready"),
    ]
    evictions = 'node_collector_evictions_total{zone=":z"} 1'
    assert evictions in cluster.metrics.render()[0].decode()


async def test_a_node_that_never_says_anything_is_given_a_minute(nodes: Nodes) -> None:
    await nodes.start(["a"])
    await nodes.cluster.client.create(KINDS.NODE, node("mute"))
    await nodes.cluster.settle(55)
    assert await nodes.taints("mute") == set()
    await nodes.cluster.settle(12)
    found = await nodes.cluster.client.get(KINDS.NODE, "mute")
    told = {(one.type, one.status, one.reason, one.message) for one in found.view.status.conditions}
    assert ("Ready", "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status.") in told
    assert await nodes.taints("mute") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    assert "NodeNotReady" not in nodes.cluster.reasons()


async def test_a_node_that_says_it_is_not_ready(nodes: Nodes) -> None:
    await nodes.start(["a", "b"])
    await nodes.cluster.settle(10)
    await nodes.report("a", Ready="False")
    await nodes.cluster.settle(10)
    assert await nodes.taints("a") == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
    nodes.kill("a")
    await nodes.cluster.settle(66)
    assert await nodes.taints("a") == {("unreachable", "NoSchedule"), ("unreachable", "NoExecute")}
    await nodes.report("a", Ready="False")
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == {("not-ready", "NoSchedule"), ("not-ready", "NoExecute")}
    await nodes.report("a")
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == set()


@pytest.mark.parametrize(
    ("condition", "key"),
    [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ],
)
async def test_conditions_become_taints_and_other_taints_stay(condition: str, key: str, nodes: Nodes) -> None:
    mine = [taint("mine", "1", "NoSchedule"), taint("mine", "2", "NoExecute")]
    await nodes.start(["a"], spec={"taints": mine})
    await nodes.report("a", **{condition: "True"})
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == {("mine", "NoSchedule"), ("mine", "NoExecute"), (key, "NoSchedule")}
    await nodes.report("a", **{condition: "False"})
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == {("mine", "NoSchedule"), ("mine", "NoExecute")}


async def test_unschedulable_and_labels(nodes: Nodes) -> None:
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"}
    await nodes.cluster.client.create(KINDS.NODE, node("a", metadata={"labels": labels}, spec={"unschedulable": True}))
    await nodes.cluster.settle(1)
    found = await nodes.cluster.client.get(KINDS.NODE, "a")
    assert found.view.metadata.labels["beta.kubernetes.io/arch"] == "arm64"
    assert found.view.metadata.labels["beta.kubernetes.io/os"] == "linux"
    assert await nodes.taints("a") == {("unschedulable", "NoSchedule")}
    await nodes.cluster.client.patch(KINDS.NODE, "a", "", {"spec": {"unschedulable": None}})
    await nodes.cluster.settle(1)
    assert await nodes.taints("a") == set()


async def test_nodes_of_a_zone_are_emptied_one_by_one(nodes: Nodes) -> None:
    names = [f"n{index}" for index in range(20)]
    await nodes.start(names)
    await nodes.cluster.settle(22)
    nodes.kill(*names[:5])
    await nodes.cluster.settle(60)
    sizes = []
    for _ in range(6):
        sizes.append(len(await nodes.evicting()))
        await nodes.cluster.settle(10)
    assert sizes == [1, 2, 3, 4, 5, 5]


async def test_new_nodes_are_judged_once_all_have_reported(nodes: Nodes) -> None:
    for name in ("a", "b", "c"):
        await nodes.cluster.client.create(KINDS.NODE, node(name))
    await nodes.cluster.settle()
    for name, status in (("a", "False"), ("b", "False"), ("c", "True")):
        await nodes.report(name, Ready=status)
    await nodes.cluster.settle(1)
    assert await nodes.evicting() == {"a"}
    await nodes.cluster.settle(10)
    assert await nodes.evicting() == {"a", "b"}


async def test_new_nodes_that_never_report_are_waited_for_no_longer_than_a_monitor_period(nodes: Nodes) -> None:
    await nodes.cluster.client.create(KINDS.NODE, node("mute"))
    for name, status in (("a", "False"), ("c", "True")):
        await nodes.cluster.client.create(KINDS.NODE, node(name))
        await nodes.report(name, Ready=status)
    await nodes.cluster.settle(4)
    assert await nodes.evicting() == set()
    await nodes.cluster.settle(2)
    assert await nodes.evicting() == {"a"}


async def test_nodes_that_become_not_ready_together_are_judged_together(nodes: Nodes) -> None:
    await nodes.start(["a", "b"])
    await nodes.cluster.settle(22)
    for name in ("a", "b"):
        await nodes.report(name, Ready="False")
        await nodes.cluster.settle(0.02)
    await nodes.cluster.settle(60)
    assert await nodes.evicting() == set()
    assert 'node_collector_evictions_total{zone=":z"}' not in nodes.cluster.metrics.render()[0].decode()


async def test_the_node_that_is_not_ready_for_the_longest_time_is_emptied_first(nodes: Nodes) -> None:
    for name, since in (("a", 20), ("b", 10), ("c", 0)):
        ready = {"type": "Ready", "status": "False", "lastTransitionTime": time_text(time_of_day() + since)}
        await nodes.cluster.client.create(KINDS.NODE, node(name, status={"conditions": [ready]}))
    await nodes.start(["d", "e", "f"], "")
    order = []
    for _ in range(3):
        await nodes.cluster.settle(1)
        order.append(await nodes.evicting())
        await nodes.cluster.settle(9)
    assert order == [{"c"}, {"b", "c"}, {"a", "b", "c"}]


async def test_a_small_zone_of_which_most_is_down_is_not_emptied_at_all(nodes: Nodes) -> None:
    names = [f"n{index}" for index in range(10)]
    await nodes.start(names)
    await nodes.cluster.settle(22)
    nodes.kill(*names[:6])
    await nodes.cluster.settle(1000)
    assert await nodes.evicting() == set()
    for name in names[:2]:
        await nodes.revive(name)
    await nodes.cluster.settle(100)
    assert await nodes.evicting() == set(names[2:6])


async def test_a_large_zone_of_which_most_is_down_is_emptied_slowly(nodes: Nodes) -> None:
    names = [f"n{index}" for index in range(60)]
    await nodes.start(names)
    await nodes.cluster.settle(22)
    nodes.kill(*names[:40])
    await nodes.cluster.settle(560)
    assert 4 <= len(await nodes.evicting()) <= 6


async def test_if_everything_is_down_it_is_rather_us_who_are_cut_off(nodes: Nodes) -> None:
    await nodes.start(["a1", "a2"], "a")
    await nodes.start(["b1", "b2"], "b")
    await nodes.cluster.settle(22)
    nodes.kill("a1")
    await nodes.cluster.settle(70)
    assert await nodes.evicting() == {"a1"}
    nodes.kill("a2", "b1", "b2")
    await nodes.cluster.settle(1000)
    assert await nodes.evicting() == set()
    assert await nodes.taints("b1") == {("unreachable", "NoSchedule")}
    await nodes.revive("b1")
    await nodes.cluster.settle(100)
    assert await nodes.evicting() == {"a1", "a2", "b2"}


async def test_a_whole_zone_that_is_down_is_emptied_if_others_are_not(nodes: Nodes) -> None:
    await nodes.start(["a1", "a2"], "a")
    await nodes.start(["b1"], "b")
    await nodes.cluster.settle(22)
    nodes.kill("a1", "a2")
    await nodes.cluster.settle(100)
    assert await nodes.evicting() == {"a1", "a2"}


async def test_silence_while_the_controller_slept_proves_nothing(nodes: Nodes) -> None:
    await nodes.start(["a", "b"])
    await nodes.cluster.settle(22)
    await nodes.cluster.stop()
    nodes.kill("a")
    await nodes.cluster.settle(1000)
    await nodes.cluster.start()
    await nodes.cluster.settle(45)
    assert await nodes.taints("a") == set()
    await nodes.cluster.settle(15)
    assert await nodes.evicting() == {"a"}
    await nodes.cluster.restart()
    await nodes.cluster.settle(5)
    assert await nodes.evicting() == {"a"}


async def test_a_node_that_is_removed_is_reported(nodes: Nodes) -> None:
    await nodes.start(["a"])
    await nodes.cluster.settle(1)
    nodes.kill("a")
    await nodes.cluster.client.delete(KINDS.NODE, "a")
    await nodes.cluster.settle(1)
    cluster = nodes.cluster
    assert [one.message for one in cluster.events] == [
        "Node a event: Registered Node a in Controller",
        "Node a event: Removing Node a from Controller",
    ]
    assert [one.reason for one in cluster.events] == ["RegisteredNode", "RemovingNode"]
