"""What the scheduler writes into claims of one template is written at once, as if each went the usual way."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.control.devices.claimed import Raw
from tests.unit.serve.templates.test_claim_templates import generated, plain
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import BASE, time_of_day

from moorage.client.protocol import Object, PatchType
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.templates import claim_writes
from moorage.serve.verbs import patching

CLAIMS = 5


def clock() -> Callable[[], float]:
    """The time of day, beginning with the same."""
    began = time_of_day()
    return lambda: BASE + time_of_day() - began


def status_of(name: str, **result: Any) -> Raw:
    node = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"node-of-{name}"]}]}
    device = {"request": "gpu", "driver": "gpu.example.com", "pool": name, "device": f"d-{name}", **result}
    allocation = {
        "devices": {"results": [device]},
        "nodeSelector": {"nodeSelectorTerms": [node]},
        "allocationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"allocation": allocation, "reservedFor": [{"resource": "pods", "name": name, "uid": f"uid-of-{name}"}]}


async def patch(client: LoopbackClient, found: Object, metadata: Raw, rest: Raw, subresource: str) -> Object:
    sent = {"metadata": {**metadata, "uid": found.uid, "resourceVersion": str(found.revision)}, **rest}
    return await client.patch(
        KINDS.RESOURCE_CLAIM, found.name, "default", sent, subresource=subresource, patch_type=PatchType.MERGE
    )


async def protect(client: LoopbackClient, found: Object) -> Object:
    return await patch(client, found, {"finalizers": [RESOURCE_CLAIM_IN_USE]}, {}, "")


async def allocate(client: LoopbackClient, found: Object, status: Raw) -> Object:
    return await patch(client, found, {}, {"status": status}, "status")


async def written(
    cluster: VirtualCluster, manager: str = "scheduler", waits: float = 0.0, document: Callable[..., Raw] = generated
) -> list[tuple[Raw, Any]]:
    scheduler, found = LoopbackClient(cluster.api, manager), []
    for number in range(CLAIMS):
        name = f"p{number}"
        claim = await cluster.client.create(KINDS.RESOURCE_CLAIM, document(name), "default")
        await cluster.settle(waits)
        claim = await protect(scheduler, claim)
        assert claim.view.metadata.finalizers == (RESOURCE_CLAIM_IN_USE,)
        await cluster.settle(waits)
        claim = await allocate(scheduler, claim, status_of(name))
        raw = (await cluster.client.get(KINDS.RESOURCE_CLAIM, claim.name, "default")).raw
        for field in ("uid", "resourceVersion"):
            del raw["metadata"][field]
        found.append((raw, claim.view.status))
    return found


@pytest.mark.parametrize("waits", [0.0, 3.0])
@pytest.mark.parametrize("manager", ["scheduler", "test", "z"])  # the claims are made by "test"
@pytest.mark.parametrize("document", [generated, plain])
async def test_claims_are_the_same_as_if_they_went_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, waits: float, manager: str, document: Callable[..., Raw]
) -> None:
    taken: list[Any] = []
    at_once = claim_writes.ClaimWrite.at_once

    def counted(write: claim_writes.ClaimWrite) -> Any:
        taken.append(at_once(write))
        return taken[-1]

    monkeypatch.setattr(claim_writes.ClaimWrite, "at_once", counted)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        found = await written(cluster, manager, waits, document)
    assert any(taken) == (manager != "test")  # a manager that has an entry already goes the usual way
    monkeypatch.setattr(claim_writes.ClaimWrite, "at_once", lambda write: None)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        assert await written(cluster, manager, waits, document) == found


@pytest.mark.parametrize(
    "result", [{"device": "D"}, {"pool": "a_b"}, {"driver": "a/b"}, {"request": "other"}, {"shareID": "x"}]
)
async def test_what_the_usual_way_refuses_is_refused(result: Raw) -> None:
    async with VirtualCluster.running(list) as cluster:
        await written(cluster)
        scheduler = LoopbackClient(cluster.api, "scheduler")
        claim = await protect(scheduler, await cluster.client.create(KINDS.RESOURCE_CLAIM, generated("q"), "default"))
        with pytest.raises(ApiError, match="is invalid"):
            await allocate(scheduler, claim, status_of("q", **result))
        claim = await allocate(scheduler, claim, status_of("q"))
        with pytest.raises(ApiError, match="field is immutable"):
            await allocate(scheduler, claim, status_of("r"))


async def test_only_the_first_of_many_at_once_goes_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Any] = []
    at_once = claim_writes.ClaimWrite.at_once

    def counted(write: claim_writes.ClaimWrite) -> Any:
        taken.append(at_once(write))
        return taken[-1]

    monkeypatch.setattr(claim_writes.ClaimWrite, "at_once", counted)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        scheduler = LoopbackClient(cluster.api, "scheduler")
        names = [f"p{number}" for number in range(10)]
        claims = [await cluster.client.create(KINDS.RESOURCE_CLAIM, generated(name), "default") for name in names]
        claims = await asyncio.gather(*(protect(scheduler, claim) for claim in claims[2:]))  # two have no template yet
        await asyncio.gather(
            *(allocate(scheduler, claim, status_of(name)) for claim, name in zip(claims, names[2:], strict=True))
        )
    # The status of the first is written the usual way as well: its template went with the finalizer.
    assert [one is None for one in taken] == [True] + [False] * 7 + [True] + [False] * 6


async def test_a_claim_that_has_changed_is_not_written() -> None:
    async with VirtualCluster.running(list) as cluster:
        await written(cluster)
        scheduler = LoopbackClient(cluster.api, "scheduler")
        claim = await cluster.client.create(KINDS.RESOURCE_CLAIM, generated("q"), "default")
        protected = await protect(scheduler, claim)
        for write in (protect(scheduler, claim), allocate(scheduler, claim, status_of("q"))):
            with pytest.raises(ApiError, match="the object has been modified"):
                await write
        await cluster.client.patch(KINDS.RESOURCE_CLAIM, claim.name, "default", {"metadata": {"labels": {"a": "b"}}})
        with pytest.raises(ApiError, match="the object has been modified"):
            await allocate(scheduler, protected, status_of("q"))


async def reserved(cluster: VirtualCluster, waits: float) -> Raw:
    """Reserve a claim for several pods, one after the other."""
    scheduler = LoopbackClient(cluster.api, "scheduler")
    claim = await protect(scheduler, await cluster.client.create(KINDS.RESOURCE_CLAIM, generated("p"), "default"))
    claim = await allocate(scheduler, claim, status_of("p"))
    for names in (("z",), ("b", "y", "a"), ("c",)):
        await cluster.settle(waits)
        status = claim.raw["status"]
        new = [{"resource": "pods", "name": name, "uid": f"{name}-uid"} for name in names]
        consumers = [*status["reservedFor"], *new]
        claim = await allocate(scheduler, claim, {"reservedFor": consumers})
        assert [one.name for one in claim.view.status.reservedFor] == [one["name"] for one in consumers]
    raw = (await cluster.client.get(KINDS.RESOURCE_CLAIM, claim.name, "default")).raw
    for field in ("uid", "resourceVersion"):
        del raw["metadata"][field]
    return raw


@pytest.mark.parametrize("waits", [0.0, 3.0])
async def test_more_consumers_are_the_same_as_if_they_went_the_usual_way(
    monkeypatch: pytest.MonkeyPatch, waits: float
) -> None:
    taken: list[Any] = []

    def counted(*arguments: Any) -> Any:
        taken.append(claim_writes.with_reservation(*arguments))
        return taken[-1]

    monkeypatch.setattr(patching, "with_reservation", counted)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        found = await reserved(cluster, waits)
    assert sum(one is not None for one in taken) == 3
    monkeypatch.setattr(patching, "with_reservation", lambda *arguments: None)
    async with VirtualCluster.running(list, clock=clock()) as cluster:
        assert await reserved(cluster, waits) == found


async def test_a_consumer_that_the_usual_way_refuses_is_refused() -> None:
    async with VirtualCluster.running(list) as cluster:
        await reserved(cluster, 0.0)
        scheduler = LoopbackClient(cluster.api, "scheduler")
        claim = await cluster.client.get(KINDS.RESOURCE_CLAIM, "p-gpu-abcde", "default")
        status, new = claim.raw["status"], {"resource": "pods", "name": "n", "uid": "n"}
        for consumer in ({**new, "uid": "b-uid"}, {**new, "name": ""}, {**new, "resource": ""}):
            with pytest.raises(ApiError, match="is invalid"):
                await allocate(scheduler, claim, {"reservedFor": [*status["reservedFor"], consumer]})
        other = {**status["allocation"], "nodeSelector": None}
        changed = {"allocation": other, "reservedFor": [*status["reservedFor"], new]}
        with pytest.raises(ApiError, match="field is immutable"):
            await allocate(scheduler, claim, changed)
        await cluster.client.delete(KINDS.RESOURCE_CLAIM, claim.name, "default")
        claim = await cluster.client.get(KINDS.RESOURCE_CLAIM, "p-gpu-abcde", "default")
        with pytest.raises(ApiError, match="is invalid"):
            await allocate(scheduler, claim, {"reservedFor": [*status["reservedFor"], new]})
