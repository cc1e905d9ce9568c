"""A process that ends and comes back, and a server that cannot be reached for a while."""

from typing import Any

from tests.unit.run.simulation import MIDNIGHT, POD, Simulation, container, simulate

from moorage.client.protocol import Object, PatchType, Unreachable
from moorage.model.api_error import internal
from moorage.model.kinds import Kind
from moorage.run.pod_status import time_text
from moorage.serve.loopback import LoopbackClient


def test_running_pods_go_on_where_they_were() -> None:
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 50}

    async def story(world: Simulation) -> None:
        await world.node(cpu="6")
        await world.pod("forever")
        await world.pod("job", restartPolicy="Never", simulate={"completes-after": "60s"})
        await world.pod("crash", simulate={"completes-after": "2s"})
        await world.pod("slow", containers=[container(readinessProbe=probe)])
        await world.pod("held", simulate={"stop-delay": "20s"})
        await world.settle(5)
        await world.client.delete(POD, "held", "default")
        await world.settle(1)
        before = {pod.name: pod.revision for pod in (await world.client.list_all(POD)).items}
        await world.stop()
        await world.settle(3)
        await world.start()
        assert {pod.name: pod.revision for pod in (await world.client.list_all(POD)).items} == before
        assert world.measured("kubelet_running_pods") == "kubelet_running_pods 4"
        await world.pod("new")
        assert (await world.status("new"))["podIP"] == "10.128.0.6"
        await world.settle(15)
        (crash,) = (await world.status("crash"))["containerStatuses"]
        assert crash["restartCount"] == 2
        assert crash["state"]["waiting"]["message"].startswith("back-off 20s restarting failed container=c")
        await world.settle(10)
        assert not await world.exists("held")
        await world.settle(60)
        status = await world.status("job")
        assert status["phase"] == "Succeeded"
        assert status["containerStatuses"][0]["state"]["terminated"]["startedAt"] == time_text(MIDNIGHT)
        assert (await world.conditions("slow"))["Ready"] == "True"
        assert await world.phase("forever") == "Running"

    simulate(story)


def test_those_that_run_keep_their_place_before_those_that_wait() -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        await world.pod("z")
        await world.stop()
        await world.pod("a")
        await world.start()
        assert (await world.phase("z"), await world.phase("a")) == ("Running", "Failed")

    simulate(story)


def test_what_finished_or_was_refused_stays_so() -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        await world.pod("done", restartPolicy="Never", simulate={"completes-after": "1s"})
        await world.pod("refused")
        await world.settle(2)
        await world.pod("fits")
        await world.stop()
        await world.start()
        await world.settle(100)
        assert [await world.phase(name) for name in ("done", "refused", "fits")] == ["Succeeded", "Failed", "Running"]

    simulate(story)


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


def test_nothing_is_lost_while_the_server_is_away() -> None:
    async def story(world: Simulation) -> None:
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
            await world.client.delete(POD, f"b{name}", "default")
            await world.settle(0.5)
            assert await world.exists(f"b{name}")
            await world.settle(10)
            assert not await world.exists(f"b{name}")
            assert world.kubelets is not None
            assert len(world.kubelets._writer) == 0
            await world.stop()

    simulate(story, starts=False)


def test_a_pod_that_is_gone_is_not_written_to() -> None:
    async def story(world: Simulation) -> None:
        client = _BadLine(world.api, "kubelet")
        await world.start(client)
        await world.node()
        client.fails = 1
        await world.pod()
        await world.client.delete(POD, "p", "default", grace_seconds=0)
        await world.pod()
        await world.settle(100)
        assert await world.phase() == "Running"
        assert world.kubelets is not None
        assert len(world.kubelets._writer) == 0

    simulate(story, starts=False)


def test_a_change_that_a_kubelet_has_seen_is_said_to_be_seen() -> None:
    toleration = {"key": "k", "operator": "Exists", "effect": "NoSchedule"}

    async def add(world: Simulation, number: int) -> None:
        more = {"op": "add", "path": "/spec/tolerations/-", "value": {**toleration, "key": f"k{number}"}}
        await world.client.patch(POD, "p", "default", [more], patch_type=PatchType.JSON)
        await world.settle()

    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod()
        assert (await world.status())["observedGeneration"] == 1
        await add(world, 1)
        assert (await world.status())["observedGeneration"] == 2
        await world.stop()
        await add(world, 2)
        assert (await world.status())["observedGeneration"] == 2
        await world.start()
        assert (await world.status())["observedGeneration"] == 3

    simulate(story)
