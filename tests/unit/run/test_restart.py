"""A process that ends and comes back, and a server that cannot be reached for a while."""

from typing import Any

from tests.unit.run.simulation import MIDNIGHT, Simulation, container, simulating

from moorage.client.protocol import Object, PatchType, Unreachable
from moorage.model.api_error import internal
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS, Kind
from moorage.serve.requests.loopback import LoopbackClient


async def test_running_pods_go_on_where_they_were(simulation: Simulation) -> None:
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 50}
    await simulation.node(cpu="6")
    await simulation.pod("forever")
    await simulation.pod("job", restartPolicy="Never", simulate={"completes-after": "60s"})
    await simulation.pod("crash", simulate={"completes-after": "2s"})
    await simulation.pod("slow", containers=[container(readinessProbe=probe)])
    await simulation.pod("held", simulate={"stop-delay": "20s"})
    await simulation.settle(5)
    await simulation.client.delete(KINDS.POD, "held", "default")
    await simulation.settle(1)
    before = {pod.name: pod.revision for pod in (await simulation.client.list_all(KINDS.POD)).items}
    await simulation.stop()
    await simulation.settle(3)
    await simulation.start()
    assert {pod.name: pod.revision for pod in (await simulation.client.list_all(KINDS.POD)).items} == before
    assert simulation.measured("kubelet_running_pods") == "kubelet_running_pods 4"
    await simulation.pod("new")
    assert (await simulation.status("new"))["podIP"] == "10.128.0.6"
    await simulation.settle(15)
    (crash,) = (await simulation.status("crash"))["containerStatuses"]
    assert crash["restartCount"] == 2
    assert crash["state"]["waiting"]["message"].startswith("back-off 20s restarting failed container=c")
    await simulation.settle(10)
    assert not await simulation.exists("held")
    await simulation.settle(60)
    status = await simulation.status("job")
    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["state"]["terminated"]["startedAt"] == time_text(MIDNIGHT)
    assert (await simulation.conditions("slow"))["Ready"] == "True"
    assert await simulation.phase("forever") == "Running"


async def test_those_that_run_keep_their_place_before_those_that_wait(simulation: Simulation) -> None:
    await simulation.node(cpu="1")
    await simulation.pod("z")
    await simulation.stop()
    await simulation.pod("a")
    await simulation.start()
    await simulation.refusals()
    assert (await simulation.phase("z"), await simulation.phase("a")) == ("Running", "Failed")


async def test_what_finished_or_was_refused_stays_so(simulation: Simulation) -> None:
    await simulation.node(cpu="1")
    await simulation.pod("done", restartPolicy="Never", simulate={"completes-after": "1s"})
    await simulation.pod("refused")
    await simulation.settle(2)
    await simulation.pod("fits")
    await simulation.stop()
    await simulation.start()
    await simulation.settle(100)
    assert [await simulation.phase(name) for name in ("done", "refused", "fits")] == ["Succeeded", "Failed", "Running"]


class _BadLine(LoopbackClient):
    """Loses requests while it is told to, some of them after they were carried out."""

    fails = 0
    conflicts = False

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Any,
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        if self.fails and kind.name == "Pod":
            self.fails -= 1
            if self.fails % 2:
                await super().patch(kind, name, namespace, patch, subresource=subresource, patch_type=patch_type)
            if self.conflicts:
                raise internal("etcdserver: request timed out")
            raise Unreachable("no route to host")
        return await super().patch(kind, name, namespace, patch, subresource=subresource, patch_type=patch_type)

    async def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> None:
        if self.fails:
            self.fails -= 1
            raise Unreachable("no route to host")
        await super().delete(kind, name, namespace, **options)


async def test_nothing_is_lost_while_the_server_is_away() -> None:
    async with simulating(starts=False) as world:
        for conflicts in (False, True):
            client = _BadLine(world.api, "kubelet")
            client.conflicts = conflicts
            await world.start(client)
            name = f"n{int(conflicts)}"
            await world.node(name)
            client.fails = 5
            await world.pod(f"a{name}", name, restartPolicy="Never", simulate={"completes-after": "2s"})
            await world.settle(1)
            assert client.fails == 3
            await world.settle(60)
            assert await world.phase(f"a{name}") == "Succeeded"
            await world.pod(f"b{name}", name)
            client.fails = 3
            await world.client.delete(KINDS.POD, f"b{name}", "default")
            await world.settle(0.5)
            assert await world.exists(f"b{name}")
            await world.settle(10)
            assert not await world.exists(f"b{name}")
            assert world.kubelets is not None
            assert len(world.kubelets._writer) == 0
            await world.stop()


async def test_a_pod_that_is_gone_is_not_written_to() -> None:
    async with simulating(starts=False) as world:
        client = _BadLine(world.api, "kubelet")
        await world.start(client)
        await world.node()
        client.fails = 1
        await world.pod()
        await world.client.delete(KINDS.POD, "p", "default", grace_seconds=0)
        await world.pod()
        await world.settle(100)
        assert await world.phase() == "Running"
        assert world.kubelets is not None
        assert len(world.kubelets._writer) == 0


async def test_observed_generation_follows_the_pod(simulation: Simulation) -> None:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}

    async def add(world: Simulation, number: int) -> None:
        more = {"op": "add", "path": "/spec/tolerations/-", "value": {**toleration, "key": f"k{number}"}}
        await world.client.patch(KINDS.POD, "p", "default", [more], patch_type=PatchType.JSON)
        await world.settle()

    await simulation.node()
    await simulation.pod()
    assert (await simulation.status())["observedGeneration"] == 1
    await add(simulation, 1)
    assert (await simulation.status())["observedGeneration"] == 2
    await simulation.stop()
    await add(simulation, 2)
    assert (await simulation.status())["observedGeneration"] == 2
    await simulation.start()
    assert (await simulation.status())["observedGeneration"] == 3
