"""Charges to quotas: many requests at a time, several quotas, counts that come too late."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Store
from moorage.store.sqlite import SqliteStore

Raw = dict[str, Any]


async def started(store: Store) -> LoopbackClient:
    api = Api(store, default_gates())
    await api.start()
    await bootstrap(api, 443)
    return LoopbackClient(api, "test")


async def make_quota(client: LoopbackClient, name: str, **hard: str) -> None:
    """Create a quota with a status as the controller writes it into an empty namespace."""
    document = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}
    await client.create(KINDS.RESOURCE_QUOTA, document, "default")
    await set_used(client, name, hard, **dict.fromkeys(hard, "0"))


async def set_used(client: LoopbackClient, name: str, hard: Raw, **used: str) -> None:
    await client.patch(
        KINDS.RESOURCE_QUOTA, name, "default", {"status": {"hard": hard, "used": used}}, subresource="status"
    )


async def used(client: LoopbackClient, name: str = "q") -> Raw:
    found: Raw = (await client.get(KINDS.RESOURCE_QUOTA, name, "default")).raw["status"]["used"]
    return found


def pod(name: str, cpu: str = "1") -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


async def create_many(client: LoopbackClient, count: int) -> list[str]:
    """Create pods at the same time; return the refusals."""
    creates = (client.create(KINDS.POD, pod(f"p{number}"), "default") for number in range(count))
    outcomes = await asyncio.gather(*creates, return_exceptions=True)
    return [outcome.message for outcome in outcomes if isinstance(outcome, ApiError)]


@pytest.mark.real_time
@pytest.mark.parametrize("kind", ["memory", "file"])
async def test_many_requests_at_a_time_get_exactly_what_there_is(kind: str, tmp_path: Path) -> None:
    store: Store = MemoryStore() if kind == "memory" else await SqliteStore.open(tmp_path)
    client = await started(store)
    await make_quota(client, "q", pods="7", cpu="100")
    await make_quota(client, "other", cpu="5")
    before = store.revision
    refusals = await create_many(client, 40)
    assert len((await client.list_all(KINDS.POD, "default")).items) == 5
    assert await used(client) == {"pods": "5", "cpu": "5"}
    assert await used(client, "other") == {"cpu": "5"}
    why = "exceeded quota: other, requested: cpu=1, used: cpu=5, limited: cpu=5"
    assert {text.partition("forbidden: ")[2] for text in refusals} == {why}
    assert store.revision - before <= 5 + 5 + 5  # those at a time are charged together
    await store.close()


async def test_a_count_that_missed_the_newest_pods_does_not_lose_them() -> None:
    client = await started(MemoryStore())
    await make_quota(client, "q", pods="3")
    assert not await create_many(client, 2)
    await set_used(client, "q", {"pods": "3"}, pods="0")  # from a cache that lags behind
    await asyncio.sleep(0)
    assert len(await create_many(client, 3)) == 3  # two exist already, and p2 is the only one that fits
    assert await used(client) == {"pods": "3"}
    assert len((await client.list_all(KINDS.POD, "default")).items) == 2


async def test_a_count_without_pods_that_are_gone_is_believed() -> None:
    client = await started(MemoryStore())
    await make_quota(client, "q", pods="2")
    assert not await create_many(client, 2)
    for name in ("p0", "p1"):
        await client.delete(KINDS.POD, name, "default", grace_seconds=0)
    await set_used(client, "q", {"pods": "2"}, pods="0")
    await asyncio.sleep(1)
    assert await used(client) == {"pods": "0"}


async def test_a_claim_that_grows_is_charged_the_difference() -> None:
    client = await started(MemoryStore())
    await make_quota(client, "q", **{"requests.storage": "10Gi", "persistentvolumeclaims": "1"})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "4Gi"}}}
    await client.create(
        KINDS.PERSISTENT_VOLUME_CLAIM,
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": spec},
        "default",
    )
    await client.patch(
        KINDS.PERSISTENT_VOLUME_CLAIM,
        "c",
        "default",
        {"status": {"allocatedResources": {"storage": "7Gi"}}},
        subresource="status",
    )
    assert await used(client) == {"requests.storage": "7Gi", "persistentvolumeclaims": "1"}


async def test_a_namespace_without_quotas_is_not_looked_at() -> None:
    client = await started(MemoryStore())
    await make_quota(client, "q", pods="0")
    with pytest.raises(ApiError, match="exceeded quota"):
        await client.create(KINDS.POD, pod("a"), "default")
    await client.create(KINDS.POD, pod("a"), "kube-system")
    await client.delete(KINDS.RESOURCE_QUOTA, "q", "default")
    await client.create(KINDS.POD, pod("a"), "default")
