"""What servers write at the same time: each address once, no quota exceeded, each name once, no budget overdrawn."""

import asyncio
from random import Random
from typing import Any

import pytest
from tests.unit.serve.shared.asking import config_map, pod
from tests.unit.serve.shared.lagging_store import LaggingStore, SharedValues, servers, store_of

from moorage.admit.requester import NODE_PREFIX, NODES_GROUP
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Ref
from moorage.serve.access.modes import use_modes
from moorage.serve.cluster.api_configuration import configure_api
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.pki.authentication import User
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.reading import get
from moorage.store.protocol import ClaimTaken

Raw = dict[str, Any]


def clients(apis: list[Api]) -> list[LoopbackClient]:
    return [LoopbackClient(api, "test") for api in apis]


def service(name: str, **spec: Any) -> Raw:
    ports = [{"port": 80}]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports, **spec}}


async def refusals(*doing: Any) -> list[str]:
    outcomes = await asyncio.gather(*doing, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, ApiError):
            raise outcome
    return [outcome.message for outcome in outcomes if isinstance(outcome, ApiError)]


async def test_an_address_that_another_server_gave_is_refused(two: list[Api]) -> None:
    first, second = clients(two)
    await first.create(KINDS.SERVICE, service("a", clusterIP="10.96.7.7"), "default")
    [refusal] = await refusals(second.create(KINDS.SERVICE, service("b", clusterIP="10.96.7.7"), "default"))
    assert refusal.endswith("failed to allocate IP 10.96.7.7: provided IP is already allocated")
    port = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}
    await first.create(KINDS.SERVICE, service("c", **port), "default")
    await second.create(KINDS.SERVICE, service("d"), "default")
    store_of(two[1]).deliver()
    await first.delete(KINDS.SERVICE, "c", "default")
    await first.create(KINDS.SERVICE, service("e", **port), "default")
    [refusal] = await refusals(second.patch(KINDS.SERVICE, "d", "default", {"spec": port}))
    assert refusal.endswith("spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated")


async def test_what_servers_allocate_at_the_same_time_differs(two: list[Api]) -> None:
    for api in two:
        api.admission.random = Random(7)  # so that both choose the same
    pair = clients(two)
    made = await asyncio.gather(
        *(pair[n % 2].create(KINDS.SERVICE, service(f"s{n}", type="NodePort"), "default") for n in range(12))
    )
    assert len({one.raw["spec"]["clusterIP"] for one in made}) == 12
    assert len({one.raw["spec"]["ports"][0]["nodePort"] for one in made}) == 12


async def test_an_address_that_another_server_freed_can_be_given(two: list[Api]) -> None:
    first, second = clients(two)
    await first.create(KINDS.SERVICE, service("a", clusterIP="10.96.7.7"), "default")
    store_of(two[1]).deliver()
    await first.delete(KINDS.SERVICE, "a", "default")
    await second.create(KINDS.SERVICE, service("b", clusterIP="10.96.7.7"), "default")


@pytest.mark.parametrize("is_prompt", [False, True])
async def test_a_quota_is_not_exceeded_by_two_servers(two: list[Api], is_prompt: bool) -> None:
    for api in two:
        store_of(api).is_prompt = is_prompt
    first, second = clients(two)
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}}}
    await first.create(KINDS.RESOURCE_QUOTA, quota, "default")
    status = {"status": {"hard": {"pods": "5"}, "used": {"pods": "0"}}}
    await first.patch(KINDS.RESOURCE_QUOTA, "q", "default", status, subresource="status")
    store_of(two[1]).deliver()
    pair = (first, second)
    refused = await refusals(*(pair[n % 2].create(KINDS.POD, pod(f"p{n}"), "default") for n in range(12)))
    assert len(refused) == 7
    assert all("exceeded quota: q" in message for message in refused)
    assert (await second.get(KINDS.RESOURCE_QUOTA, "q", "default")).raw["status"]["used"] == {"pods": "5"}


async def test_a_charge_that_another_server_made_first_is_counted_before_it_is_written(two: list[Api]) -> None:
    """Between the check of a charge and its write, another server's charge becomes known."""
    first, second = clients(two)
    await first.create(KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}, "default")
    status = {"status": {"hard": {"pods": "1"}, "used": {"pods": "0"}}}
    await first.patch(KINDS.RESOURCE_QUOTA, "q", "default", status, subresource="status")
    store_of(two[1]).deliver()
    await first.create(KINDS.POD, pod("a"), "default")
    charges = two[1].quotas.check(
        KINDS.POD, "default", "b", two[1].admit_new(KINDS.POD, pod("b"), "default", "m")[0].view, None, ""
    )
    assert charges  # as far as is known
    charging = asyncio.ensure_future(second.create(KINDS.POD, pod("b"), "default"))
    await asyncio.sleep(0)
    store_of(two[1]).deliver()
    [refusal] = await refusals(charging)
    assert "exceeded quota: q" in refusal


async def test_charges_of_this_server_are_not_counted_twice(two: list[Api]) -> None:
    first, _ = clients(two)
    await first.create(KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "2"}}}, "default")
    status = {"status": {"hard": {"pods": "2"}, "used": {"pods": "0"}}}
    await first.patch(KINDS.RESOURCE_QUOTA, "q", "default", status, subresource="status")
    balances: list[int] = []
    two[0].store.subscribe("/resourcequotas/", lambda _: balances.append(int(str(account.balance.used["pods"]))))
    account = two[0].quotas.accounts["default"]["q"]
    await first.create(KINDS.POD, pod("a"), "default")
    await first.create(KINDS.POD, pod("b"), "default")
    assert balances == [1, 2]


async def test_what_a_late_count_took_away_is_added_again_once_by_all_servers_together(two: list[Api]) -> None:
    """A controller that has seen four of ten pods writes 4, after each server has charged five."""
    for api in two:
        store_of(api).is_prompt = True
    pair = clients(two)
    await pair[0].create(KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "20"}}}, "default")
    status = {"status": {"hard": {"pods": "20"}, "used": {"pods": "0"}}}
    await pair[0].patch(KINDS.RESOURCE_QUOTA, "q", "default", status, subresource="status")
    for number in range(10):
        await pair[number % 2].create(KINDS.POD, pod(f"p{number}"), "default")
    for _ in range(3):  # each count has missed the same pods
        counted = {"status": {"used": {"pods": "4"}}}
        await pair[0].patch(KINDS.RESOURCE_QUOTA, "q", "default", counted, subresource="status")
        await asyncio.sleep(0.1)
        assert (await pair[1].get(KINDS.RESOURCE_QUOTA, "q", "default")).raw["status"]["used"] == {"pods": "10"}


async def test_a_generated_name_is_drawn_again_if_another_server_has_taken_it(two: list[Api]) -> None:
    for api in two:
        suffixes = iter("abcdefgh")
        api.new_suffix = lambda suffixes=suffixes: next(suffixes)  # type: ignore[misc]
    document = {**config_map(""), "metadata": {"generateName": "c-"}}
    made = [await client.create(KINDS.CONFIG_MAP, document, "default") for client in clients(two) for _ in range(2)]
    assert [one.name for one in made] == ["c-a", "c-b", "c-c", "c-d"]


async def test_two_servers_do_not_evict_more_than_a_budget_allows(two: list[Api]) -> None:
    first, second = clients(two)
    for name in ("a", "b"):
        document = pod(name)
        document["metadata"]["labels"] = {"app": "web"}
        await first.create(KINDS.POD, document, "default")
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await first.patch(KINDS.POD, name, "default", {"status": running}, subresource="status")
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await first.create(KINDS.POD_DISRUPTION_BUDGET, {"metadata": {"name": "web"}, "spec": spec}, "default")
    counts = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    status = {"status": {**counts, "observedGeneration": 1}}
    await first.patch(KINDS.POD_DISRUPTION_BUDGET, "web", "default", status, subresource="status")
    store_of(two[1]).deliver()
    [refusal] = await refusals(first.evict("default", "a"), second.evict("default", "b"))
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refusal


async def test_a_pod_is_bound_once(two: list[Api]) -> None:
    first, second = clients(two)
    made = await first.create(KINDS.POD, pod("p"), "default")
    store_of(two[1]).deliver()
    uid = made.raw["metadata"]["uid"]
    [refusal] = await refusals(
        first.bind("default", "p", uid, "n1"),
        second.bind("default", "p", uid, "n2"),
    )
    assert "is already assigned to node" in refusal


async def test_a_node_is_known_by_the_pods_that_another_server_bound() -> None:
    shared = SharedValues()
    stores = [LaggingStore(shared), LaggingStore(shared)]
    async with servers(stores=stores) as apis:
        for api in apis:
            use_modes(api, ("Node", "RBAC"))
        first, _ = clients(apis)
        secret = {"name": "v", "secret": {"secretName": "mine"}}
        await first.create(KINDS.SECRET, {"metadata": {"name": "mine"}}, "default")
        await first.create(KINDS.POD, pod("p", volumes=[secret]), "default")
        await first.bind("default", "p", "", "n1")
        node = User(f"{NODE_PREFIX}n1", groups=(NODES_GROUP,))
        assert (await LoopbackClient(apis[1], "test", node).get(KINDS.SECRET, "mine", "default")).name == "mine"
        await first.delete(KINDS.POD, "p", "default", grace_seconds=0)
        stores[1].deliver()
        [refusal] = await refusals(LoopbackClient(apis[1], "test", node).get(KINDS.SECRET, "mine", "default"))
        assert "no relationship found" in refusal


async def test_servers_that_start_at_once_make_the_same_objects_once() -> None:
    shared = SharedValues()
    apis = [Api(LaggingStore(shared), default_gates()) for _ in range(3)]

    async def start(api: Api) -> bool:
        await api.store.catch_up()
        await api.start()
        is_new = await bootstrap(api, 443)
        await configure_api(api)
        return is_new

    assert sum(await asyncio.gather(*(start(api) for api in apis))) <= 1
    listing = await shared.list("")
    for api in apis:
        await api.catch_up()
        assert [item[:4] for item in (await api.store.list("")).items] == [item[:4] for item in listing.items]
    kubernetes = decode(KINDS.SERVICE, await get(apis[0], Ref(KINDS.SERVICE, "default", "kubernetes")))
    assert kubernetes["spec"]["clusterIP"] == "10.96.0.1"
    with pytest.raises(ClaimTaken):
        await apis[2].store.create("/services/default/x", b"{}", claims=("ip/10.96.0.1",))
    assert all(item.created == item.revision for item in listing.items), "nothing is written twice"
