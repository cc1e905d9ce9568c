"""What any store promises about lists: prefixes, order, pages that fit together, and the past."""

import asyncio

import pytest

from moorage.store.protocol import Compacted, FutureRevision, Listing, Store, Stored

pytestmark = pytest.mark.real_time

KEYS = (
    "/pods/default/a",
    "/pods/default/b",
    "/pods/default-2/a",
    "/pods/kube-system/a",
    "/podsecurity/a",
    "/nodes/a",
    "/apps/deployments/default/a",
    "/apps/replicasets/default/a",
    "/apps/deployments/default/a-b",
    "/lonely",
)
PREFIXES = (
    *("", "/", "/pods", "/pods/", "/pods/default", "/pods/default/", "/nothing/", "/l", "/lonely/"),
    *("/apps/", "/apps/deployments/", "/apps/deployments/default/a"),
)


def _keys(listing: Listing) -> list[str]:
    return [stored.key for stored in listing.items]


async def _pages(store: Store, prefix: str, limit: int, revision: int = 0) -> list[Stored]:
    """All items, page by page, as of the revision of the first page."""
    items: list[Stored] = []
    while True:
        page = await store.list(prefix, revision=revision, limit=limit, after=items[-1].key if items else "")
        assert revision in (0, page.revision)
        revision = page.revision
        items += page.items
        assert len(page.items) <= limit
        if not page.remaining:
            return items


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_prefixes(prefix: str, store: Store) -> None:
    for key in KEYS:
        await store.create(key, b"")
    wanted = sorted(key for key in KEYS if key.startswith(prefix))
    listing = await store.list(prefix)
    assert _keys(listing) == wanted
    assert (listing.revision, listing.remaining) == (store.revision, 0)
    assert await store.count(prefix) == len(wanted)
    for limit in (1, 2, 3, 100):
        assert [stored.key for stored in await _pages(store, prefix, limit)] == wanted
    if wanted:
        page = await store.list(prefix, limit=1)
        assert (_keys(page), page.remaining) == (wanted[:1], len(wanted) - 1)
        rest = await store.list(prefix, after=wanted[0])
        assert _keys(rest) == wanted[1:]
        for key in KEYS:
            found = await store.get(key)
            assert found is not None
            await store.update(key, b"newer", found.revision)
        assert _keys(await store.list(prefix, revision=listing.revision)) == wanted
        assert (await store.list(prefix, revision=listing.revision)).items == listing.items


async def test_a_list_as_of_a_revision(store: Store) -> None:
    past: list[Listing] = []
    for number in range(12):
        found = await store.get(f"/pods/default/{number % 5}")
        if found is None:
            await store.create(f"/pods/default/{number % 5}", b"%d" % number)
        elif number % 2:
            await store.delete(found.key, found.revision)
        else:
            await store.update(found.key, b"%d" % number, found.revision)
        past.append(await store.list("/pods/"))
    for listing in past:
        assert await store.list("/pods/", revision=listing.revision) == listing


async def test_pages_fit_together_whatever_is_written_in_between(store: Store) -> None:
    for number in range(0, 200, 2):
        await store.create(f"/pods/default/{number:03}", b"before")
    before = await store.list("/pods/")
    done = asyncio.Event()

    async def churn() -> None:
        for number in range(200):
            key = f"/pods/default/{number:03}"
            found = await store.get(key)
            if found is None:
                await store.create(key, b"after")
            elif number % 4:
                await store.delete(key, found.revision)
            else:
                await store.update(key, b"after", found.revision)
            await asyncio.sleep(0)
        done.set()

    churning = asyncio.ensure_future(churn())
    rounds = 0
    while rounds == 0 or not done.is_set():
        assert await _pages(store, "/pods/", 7, revision=before.revision) == before.items
        await asyncio.sleep(0.001)  # a loop that never rests would leave a thread that writes little time
        rounds += 1
    await churning
    assert await _pages(store, "/pods/", 7, revision=before.revision) == before.items
    assert await _pages(store, "/pods/", 7) == (await store.list("/pods/")).items


async def test_the_remaining_of_a_page_in_the_past(store: Store) -> None:
    for number in range(10):
        await store.create(f"/pods/default/{number}", b"")
    first = await store.list("/pods/", limit=4)
    assert first.remaining == 6
    found = await store.get("/pods/default/7")
    assert found is not None
    await store.delete(found.key, found.revision)
    await store.create("/pods/default/77", b"")
    second = await store.list("/pods/", revision=first.revision, limit=4, after="/pods/default/3")
    assert (_keys(second), second.remaining) == ([f"/pods/default/{number}" for number in range(4, 8)], 2)


async def test_the_future_is_refused(store: Store) -> None:
    await store.create("/pods/default/a", b"")
    with pytest.raises(FutureRevision) as refused:
        await store.list("/pods/", revision=store.revision + 1)
    assert (refused.value.asked, refused.value.current) == (store.revision + 1, store.revision)
    with pytest.raises(FutureRevision):
        await store.compact(store.revision + 1)


async def test_before_a_compaction_nothing_is_known(store: Store) -> None:
    one = await store.create("/pods/default/a", b"1")
    two = await store.update("/pods/default/a", b"2", one.revision)
    await store.create("/nodes/a", b"1")
    await store.update("/pods/default/a", b"3", two.revision)
    await store.compact(two.revision)
    assert store.oldest == two.revision
    for prefix in ("/pods/", "/nodes/", "/"):
        with pytest.raises(Compacted) as refused:
            await store.list(prefix, revision=one.revision)
        assert refused.value.oldest == two.revision
    # What was newest then is still known.
    assert (await store.list("/pods/", revision=two.revision)).items == [two]
    await store.compact(one.revision)
    assert store.oldest == two.revision


async def test_compaction_keeps_the_newest_values(store: Store) -> None:
    for number in range(20):
        stored = await store.create(f"/pods/default/{number}", b"1")
        if number % 2:
            stored = await store.update(stored.key, b"2", stored.revision)
        if number % 3 == 0:
            await store.delete(stored.key, stored.revision)
    before = await store.list("/")
    await store.compact(store.revision)
    assert await store.list("/") == before
    assert await store.list("/", revision=store.revision) == before
    assert (await store.create("/pods/default/0", b"")).revision == before.revision + 1
