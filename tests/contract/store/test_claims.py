"""What any store promises about claims: one holder at a time, taken and let go of with the value that holds them."""

import asyncio

import pytest

from moorage.store.protocol import ClaimTaken, KeyExists, KeyMissing, RevisionMismatch, Store

pytestmark = pytest.mark.real_time

IP, PORT, OTHER = "ip/10.96.0.7", "port/30080", "ip/10.96.0.8"


async def test_a_claim_has_one_holder_until_it_is_let_go_of(store: Store) -> None:
    web = await store.create("/services/default/web", b"1", claims=(IP, PORT))
    with pytest.raises(ClaimTaken) as refused:
        await store.create("/services/default/api", b"1", claims=(OTHER, IP))
    assert refused.value.claim == IP
    assert await store.get("/services/default/api") is None
    api = await store.create("/services/default/api", b"1", claims=(OTHER,))  # which was not taken by halves
    with pytest.raises(ClaimTaken):
        await store.update("/services/default/api", b"2", api.revision, claims=(PORT,))
    web = await store.update("/services/default/web", b"2", web.revision, released=(PORT,))
    api = await store.update("/services/default/api", b"2", api.revision, claims=(PORT,))
    await store.delete("/services/default/web", web.revision, released=(IP,))
    await store.update("/services/default/api", b"3", api.revision, claims=(IP,), released=(OTHER,))
    await store.create("/services/default/new", b"1", claims=(OTHER,))


async def test_a_refused_write_takes_and_lets_go_of_nothing(store: Store) -> None:
    web = await store.create("/services/default/web", b"1", claims=(IP,))
    with pytest.raises(KeyExists):
        await store.create("/services/default/web", b"2", claims=(OTHER,))
    with pytest.raises(RevisionMismatch):
        await store.update("/services/default/web", b"2", web.revision + 1, claims=(OTHER,), released=(IP,))
    with pytest.raises(RevisionMismatch):
        await store.delete("/services/default/web", web.revision + 1, released=(IP,))
    with pytest.raises(KeyMissing):
        await store.update("/services/default/none", b"2", web.revision, claims=(OTHER,))
    with pytest.raises(ClaimTaken):
        await store.create("/services/default/api", b"1", claims=(IP,))
    await store.create("/services/default/api", b"1", claims=(OTHER,))


async def test_of_many_at_once_one_gets_the_claim(store: Store) -> None:
    writes = [store.create(f"/services/default/s{number}", b"1", claims=(IP,)) for number in range(20)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, ClaimTaken) for outcome in outcomes) == 19
    assert await store.count("/services/") == 1


async def test_what_was_written_without_claims_can_hold_them(store: Store) -> None:
    web = await store.create("/services/default/web", b"1")
    api = await store.create("/services/default/api", b"1", claims=(OTHER,))
    await store.hold(web, (IP, OTHER))
    await store.hold(api._replace(revision=api.revision + 1), (PORT,))  # not what is stored now
    with pytest.raises(ClaimTaken):
        await store.create("/services/default/new", b"1", claims=(IP,))
    await store.create("/services/default/new", b"1", claims=(PORT,))
    await store.delete("/services/default/api", api.revision, released=(OTHER,))
    await store.update("/services/default/web", b"2", web.revision, claims=(OTHER,))


async def test_what_is_held_is_known_after_it_is_held_again(store: Store) -> None:
    web = await store.create("/services/default/web", b"1", claims=(IP,))
    await store.hold(web, (IP,))
    await store.delete("/services/default/web", web.revision, released=(IP,))
    await store.create("/services/default/new", b"1", claims=(IP,))
