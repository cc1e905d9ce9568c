"""The in-process transport: what it shares, what it does not decode, and what it says when the store fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest

from moorage.client.lease_fence import LeaseFence, LeaseRanOut
from moorage.client.protocol import PatchType
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored, StoreFailed


class _FullDisk(MemoryStore):
    is_full = False

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        if self.is_full:
            raise StoreFailed("no space left on device")
        return await super().create(key, value, view, template, claims=claims)


@asynccontextmanager
async def _connected(store: _FullDisk) -> AsyncIterator[LoopbackClient]:
    api = Api(store, default_gates())
    await api.start()
    await bootstrap(api, 443)
    yield LoopbackClient(api, "test")
    await store.close()


@pytest.fixture
def store() -> _FullDisk:
    return _FullDisk()


@pytest.fixture
def client(store: _FullDisk) -> AbstractAsyncContextManager[LoopbackClient]:
    return _connected(store)


def _config_map(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "data": {"a": "b"}}


async def test_objects_share_the_bytes_and_the_view_of_the_store(client: LoopbackClient, store: _FullDisk) -> None:
    made = await client.create(KINDS.CONFIG_MAP, _config_map("c"))
    stored = await store.get("/configmaps/default/c")
    assert stored is not None
    found = (await client.list_all(KINDS.CONFIG_MAP, "default")).items[0]
    assert found.source is stored
    assert found.view is made.view is stored.view
    assert not found.has("raw")
    assert found.raw["metadata"]["resourceVersion"] == str(stored.revision)
    assert found.raw is found.raw


async def test_a_view_is_decoded_where_the_store_has_none(client: LoopbackClient, store: _FullDisk) -> None:
    await client.create(KINDS.CONFIG_MAP, _config_map("c"))
    stored = await store.get("/configmaps/default/c")
    assert stored is not None
    await store.update(stored.key, stored.value, stored.revision)
    found = await client.get(KINDS.CONFIG_MAP, "c", "default")
    assert found.view.data == {"a": "b"}
    assert not found.has("raw")


async def test_documents_given_to_the_client_are_not_modified(client: LoopbackClient) -> None:
    document = _config_map("c")
    made = await client.create(KINDS.CONFIG_MAP, document)
    assert document == _config_map("c")
    before = dict(made.raw)
    await client.update(KINDS.CONFIG_MAP, made.raw)
    assert made.raw == before


async def test_a_store_that_fails_is_an_error_of_the_server(client: LoopbackClient, store: _FullDisk) -> None:
    store.is_full = True
    with pytest.raises(ApiError) as refusal:
        await client.create(KINDS.CONFIG_MAP, _config_map("c"))
    assert (refusal.value.code, refusal.value.reason) == (500, "InternalError")
    assert "no space left on device" in refusal.value.message


async def test_a_closed_store_is_a_server_that_stops(client: LoopbackClient, store: _FullDisk) -> None:
    await store.close()
    with pytest.raises(ApiError) as refused:
        await client.create(KINDS.CONFIG_MAP, _config_map("late"))
    error = refused.value
    assert (error.code, error.reason) == (503, "ServiceUnavailable")
    assert error.status["details"] == {"retryAfterSeconds": 1}
    assert error.headers == (("Retry-After", "1"),)
    assert "closed" not in error.message


_WRITES: dict[str, Callable[[LoopbackClient], Awaitable[Any]]] = {
    "create": lambda client: client.create(KINDS.CONFIG_MAP, _config_map("d")),
    "update": lambda client: client.update(KINDS.CONFIG_MAP, _config_map("c")),
    "patch": lambda client: client.patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "c"}}),
    "apply": lambda client: client.patch(KINDS.CONFIG_MAP, "c", "default", {}, patch_type=PatchType.APPLY),
    "scale": lambda client: client.update(KINDS.DEPLOYMENT, _config_map("c"), subresource="scale"),
    "delete": lambda client: client.delete(KINDS.CONFIG_MAP, "c", "default"),
    "bind": lambda client: client.bind("default", "c", "u", "n"),
    "evict": lambda client: client.evict("default", "c"),
}


@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
async def test_writes_of_every_verb_are_refused_after_the_lease_ran_out_and_reads_go_on(
    write: Callable[[LoopbackClient], Awaitable[Any]], client: LoopbackClient, store: _FullDisk
) -> None:
    await client.create(KINDS.CONFIG_MAP, _config_map("c"))
    fence = LeaseFence("kube-system/sched", asyncio.get_running_loop().time)
    fenced = LoopbackClient(client._api, "test", None, fence)
    fence.extend(15)
    await fenced.patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "z"}})
    await asyncio.sleep(15)
    before = store.revision
    with pytest.raises(LeaseRanOut, match=r"the lease kube-system/sched ran out 0\.0 s ago"):
        await write(fenced)
    assert store.revision == before
    assert (await fenced.get(KINDS.CONFIG_MAP, "c", "default")).raw["data"] == {"a": "z"}
    assert (await fenced.list_all(KINDS.CONFIG_MAP, "default")).items


async def test_a_second_attempt_is_refused_if_the_lease_ran_out_meanwhile(
    client: LoopbackClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowLook:
        """Finds, after a while, that a refusal was out of date."""

        def __init__(self, api: Api) -> None: ...

        async def is_worth_it(self, refusal: ApiError) -> bool:
            await client.create(KINDS.CONFIG_MAP, _config_map("c"))
            await asyncio.sleep(20)
            return True

    monkeypatch.setattr("moorage.serve.requests.loopback.SecondLook", SlowLook)
    fence = LeaseFence("kube-system/sched", asyncio.get_running_loop().time)
    fence.extend(15)
    fenced = LoopbackClient(client._api, "test", None, fence)
    fenced._is_shared = True
    with pytest.raises(LeaseRanOut, match=r"ran out 5\.0 s ago"):
        await fenced.delete(KINDS.CONFIG_MAP, "c", "default")
    assert (await client.get(KINDS.CONFIG_MAP, "c", "default")).name == "c"
