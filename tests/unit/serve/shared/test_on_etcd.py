"""The same with a real etcd: servers that take turns are never behind, and what they write at once does not collide."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.etcd_process import EtcdCluster, etcd_cluster
from tests.unit.serve.shared.asking import CONFIG_MAPS, ask, config_map, content, namespace, pod
from tests.unit.serve.shared.test_definitions import BOATS, CRDS, boat, definition
from tests.unit.serve.shared.test_writes import clients, refusals, service

from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.resources.kube_apiserver_values import etcd_roots
from moorage.serve.verbs.api import Api
from moorage.store.etcd.store import EtcdStore
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Store
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with etcd_cluster(tmp_path_factory.mktemp("etcd"), arguments=("--unsafe-no-fsync",)) as cluster:
        yield cluster


@asynccontextmanager
async def serving(etcd: EtcdCluster, prefix: Path, number: int = 3) -> AsyncIterator[list[Api]]:
    stores = [await EtcdStore.open(etcd.settings(prefix=str(prefix)), etcd_roots()) for _ in range(number)]
    apis = [Api(store, default_gates()) for store in stores]
    try:
        for api in apis:
            await api.start()
        await asyncio.gather(*(bootstrap(api, 443) for api in apis))
        yield apis
    finally:
        await asyncio.gather(*(store.close() for store in stores))


async def test_servers_that_take_turns_are_never_behind(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with serving(etcd, tmp_path) as apis:
        for turn in range(30):
            first, second, third = (apis[(turn + place) % 3] for place in range(3))
            await ask(first, "POST", "/api/v1/namespaces", namespace(f"n{turn}"))
            await ask(second, "POST", f"/api/v1/namespaces/n{turn}/configmaps", config_map("c"))
            await ask(third, "PATCH", f"/api/v1/namespaces/n{turn}/configmaps/c", {"data": {"a": str(turn)}})
            found = content(await ask(first, "GET", f"/api/v1/namespaces/n{turn}/configmaps/c"))
            assert found["data"] == {"a": str(turn)}
            put = {**found, "data": {"a": "again"}}
            await ask(second, "PUT", f"/api/v1/namespaces/n{turn}/configmaps/c", put)
            listed = content(await ask(third, "GET", f"/api/v1/namespaces/n{turn}/configmaps"))
            assert [item["data"] for item in listed["items"]] == [{"a": "again"}]
            await ask(third, "DELETE", f"/api/v1/namespaces/n{turn}/configmaps/c")


async def test_a_definition_is_served_by_all_at_once(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with serving(etcd, tmp_path) as apis:
        await ask(apis[0], "POST", CRDS, definition())
        for place, api in enumerate(apis):
            await ask(api, "POST", BOATS, boat(f"boat-{place}"))
        assert len(content(await ask(apis[0], "GET", BOATS))["items"]) == 3


async def test_what_is_written_at_once_does_not_collide(etcd: EtcdCluster, tmp_path: Path) -> None:
    async with serving(etcd, tmp_path) as apis:
        all_clients = clients(apis)
        refused = await refusals(
            *(
                all_clients[n % 3].create(KINDS.SERVICE, service(f"s{n}", clusterIP="10.96.7.7"), "default")
                for n in range(9)
            )
        )
        assert len(refused) == 8
        assert all(message.endswith("provided IP is already allocated") for message in refused)
        made = await asyncio.gather(
            *(all_clients[n % 3].create(KINDS.SERVICE, service(f"t{n}", type="NodePort"), "default") for n in range(30))
        )
        assert len({one.raw["spec"]["clusterIP"] for one in made}) == 30
        assert len({one.raw["spec"]["ports"][0]["nodePort"] for one in made}) == 30
        await all_clients[0].create(
            KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}}}, "default"
        )
        status = {"status": {"hard": {"pods": "5"}, "used": {"pods": "0"}}}
        await all_clients[1].patch(KINDS.RESOURCE_QUOTA, "q", "default", status, subresource="status")
        await asyncio.gather(*(api.catch_up() for api in apis))
        refused = await refusals(*(all_clients[n % 3].create(KINDS.POD, pod(f"p{n}"), "default") for n in range(15)))
        assert len(refused) == 10
        assert await apis[2].store.count("/pods/") <= 5
        patches = (
            all_clients[n % 3].patch(KINDS.CONFIG_MAP, "c", "default", {"data": {f"k{n}": "v"}}) for n in range(30)
        )
        await ask(apis[0], "POST", CONFIG_MAPS, config_map("c"))
        await asyncio.gather(*patches)
        found = content(await ask(apis[1], "GET", f"{CONFIG_MAPS}/c"))
        assert len(found["data"]) == 31


def _revision_of(size: int) -> dict[str, Any]:
    """Return a ControllerRevision with a text of this size."""
    return {"metadata": {"name": "large", "namespace": "default"}, "revision": 1, "data": {"text": "x" * size}}


@pytest.mark.parametrize("kind", ["memory", "sqlite", "etcd"])
async def test_every_store_takes_objects_of_the_same_size(etcd: EtcdCluster, tmp_path: Path, kind: str) -> None:
    store: Store
    if kind == "etcd":
        store = await EtcdStore.open(etcd.settings(prefix=str(tmp_path)), etcd_roots())
    else:
        store = MemoryStore() if kind == "memory" else await SqliteStore.open(tmp_path / "data")
    api = Api(store, default_gates())
    try:
        await api.start()
        await bootstrap(api, 443)
        client = LoopbackClient(api)
        small = await client.create(KINDS.CONTROLLER_REVISION, _revision_of(0), "default")
        await client.delete(KINDS.CONTROLLER_REVISION, "large", "default")
        stored = len(json.dumps(small.raw, separators=(",", ":")))
        most = MAX_OBJECT_BYTES - stored
        await client.create(KINDS.CONTROLLER_REVISION, _revision_of(most), "default")
        await client.delete(KINDS.CONTROLLER_REVISION, "large", "default")
        # Without its field owners, which are dropped first, a little more fits.
        with pytest.raises(ApiError, match="etcdserver: request is too large") as refused:
            await client.create(KINDS.CONTROLLER_REVISION, _revision_of(most + stored), "default")
        assert refused.value.code == 500
    finally:
        await store.close()
