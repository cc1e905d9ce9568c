"""Nodes: how they come to life, that they stay alive, and what happens to pods when they go."""

from typing import Any

from tests.unit.run.simulation import LEASE, MIDNIGHT, NODE, POD, Simulation, simulate

from moorage.run.node_objects import CAPACITY, address_number, micro_time_text, pod_address
from moorage.run.pod_status import time_text


async def _node(world: Simulation, name: str = "n1") -> dict[str, Any]:
    raw: dict[str, Any] = (await world.client.get(NODE, name)).raw
    return raw


async def _renewed(world: Simulation, name: str = "n1") -> str:
    return str((await world.client.get(LEASE, name, "kube-node-lease")).raw["spec"]["renewTime"])


def test_a_node_made_by_hand_gets_all_that_it_lacks() -> None:
    async def story(world: Simulation) -> None:
        taint = {"key": "mine", "effect": "NoSchedule"}
        metadata = {"name": "n1", "labels": {"a": "b"}}
        await world.client.create(NODE, {"metadata": metadata, "spec": {"taints": [taint]}})
        await world.pod(tolerations=[{"operator": "Exists"}])
        node = await _node(world)
        status = node["status"]
        assert status["capacity"] == status["allocatable"] == CAPACITY
        conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
        assert conditions["Ready"] == ("True", "KubeletReady")
        assert len(conditions) == 4
        assert status["nodeInfo"]["kubeletVersion"] == "v1.36.4"
        assert {"type": "Hostname", "address": "n1"} in status["addresses"]
        assert node["metadata"]["labels"] == {"a": "b"}
        assert node["spec"]["taints"] == [taint]
        assert await world.phase() == "Running"  # it waited for the node to know what it has

    simulate(story)


def test_what_the_owner_says_of_a_node_stays() -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="3", **{"example.com/gpu": "2"})
        await world.settle()
        status = (await _node(world))["status"]
        wanted = {"cpu": "3", "memory": "8Gi", "pods": "10", "example.com/gpu": "2"}
        assert status["capacity"] == status["allocatable"] == wanted
        await world.settle(1000)
        assert (await _node(world))["status"]["capacity"] == wanted

    simulate(story)


def test_hearts_beat_every_ten_seconds_and_report_every_five_minutes() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.settle()
        assert await _renewed(world) == micro_time_text(MIDNIGHT + 0.001)
        lease = (await world.client.get(LEASE, "n1", "kube-node-lease")).raw
        assert lease["spec"]["holderIdentity"] == "n1"
        assert lease["spec"]["leaseDurationSeconds"] == 40
        uid = (await _node(world))["metadata"]["uid"]
        assert lease["metadata"]["ownerReferences"][0]["uid"] == uid
        seen, revisions, times = set(), set(), 0
        for _ in range(100):
            await world.settle(3)
            seen.add(await _renewed(world))
            revisions.add((await world.client.get(NODE, "n1")).revision)
            times += 3
        assert times / 10 - 1 <= len(seen) <= times / 10 + 2
        assert len(revisions) <= 2
        await world.settle(600)
        beats = {one["lastHeartbeatTime"] for one in (await _node(world))["status"]["conditions"]}
        assert min(beats) > time_text(MIDNIGHT + 300)
        changed = {one["lastTransitionTime"] for one in (await _node(world))["status"]["conditions"]}
        assert changed == {time_text(MIDNIGHT)}

    simulate(story)


def test_a_node_that_was_declared_dead_says_that_it_is_not() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.settle()
        patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}
        await world.client.patch(NODE, "n1", "", patch, subresource="status")
        await world.settle(11)
        ready = {one["type"]: one["status"] for one in (await _node(world))["status"]["conditions"]}
        assert ready["Ready"] == "True"

    simulate(story)


def test_a_node_that_comes_later_does_not_wait_for_the_others() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.settle(12)
        await world.client.create(NODE, {"metadata": {"name": "n2"}})
        await world.settle()
        assert (await _node(world, "n2"))["status"]["allocatable"] == CAPACITY
        assert await _renewed(world, "n2") >= micro_time_text(MIDNIGHT + 12)

    simulate(story)


def test_a_lease_that_is_lost_is_made_again() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.settle()
        await world.client.delete(LEASE, "n1", "kube-node-lease")
        await world.settle(25)
        assert await _renewed(world) > micro_time_text(MIDNIGHT + 5)

    simulate(story)


def test_pods_wait_for_their_node() -> None:
    async def story(world: Simulation) -> None:
        await world.pod("a")
        await world.pod("b")
        await world.client.delete(POD, "b", "default", grace_seconds=0)
        assert await world.phase("a") == "Pending"
        await world.node(cpu="1")
        await world.settle()
        assert await world.phase("a") == "Running"
        await world.pod("c")
        assert await world.phase("c") == "Failed"

    simulate(story)


def test_a_node_that_comes_back_finds_its_pods() -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="2")
        await world.pod("a", simulate={"completes-after": "30s"}, restartPolicy="Never")
        await world.pod("b")
        await world.client.delete(NODE, "n1")
        await world.settle(5)
        await world.client.delete(POD, "b", "default")
        await world.settle(5)
        assert await world.exists("b")  # nobody is there to stop it
        await world.node(cpu="2")
        await world.settle()
        assert not await world.exists("b")
        assert (await world.status("a"))["phase"] == "Running"
        await world.settle(20)
        assert await world.phase("a") == "Succeeded"
        assert world.said("Started") == ["Container started"] * 2
        assert await _renewed(world) > micro_time_text(MIDNIGHT + 9)

    simulate(story)


def test_real_nodes_beside_simulated_ones_are_left_alone() -> None:
    async def story(world: Simulation) -> None:
        await world.node("real")
        assert world.kubelets is not None
        await world.kubelets.register(2, "real")  # real1, real2
        before = await world.client.get(NODE, "real")
        await world.pod("a", "real")
        await world.pod("b", "real1")
        await world.settle(700)
        assert (await world.client.get(NODE, "real")).revision == before.revision
        assert (await world.phase("a"), await world.phase("b")) == ("Pending", "Running")
        assert world.kubelets.node_count == 2
        patch = {"metadata": {"labels": {"simulate.moorage.dev/kubelet": "moorage"}}}
        await world.client.patch(NODE, "real", "", patch)
        await world.settle()
        assert await world.phase("a") == "Running"
        await world.client.patch(NODE, "real", "", {"metadata": {"labels": {"simulate.moorage.dev/kubelet": None}}})
        await world.pod("c", "real")
        assert await world.phase("c") == "Pending"

    simulate(story, takes_all=False)


def test_nodes_of_another_simulator_are_left_to_it_even_by_who_takes_all() -> None:
    async def story(world: Simulation) -> None:
        theirs = {"metadata": {"labels": {"simulate.moorage.dev/kubelet": "another"}}}
        await world.node("theirs")
        await world.client.patch(NODE, "theirs", "", theirs)
        await world.node("ours")
        await world.pod("a", "theirs")
        await world.pod("b", "ours")
        await world.settle(20)
        assert (await world.phase("a"), await world.phase("b")) == ("Pending", "Running")

    simulate(story)


def test_the_plug_can_be_pulled() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod("a")
        await world.settle(20)
        await world.client.patch(
            NODE, "n1", "", {"metadata": {"annotations": {"simulate.moorage.dev/stopped": "true"}}}
        )
        await world.settle()
        last = await _renewed(world)
        await world.pod("b")
        await world.client.delete(POD, "a", "default")
        await world.settle(60)
        assert await _renewed(world) == last
        assert await world.exists("a")
        assert await world.phase("b") == "Pending"
        await world.client.patch(NODE, "n1", "", {"metadata": {"annotations": {"simulate.moorage.dev/stopped": None}}})
        await world.settle()
        assert await _renewed(world) > last
        assert not await world.exists("a")
        assert await world.phase("b") == "Running"

    simulate(story)


def test_registered_nodes_are_ready_from_the_start() -> None:
    async def story(world: Simulation) -> None:
        assert world.kubelets is not None
        await world.kubelets.register(5)
        await world.kubelets.register(7)
        nodes = {node.name: node.raw for node in (await world.client.list_all(NODE)).items}
        assert list(nodes) == [f"node-{number}" for number in range(1, 8)]
        zones = [nodes[f"node-{number}"]["metadata"]["labels"]["topology.kubernetes.io/zone"] for number in (1, 2, 4)]
        assert zones == ["zone-a", "zone-b", "zone-a"]
        assert nodes["node-7"]["status"]["allocatable"] == {"cpu": "64", "pods": "5"}
        assert nodes["node-7"]["status"]["conditions"][3]["status"] == "True"
        await world.settle()
        assert world.kubelets.node_count == 7
        assert world.measured("kubelet_simulated_nodes") == "kubelet_simulated_nodes 7"

    simulate(story, capacity={"cpu": "64", "pods": "5"})


def test_addresses_can_be_counted() -> None:
    for number in (1, 255, 256, 70_000, (1 << 22) - 1):
        assert address_number(pod_address(number)) == number
    for text in ("", "10.0.0.1", "10.1.2", "a.b.c.d", "10.128.x.1", "10.255.255.255.1", "192.168.0.1"):
        assert address_number(text) == 0
