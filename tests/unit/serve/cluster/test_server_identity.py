"""Leases of API servers, and the endpoints of the Service kubernetes that follow them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.virtual_cluster import VirtualCluster

from moorage.model.kinds import KINDS
from moorage.model.well_known.labels import HOSTNAME
from moorage.serve.cluster.server_identity import ADDRESS, LABEL, ServerIdentity, lease_name
from moorage.store.protocol import StoreFailed


class Servers:
    """API servers on the store of one cluster."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster = cluster
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.made: dict[str, ServerIdentity] = {}

    async def start(self, host: str, address: str, port: int = 6443) -> str:
        clock = asyncio.get_running_loop().time
        made = ServerIdentity(self.cluster.api, host, address, port, now=clock)
        await made.begin()
        self.made[made.name] = made
        self.tasks[made.name] = asyncio.create_task(made.run())
        return made.name

    async def kill(self, name: str) -> None:
        task = self.tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def stop(self, name: str) -> None:
        await self.kill(name)
        await self.made[name].end()

    async def leases(self) -> dict[str, dict[str, Any]]:
        return {one.name: one.raw for one in await self.cluster.all(KINDS.LEASE) if one.name.startswith("apiserver-")}

    async def endpoints(self) -> list[str]:
        found = (await self.cluster.client.get(KINDS.ENDPOINTS, "kubernetes", "default")).raw
        pairs = [
            f"{address['ip']}:{port['port']}"
            for subset in found["subsets"]
            for address in subset["addresses"]
            for port in subset["ports"]
        ]
        slices = [one.raw for one in await self.cluster.all(KINDS.ENDPOINT_SLICE)]
        assert pairs == [
            f"{address}:{port['port']}"
            for one in sorted(slices, key=lambda one: int(one["ports"][0]["port"]))
            for endpoint in one["endpoints"]
            for address in endpoint["addresses"]
            for port in one["ports"]
        ]
        return pairs


@asynccontextmanager
async def servers() -> AsyncIterator[Servers]:
    async with VirtualCluster.running(list) as cluster:
        made = Servers(cluster)
        loop, began = asyncio.get_running_loop(), cluster.api.clock()
        cluster.api.clock = lambda: began + loop.time()
        try:
            yield made
        finally:
            for name in list(made.tasks):
                await made.kill(name)


def test_lease_names_depend_on_host_and_port_only() -> None:
    assert lease_name("one", 6443) == lease_name("one", 6443)
    assert len({lease_name("one", 6443), lease_name("one", 6444), lease_name("two", 6443)}) == 3
    assert len(lease_name("one", 6443)) == len("apiserver-") + 26


async def test_each_server_has_a_lease_that_it_renews() -> None:
    async with servers() as made:
        name = await made.start("one", "10.0.0.1")
        first = (await made.leases())[name]
        assert first["metadata"]["labels"] == {LABEL: "kube-apiserver", HOSTNAME: "one"}
        assert first["metadata"]["annotations"] == {ADDRESS: "10.0.0.1:6443"}
        assert first["spec"]["leaseDurationSeconds"] == 3600
        assert first["spec"]["holderIdentity"].startswith(f"{name}_")
        await asyncio.sleep(25)
        assert (await made.leases())[name]["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]


async def test_endpoints_are_those_of_servers_that_live() -> None:
    async with servers() as made:
        one = await made.start("one", "10.0.0.1")
        two = await made.start("two", "10.0.0.2")
        assert await made.endpoints() == ["10.0.0.1:6443", "10.0.0.2:6443"]
        await made.kill(two)
        await asyncio.sleep(40)
        assert await made.endpoints() == ["10.0.0.1:6443"]
        three = await made.start("three", "10.0.0.3")
        await asyncio.sleep(40)
        assert await made.endpoints() == ["10.0.0.1:6443", "10.0.0.3:6443"]
        await made.stop(one)
        assert await made.endpoints() == ["10.0.0.3:6443"]
        assert set(await made.leases()) == {two, three}


async def test_servers_on_one_machine_have_a_slice_for_each_port() -> None:
    async with servers() as made:
        await made.start("one", "10.0.0.1", 6443)
        second = await made.start("one", "10.0.0.1", 6444)
        assert await made.endpoints() == ["10.0.0.1:6443", "10.0.0.1:6444"]
        await made.stop(second)
        assert await made.endpoints() == ["10.0.0.1:6443"]
        assert [one.name for one in await made.cluster.all(KINDS.ENDPOINT_SLICE)] == ["kubernetes"]


async def test_the_last_server_that_stops_leaves_the_endpoints_as_they_are() -> None:
    async with servers() as made:
        await made.stop(await made.start("one", "10.0.0.1"))
        assert await made.endpoints() == ["10.0.0.1:6443"]


async def test_leases_that_ended_are_deleted() -> None:
    async with servers() as made:
        dead = await made.start("one", "10.0.0.1")
        await made.kill(dead)
        living = await made.start("two", "10.0.0.2")
        await asyncio.sleep(3500)
        assert set(await made.leases()) == {dead, living}
        await asyncio.sleep(200)
        assert set(await made.leases()) == {living}


async def test_a_store_that_fails_for_a_while_does_not_end_it(monkeypatch: Any) -> None:
    async with servers() as made:
        name = await made.start("one", "10.0.0.1")
        with monkeypatch.context() as patch:

            async def fail(*ignored: object, **others: object) -> None:
                raise StoreFailed("no quorum")

            patch.setattr(made.cluster.api.store, "update", fail)
            await asyncio.sleep(60)
        before = (await made.leases())[name]["spec"]["renewTime"]
        await asyncio.sleep(20)
        assert (await made.leases())[name]["spec"]["renewTime"] > before
