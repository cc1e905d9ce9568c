"""What any store promises about watches: every change after a revision, once, in order; or that it cannot."""

import asyncio

import pytest
from tests.contract.store.stores import keys_of, read

from moorage.store.protocol import Change, Compacted, Store, StoreError

pytestmark = pytest.mark.real_time


async def _history(store: Store) -> list[Change]:
    """Some of each: what a watch from the beginning is to see."""
    pod = await store.create("/pods/default/a", b"1", "meaning")
    node = await store.create("/nodes/a", b"1")
    newer = await store.update("/pods/default/a", b"2", pod.revision)
    gone = await store.delete("/pods/default/a", newer.revision)
    again = await store.create("/pods/default/a", b"3")
    other = await store.create("/pods/kube-system/a", b"4")
    return [
        Change(pod.revision, None, pod),
        Change(node.revision, None, node),
        Change(newer.revision, pod, newer),
        gone,
        Change(again.revision, None, again),
        Change(other.revision, None, other),
    ]


@pytest.mark.parametrize("prefix", ["", "/", "/pods/", "/pods/default/", "/pods/default/a", "/nodes/", "/n"])
async def test_from_any_revision(prefix: str, store: Store) -> None:
    start = store.revision
    history = await _history(store)
    for after in range(start, store.revision):
        wanted = [change for change in history if change.revision > after and change.key.startswith(prefix)]
        if wanted:
            assert await read(store, prefix, after, len(wanted)) == wanted


async def test_what_happens_later_is_waited_for(store: Store) -> None:
    watch = store.watch("/pods/", store.revision)
    everything = store.watch("", store.revision)
    waiting = [asyncio.ensure_future(watch.next()), asyncio.ensure_future(everything.next())]
    await asyncio.sleep(0)
    await store.create("/nodes/a", b"")
    pod = await store.create("/pods/default/a", b"")
    pods, all_of_them = await asyncio.gather(*waiting)
    assert pods == [Change(pod.revision, None, pod)]
    assert keys_of(all_of_them)[0] == "/nodes/a"


async def test_a_watch_from_the_future_waits_until_then(store: Store) -> None:
    watch = store.watch("/pods/", store.revision + 2)
    stored = [await store.create(f"/pods/default/{number}", b"") for number in range(3)]
    assert await watch.next() == [Change(stored[2].revision, None, stored[2])]


async def test_no_gaps_and_no_duplicates_under_load(store: Store) -> None:
    start = store.revision
    writers, each = 20, 40
    total = writers * each * 2

    async def write(name: int) -> None:
        for number in range(each):
            stored = await store.create(f"/pods/{name}/{number}", b"")
            await store.delete(stored.key, stored.revision)

    async def late(prefix: str, after: int, count: int) -> list[Change]:
        while store.revision < after:
            await asyncio.sleep(0)
        return await read(store, prefix, after, count)

    watching = [asyncio.ensure_future(late("/pods/", start + skip, total - skip)) for skip in (0, 0, 1, 7, total // 2)]
    one = asyncio.ensure_future(read(store, "/pods/7/", start, each * 2))
    await asyncio.gather(*(write(name) for name in range(writers)))
    for changes, skip in zip(await asyncio.gather(*watching), (0, 0, 1, 7, total // 2), strict=True):
        assert [change.revision for change in changes] == list(range(start + skip + 1, start + total + 1))
    assert [change.revision for change in await one] == [
        change.revision for change in await read(store, "/pods/", start, total) if change.key.startswith("/pods/7/")
    ]


async def test_a_slow_watch_gets_everything_and_delays_nobody(store: Store) -> None:
    slow = store.watch("/pods/", store.revision)
    start = store.revision
    await asyncio.gather(*(store.create(f"/pods/default/{number}", b"") for number in range(3_000)))
    seen: list[int] = []
    while len(seen) < 3_000:
        seen += [change.revision for change in await slow.next()]
    assert seen == list(range(start + 1, start + 3_001))


async def test_list_then_watch_misses_nothing(store: Store) -> None:
    async def follow() -> set[str]:
        listing = await store.list("/pods/")
        known = {stored.key for stored in listing.items}
        watch = store.watch("/pods/", listing.revision)
        while "/pods/default/last" not in known:
            for change in await watch.next():
                assert (change.key in known) == (change.old is not None)
                if change.new is None:
                    known.remove(change.key)
                else:
                    known.add(change.key)
        return known

    following = []
    for number in range(30):
        stored = await store.create(f"/pods/default/{number}", b"")
        following.append(asyncio.ensure_future(follow()))
        await asyncio.sleep(0)
        if number % 3 == 0:
            await store.delete(stored.key, stored.revision)
    await store.create("/pods/default/last", b"")
    final = {stored.key for stored in (await store.list("/pods/")).items}
    for known in await asyncio.gather(*following):
        assert known == final


async def test_at_says_up_to_where_everything_was_delivered(store: Store) -> None:
    watch = store.watch("/pods/", store.revision)
    assert watch.at == store.revision
    pod = await store.create("/pods/default/a", b"")
    assert watch.at < pod.revision
    assert await watch.next() == [Change(pod.revision, None, pod)]
    assert watch.at == pod.revision
    node = await store.create("/nodes/a", b"")
    assert watch.at == node.revision
    newer = await store.update("/pods/default/a", b"", pod.revision)
    assert watch.at < newer.revision
    # A watch from where the first one is sees what the first one has not seen.
    assert await read(store, "/pods/", watch.at, 1) == [Change(newer.revision, pod, newer)]


async def test_a_watch_from_before_a_compaction_is_refused(store: Store) -> None:
    start = store.revision
    history = await _history(store)
    middle = history[2].revision
    await store.compact(middle)
    for prefix in ("/pods/", "/nodes/", "/"):
        with pytest.raises(Compacted) as refused:
            store.watch(prefix, start)
        assert refused.value.oldest == store.oldest == middle
    wanted = [change for change in history if change.revision > middle]
    assert await read(store, "/", middle, len(wanted)) == wanted


async def test_a_watch_that_lost_something_to_a_compaction_hears_so(store: Store) -> None:
    start = store.revision
    behind, quiet = store.watch("/pods/", start), store.watch("/leases/", start)
    await _history(store)
    await store.compact(store.revision)
    with pytest.raises(Compacted):
        await behind.next()
    # Nothing of this one was lost: there was nothing.
    lease = await store.create("/leases/a", b"")
    assert await quiet.next() == [Change(lease.revision, None, lease)]


async def test_who_waits_hears_of_the_end(store: Store) -> None:
    watches = [store.watch("/pods/", store.revision), store.watch("", store.revision)]
    closed = store.watch("/pods/", store.revision)
    waiting = [asyncio.ensure_future(watch.next()) for watch in (closed, *watches)]
    await asyncio.sleep(0)
    closed.close()
    with pytest.raises(StoreError):
        await waiting[0]
    assert not any(waiter.done() for waiter in waiting[1:])
    await store.close()
    for waiter in waiting[1:]:
        with pytest.raises(StoreError, match="closed"):
            await waiter
    with pytest.raises(StoreError):
        await watches[0].next()


async def test_giving_up_waiting_loses_nothing(store: Store) -> None:
    watch = store.watch("/pods/", store.revision)
    for _ in range(3):
        waiting = asyncio.ensure_future(watch.next())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    pod = await store.create("/pods/default/a", b"")
    assert await watch.next() == [Change(pod.revision, None, pod)]
