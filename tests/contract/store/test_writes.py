"""What any store promises about writes: compare-and-swap, one revision for all keys, nothing by halves."""

import asyncio

import pytest

from moorage.store.protocol import KeyExists, KeyMissing, RevisionMismatch, Store, Stored, StoreError

pytestmark = pytest.mark.real_time


async def test_what_was_created_is_read_back(store: Store) -> None:
    view, template = {"kind": "Pod"}, object()
    created = await store.create("/pods/default/web", b"one", view, template)
    assert created == Stored("/pods/default/web", b"one", store.revision, store.revision, view, template)
    assert await store.get("/pods/default/web") == created
    found = await store.get("/pods/default/web")
    assert found is not None
    assert found.view is view
    updated = await store.update("/pods/default/web", b"two", created.revision, view, template)
    assert (updated.view, updated.template) == (view, template)
    assert (await store.update("/pods/default/web", b"three", updated.revision)).template is None
    assert await store.get("/pods/default/we") is None
    assert await store.get("/pods/default/web/") is None


async def test_an_empty_store_is_not_at_revision_zero(store: Store) -> None:
    assert store.revision >= 1
    assert store.oldest <= store.revision
    assert (await store.list("")).items == []


async def test_every_write_takes_the_next_revision(store: Store) -> None:
    start = store.revision
    pod = await store.create("/pods/default/web", b"1")
    node = await store.create("/nodes/a", b"1")
    newer = await store.update("/pods/default/web", b"2", pod.revision)
    gone = await store.delete("/nodes/a", node.revision)
    again = await store.create("/nodes/a", b"3")
    assert [pod.revision, node.revision, newer.revision, gone.revision, again.revision] == [
        start + number for number in range(1, 6)
    ]
    assert store.revision == start + 5
    assert (newer.created, newer.value) == (pod.created, b"2")
    assert (gone.old, gone.new, gone.key) == (node, None, "/nodes/a")
    assert again.created == again.revision


async def test_a_refused_write_changes_nothing(store: Store) -> None:
    first = await store.create("/pods/default/web", b"1")
    second = await store.update("/pods/default/web", b"2", first.revision)
    with pytest.raises(KeyExists):
        await store.create("/pods/default/web", b"x")
    with pytest.raises(RevisionMismatch) as updating:
        await store.update("/pods/default/web", b"x", first.revision)
    with pytest.raises(RevisionMismatch) as deleting:
        await store.delete("/pods/default/web", first.revision)
    assert updating.value.found == deleting.value.found == second
    with pytest.raises(RevisionMismatch):
        await store.update("/pods/default/web", b"x", second.revision + 1)
    with pytest.raises(KeyMissing):
        await store.update("/pods/default/other", b"x", second.revision)
    with pytest.raises(KeyMissing):
        await store.delete("/pods/default/other", second.revision)
    assert store.revision == second.revision
    assert await store.get("/pods/default/web") == second
    third = await store.create("/nodes/a", b"")
    assert third.revision == second.revision + 1


async def test_of_concurrent_creates_of_a_key_one_wins(store: Store) -> None:
    attempts = (store.create("/leases/leader", b"%d" % number) for number in range(50))
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    winners = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    assert [type(outcome) for outcome in outcomes if not isinstance(outcome, Stored)] == [KeyExists] * 49
    assert await store.get("/leases/leader") == winners[0]
    assert store.revision == winners[0].revision


async def test_of_concurrent_updates_one_wins_and_the_others_see_what_won(store: Store) -> None:
    first = await store.create("/leases/leader", b"")
    attempts = (store.update("/leases/leader", b"%d" % number, first.revision) for number in range(50))
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    winners = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    found = [outcome.found for outcome in outcomes if isinstance(outcome, RevisionMismatch)]
    assert len(winners) == 1
    assert found == winners * 49
    # What the losers were shown is no promise: it can be read, so it is durable.
    assert await store.get("/leases/leader") == found[0]


async def test_counting_with_compare_and_swap_loses_nothing(store: Store) -> None:
    await store.create("/configmaps/default/counter", b"0")

    async def add(times: int) -> None:
        for _ in range(times):
            while True:
                now = await store.get("/configmaps/default/counter")
                assert now is not None
                try:
                    await store.update(now.key, b"%d" % (int(now.value) + 1), now.revision)
                except RevisionMismatch:
                    continue
                break

    await asyncio.gather(*(add(5) for _ in range(10)))
    counter = await store.get("/configmaps/default/counter")
    assert counter is not None
    assert counter.value == b"50"


async def test_delete_and_create_at_the_same_time_are_put_in_an_order(store: Store) -> None:
    first = await store.create("/pods/default/web", b"1")
    gone, again = await asyncio.gather(
        store.delete("/pods/default/web", first.revision), store.create("/pods/default/web", b"2")
    )
    assert again.revision == gone.revision + 1
    assert again.created == again.revision


async def test_many_at_once_are_all_there_with_revisions_of_their_own(store: Store) -> None:
    start = store.revision
    stored = await asyncio.gather(*(store.create(f"/pods/default/{n}", b"%d" % n) for n in range(5_000)))
    assert sorted(one.revision for one in stored) == list(range(start + 1, start + 5_001))
    assert await store.count("/pods/") == 5_000
    for one in stored:
        assert await store.get(one.key) == one


async def test_a_writer_that_gives_up_does_not_take_its_write_back(store: Store) -> None:
    writing = asyncio.ensure_future(store.create("/pods/default/web", b"1"))
    await asyncio.sleep(0)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    with pytest.raises(KeyExists):
        await store.create("/pods/default/web", b"2")
    found = await store.get("/pods/default/web")
    assert found is not None
    assert found.value == b"1"


async def test_any_bytes_are_kept_as_they_are(store: Store) -> None:
    values = {"/a/empty": b"", "/a/zero": b"\0" * 9, "/a/large": b"x" * 3_000_000, "/a/ключ": bytes(range(256))}
    for key, value in values.items():
        await store.create(key, value)
    for key, value in values.items():
        found = await store.get(key)
        assert found is not None
        assert found.value == value


async def test_closing_finishes_what_was_accepted_and_refuses_the_rest(store: Store) -> None:
    writing = [asyncio.ensure_future(store.create(f"/pods/default/{number}", b"")) for number in range(10)]
    await asyncio.sleep(0)
    await store.close()
    assert len({stored.revision for stored in await asyncio.gather(*writing)}) == 10
    for refused in (
        store.create("/pods/default/late", b""),
        store.update("/pods/default/1", b"", 1),
        store.delete("/pods/default/1", 1),
    ):
        with pytest.raises(StoreError, match="closed"):
            await refused
    await store.close()
