"""A cluster IP and a node port have one Service each, however many are written at the same time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.protocol import ClaimTaken, Store
from moorage.store.sqlite import SqliteStore

Raw = dict[str, Any]

pytestmark = pytest.mark.real_time


@asynccontextmanager
async def serving(path: Path, *, is_durable: bool = True) -> AsyncIterator[tuple[LoopbackClient, Api]]:
    store: Store = await SqliteStore.open(path) if is_durable else MemoryStore()
    try:
        api = Api(store, default_gates())
        await api.start()
        await bootstrap(api, 443)
        yield LoopbackClient(api, "test"), api
    finally:
        await store.close()


def service(name: str, ip: str = "", port: int = 0, health: int = 0, **more: Any) -> Raw:
    spec: Raw = {"ports": [{"port": 80, **({"nodePort": port} if port else {})}], "type": "ClusterIP", **more}
    if ip:
        spec["clusterIP"] = ip
    if port:
        spec["type"] = "NodePort"
    if health:
        spec |= {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": health}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


async def at_once(*doing: Awaitable[Any]) -> list[ApiError]:
    """Do it at the same time; return the refusals."""
    outcomes = await asyncio.gather(*doing, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, ApiError):
            raise outcome
    return [outcome for outcome in outcomes if isinstance(outcome, ApiError)]


IP_REFUSED = (
    'Service "{name}" is invalid: spec.clusterIPs: Invalid value: ["10.96.7.7"]: failed to allocate IP 10.96.7.7: '
    "provided IP is already allocated"
)
PORT_REFUSED = (
    'Service "{name}" is invalid: spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated'
)
HEALTH_REFUSED = (
    "Internal error occurred: failed to allocate requested HealthCheck NodePort 30080: provided port is already "
    "allocated"
)


@pytest.mark.parametrize(
    ("make", "refusal", "code"),
    [
        (lambda name: service(name, ip="10.96.7.7"), IP_REFUSED, 422),
        (lambda name: service(name, port=30080), PORT_REFUSED, 422),
        (lambda name: service(name, health=30080), HEALTH_REFUSED, 500),
    ],
    ids=["address", "port", "health port"],
)
async def test_of_services_that_ask_for_the_same_at_once_one_gets_it(
    make: Callable[[str], Raw], refusal: str, code: int, tmp_path: Path
) -> None:
    async with serving(tmp_path) as (client, _):
        names = [f"s{number}" for number in range(5)]
        refusals = await at_once(*(client.create(KINDS.SERVICE, make(name), "default") for name in names))
        assert [one.code for one in refusals] == [code] * 4
        listed = (await client.list_all(KINDS.SERVICE, "default")).items
        [winner] = [item.name for item in listed if item.name != "kubernetes"]
        assert sorted(one.message for one in refusals) == sorted(
            refusal.format(name=name) for name in names if name != winner
        )


async def test_services_that_are_changed_at_once_do_not_get_the_same(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, _):
        for name in ("a", "b"):
            await client.create(KINDS.SERVICE, service(name), "default")
        patch = {"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}}
        refusals = await at_once(*(client.patch(KINDS.SERVICE, name, "default", patch) for name in ("a", "b")))
        assert len(refusals) == 1
        assert refusals[0].message.endswith("30080: provided port is already allocated")


async def test_what_is_allocated_at_once_differs(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, api):
        api.admission.random = _Repeating()
        await asyncio.gather(*(client.create(KINDS.SERVICE, service(f"s{n}"), "default") for n in range(5)))
        await asyncio.gather(
            *(client.create(KINDS.SERVICE, service(f"t{n}", type="NodePort"), "default") for n in range(5))
        )
        listed = [item.raw["spec"] for item in (await client.list_all(KINDS.SERVICE, "default")).items]
        assert len({spec["clusterIP"] for spec in listed}) == 11
        assert len({port["nodePort"] for spec in listed for port in spec["ports"] if "nodePort" in port}) == 5


class _Repeating(Random):
    """Draws each number several times, so that requests at the same time choose the same."""

    def __init__(self) -> None:
        super().__init__(1)
        self._drawn = 0

    def _next(self, count: int) -> int:
        self._drawn += 1
        return self._drawn // 7 % count

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert stop is not None
        return start + self._next(stop - start)

    def choice(self, seq: Any) -> Any:
        return seq[self._next(len(seq))]


@pytest.mark.parametrize("is_durable", [False, True])
async def test_what_a_service_had_is_free_again(tmp_path: Path, is_durable: bool) -> None:
    async with serving(tmp_path, is_durable=is_durable) as (client, _):
        document = service("a", ip="10.96.7.7", port=30080)
        await client.create(KINDS.SERVICE, document, "default")
        await client.delete(KINDS.SERVICE, "a", "default")
        await client.create(KINDS.SERVICE, {**document, "metadata": {"name": "b", "finalizers": ["x.io/y"]}}, "default")
        await client.delete(KINDS.SERVICE, "b", "default")
        assert len(await at_once(client.create(KINDS.SERVICE, document, "default"))) == 1
        await client.patch(KINDS.SERVICE, "b", "default", {"metadata": {"finalizers": None}})
        await client.create(KINDS.SERVICE, document, "default")
        gone = {"spec": {"type": "ExternalName", "externalName": "x.io", "clusterIP": None, "ports": None}}
        await client.patch(KINDS.SERVICE, "a", "default", gone)
        await client.create(KINDS.SERVICE, service("c", ip="10.96.7.7", port=30080), "default")


async def test_a_dry_run_takes_nothing(tmp_path: Path) -> None:
    from moorage.serve.requests.options import WriteOptions
    from moorage.serve.verbs.creating import create

    async with serving(tmp_path) as (client, api):
        document = service("a", ip="10.96.7.7", port=30080)
        document["metadata"]["namespace"] = "default"
        await create(api, KINDS.SERVICE, "default", document, WriteOptions("me", dry_run=True))
        await client.create(KINDS.SERVICE, service("b", ip="10.96.7.7", port=30080), "default")


async def test_what_was_stored_before_a_start_is_held_after_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as (client, _):
        await client.create(KINDS.SERVICE, service("a", ip="10.96.7.7", port=30080), "default")
    async with serving(tmp_path) as (_, api):
        for claim in ("ip/10.96.7.7", "port/30080", "ip/10.96.0.1"):
            with pytest.raises(ClaimTaken):
                await api.store.create("/services/default/b", b"", claims=(claim,))
