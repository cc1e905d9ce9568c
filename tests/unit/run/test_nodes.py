"""Nodes: how they come to life, that they stay alive, and what happens to pods when they go."""

from typing import Any

from tests.unit.run.simulation import MIDNIGHT, Simulation, simulating

from moorage.model.gates import gates_from
from moorage.model.go.times import micro_time_text, time_text
from moorage.model.kinds import KINDS
from moorage.run.node_objects import CAPACITY, address_number, pod_address


async def _node(world: Simulation, name: str = "n1") -> dict[str, Any]:
    raw: dict[str, Any] = (await world.client.get(KINDS.NODE, name)).raw
    return raw


async def _renewed(world: Simulation, name: str = "n1") -> str:
    return str((await world.client.get(KINDS.LEASE, name, "kube-node-lease")).raw["spec"]["renewTime"])


async def test_a_node_made_by_hand_gets_all_that_it_lacks(simulation: Simulation) -> None:
    taint = {"key": "mine", "effect": "NoSchedule"}
    metadata = {"name": "n1", "labels": {"a": "b"}}
    await simulation.client.create(KINDS.NODE, {"metadata": metadata, "spec": {"taints": [taint]}})
    await simulation.pod(tolerations=[{"operator": "Exists"}])
    node = await _node(simulation)
    status = node["status"]
    assert status["capacity"] == status["allocatable"] == CAPACITY
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert conditions["Ready"] == ("True", "KubeletReady")
    assert len(conditions) == 4
    assert status["nodeInfo"]["kubeletVersion"] == "v1.36.4"
    assert {"type": "Hostname", "address": "n1"} in status["addresses"]
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert node["metadata"]["labels"] == {"a": "b"}
    assert node["spec"]["taints"] == [taint]
    assert await simulation.phase() == "Running"  # it waited for the node to know what it has


async def test_kubelet_declares_its_features_again_after_a_restart_with_other_gates() -> None:
    declared = ["ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling"]
    declared += ["InPlacePodVerticalScalingInitContainers", "RestartAllContainersOnContainerExits"]
    async with simulating(gates_from({})) as world:
        await world.node()
        await world.settle()
        assert (await _node(world))["status"]["declaredFeatures"] == declared
        await world.stop()
        world.gates = gates_from({"ExtendWebSocketsToKubelet": False})
        await world.start()
        assert (await _node(world))["status"]["declaredFeatures"] == declared[1:]
        foreign = {"nodeInfo": {"kubeletVersion": "v1.35.0", "containerRuntimeVersion": "containerd://2"}}
        status = {**foreign, "declaredFeatures": ["ItsOwn"]}
        await world.client.patch(KINDS.NODE, "n1", "", {"status": status}, subresource="status")
        await world.settle(1000)
        assert (await _node(world))["status"]["declaredFeatures"] == ["ItsOwn"]


async def test_api_server_drops_declared_features_where_its_gate_is_off() -> None:
    async with simulating(gates_from({"AllBeta": False})) as world:
        metadata = {"name": "n1", "labels": {"kubernetes.io/os": "linux"}}
        await world.client.create(KINDS.NODE, {"metadata": metadata, "status": {"declaredFeatures": ["Some"]}})
        await world.settle()
        assert "declaredFeatures" not in (await _node(world))["status"]


async def test_labels_and_taints_set_by_others_stay(simulation: Simulation) -> None:
    await simulation.node(cpu="3", **{"example.com/gpu": "2"})
    await simulation.settle()
    status = (await _node(simulation))["status"]
    wanted = {"cpu": "3", "memory": "8Gi", "pods": "10", "example.com/gpu": "2"}
    assert status["capacity"] == status["allocatable"] == wanted
    await simulation.settle(1000)
    assert (await _node(simulation))["status"]["capacity"] == wanted


async def test_hearts_beat_every_ten_seconds_and_report_every_five_minutes(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.settle()
    assert await _renewed(simulation) == _micro(MIDNIGHT + 0.001)
    lease = (await simulation.client.get(KINDS.LEASE, "n1", "kube-node-lease")).raw
    assert lease["spec"]["holderIdentity"] == "n1"
    assert lease["spec"]["leaseDurationSeconds"] == 40
    uid = (await _node(simulation))["metadata"]["uid"]
    assert lease["metadata"]["ownerReferences"][0]["uid"] == uid
    seen, revisions, times = set(), set(), 0
    for _ in range(100):
        await simulation.settle(3)
        seen.add(await _renewed(simulation))
        revisions.add((await simulation.client.get(KINDS.NODE, "n1")).revision)
        times += 3
    assert times / 10 - 1 <= len(seen) <= times / 10 + 2
    assert len(revisions) <= 2
    await simulation.settle(600)
    beats = {one["lastHeartbeatTime"] for one in (await _node(simulation))["status"]["conditions"]}
    assert min(beats) > time_text(MIDNIGHT + 300)
    changed = {one["lastTransitionTime"] for one in (await _node(simulation))["status"]["conditions"]}
    assert changed == {time_text(MIDNIGHT)}


async def test_node_declared_dead_reports_ready_again(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.settle()
    patch = {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}
    await simulation.client.patch(KINDS.NODE, "n1", "", patch, subresource="status")
    await simulation.settle(11)
    ready = {one["type"]: one["status"] for one in (await _node(simulation))["status"]["conditions"]}
    assert ready["Ready"] == "True"


async def test_a_node_that_comes_later_does_not_wait_for_the_others(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.settle(12)
    await simulation.client.create(KINDS.NODE, {"metadata": {"name": "n2"}})
    await simulation.settle()
    assert (await _node(simulation, "n2"))["status"]["allocatable"] == CAPACITY
    assert await _renewed(simulation, "n2") >= _micro(MIDNIGHT + 12)


async def test_a_lease_that_is_lost_is_made_again(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.settle()
    await simulation.client.delete(KINDS.LEASE, "n1", "kube-node-lease")
    await simulation.settle(25)
    assert await _renewed(simulation) > _micro(MIDNIGHT + 5)


async def test_pods_wait_for_their_node(simulation: Simulation) -> None:
    await simulation.pod("a")
    await simulation.pod("b")
    await simulation.client.delete(KINDS.POD, "b", "default", grace_seconds=0)
    assert await simulation.phase("a") == "Pending"
    await simulation.node(cpu="1")
    await simulation.settle()
    assert await simulation.phase("a") == "Running"
    await simulation.pod("c")
    await simulation.refusals()
    assert await simulation.phase("c") == "Failed"


async def test_a_node_that_comes_back_finds_its_pods(simulation: Simulation) -> None:
    await simulation.node(cpu="2")
    await simulation.pod("a", simulate={"completes-after": "30s"}, restartPolicy="Never")
    await simulation.pod("b")
    await simulation.client.delete(KINDS.NODE, "n1")
    await simulation.settle(5)
    await simulation.client.delete(KINDS.POD, "b", "default")
    await simulation.settle(5)
    assert await simulation.exists("b")  # nobody is there to stop it
    await simulation.node(cpu="2")
    await simulation.settle()
    assert not await simulation.exists("b")
    assert (await simulation.status("a"))["phase"] == "Running"
    await simulation.settle(20)
    assert await simulation.phase("a") == "Succeeded"
    assert simulation.said("Started") == ["Container started"] * 2
    assert await _renewed(simulation) > _micro(MIDNIGHT + 9)


async def test_real_nodes_beside_simulated_ones_are_left_alone() -> None:
    async with simulating(takes_all=False) as world:
        await world.node("real")
        assert world.kubelets is not None
        await world.kubelets.register(2, "real")  # real1, real2
        before = await world.client.get(KINDS.NODE, "real")
        await world.pod("a", "real")
        await world.pod("b", "real1")
        await world.settle(700)
        assert (await world.client.get(KINDS.NODE, "real")).revision == before.revision
        assert (await world.phase("a"), await world.phase("b")) == ("Pending", "Running")
        assert world.kubelets.node_count == 2
        patch = {"metadata": {"labels": {"simulate.moorage.dev/kubelet": "moorage"}}}
        await world.client.patch(KINDS.NODE, "real", "", patch)
        await world.settle()
        assert await world.phase("a") == "Running"
        await world.client.patch(
            KINDS.NODE, "real", "", {"metadata": {"labels": {"simulate.moorage.dev/kubelet": None}}}
        )
        await world.pod("c", "real")
        assert await world.phase("c") == "Pending"


async def test_nodes_of_another_simulator_are_never_taken(simulation: Simulation) -> None:
    theirs = {"metadata": {"labels": {"simulate.moorage.dev/kubelet": "another"}}}
    await simulation.node("theirs")
    await simulation.client.patch(KINDS.NODE, "theirs", "", theirs)
    await simulation.node("ours")
    await simulation.pod("a", "theirs")
    await simulation.pod("b", "ours")
    await simulation.settle(20)
    assert (await simulation.phase("a"), await simulation.phase("b")) == ("Pending", "Running")


async def test_the_plug_can_be_pulled(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod("a")
    await simulation.settle(20)
    await simulation.client.patch(
        KINDS.NODE, "n1", "", {"metadata": {"annotations": {"simulate.moorage.dev/stopped": "true"}}}
    )
    await simulation.settle()
    last = await _renewed(simulation)
    await simulation.pod("b")
    await simulation.client.delete(KINDS.POD, "a", "default")
    await simulation.settle(60)
    assert await _renewed(simulation) == last
    assert await simulation.exists("a")
    assert await simulation.phase("b") == "Pending"
    await simulation.client.patch(
        KINDS.NODE, "n1", "", {"metadata": {"annotations": {"simulate.moorage.dev/stopped": None}}}
    )
    await simulation.settle()
    assert await _renewed(simulation) > last
    assert not await simulation.exists("a")
    assert await simulation.phase("b") == "Running"


async def test_registered_nodes_are_ready_from_the_start() -> None:
    async with simulating(capacity={"cpu": "64", "pods": "5"}) as world:
        assert world.kubelets is not None
        await world.kubelets.register(5)
        await world.kubelets.register(7)
        nodes = {node.name: node.raw for node in (await world.client.list_all(KINDS.NODE)).items}
        assert list(nodes) == [f"node-{number}" for number in range(1, 8)]
        zones = [nodes[f"node-{number}"]["metadata"]["labels"]["topology.kubernetes.io/zone"] for number in (1, 2, 4)]
        assert zones == ["zone-a", "zone-b", "zone-a"]
        assert nodes["node-7"]["status"]["allocatable"] == {"cpu": "64", "pods": "5"}
        assert nodes["node-7"]["status"]["conditions"][3]["status"] == "True"
        await world.settle()
        assert world.kubelets.node_count == 7
        assert world.measured("kubelet_simulated_nodes") == "kubelet_simulated_nodes 7"


def _micro(seconds: float) -> str:
    return micro_time_text(int(seconds * 1_000_000))


def test_addresses_can_be_counted() -> None:
    for number in (1, 255, 256, 70_000, (1 << 22) - 1):
        assert address_number(pod_address(number)) == number
    for text in ("", "10.0.0.1", "10.1.2", "a.b.c.d", "10.128.x.1", "10.255.255.255.1", "192.168.0.1"):
        assert address_number(text) == 0
