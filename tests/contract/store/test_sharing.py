"""What any store promises to servers that share it: listeners hear of every change, and what is newest is found out."""

import pytest

from moorage.store.protocol import Change, FutureRevision, Store

pytestmark = pytest.mark.real_time


async def test_listeners_hear_of_the_changes_of_their_part_in_order_and_first(store: Store) -> None:
    heard: list[tuple[Change, bytes | None, int]] = []

    def listener(change: Change) -> None:
        newest = store.peek(change.key)
        heard.append((change, newest.value if newest is not None else None, store.revision))

    await store.create("/services/default/before", b"0")
    store.subscribe("/services/", listener)
    watch = store.watch("/services/", store.revision)
    web = await store.create("/services/default/web", b"1")
    assert [change.key for change, _, _ in heard] == ["/services/default/web"]  # before the write is acknowledged
    await store.create("/pods/default/web", b"1")
    newer = await store.update("/services/default/web", b"2", web.revision)
    gone = await store.delete("/services/default/web", newer.revision)
    changes = [change for change, _, _ in heard]
    assert changes == [Change(web.revision, None, web), Change(newer.revision, web, newer), gone]
    assert [value for _, value, _ in heard] == [b"1", b"2", None]
    assert all(seen >= change.revision for change, _, seen in heard)
    assert await watch.next() == changes


async def test_a_listener_that_fails_stops_no_write(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    heard: list[Change] = []

    def broken(change: Change) -> None:
        raise ValueError("what is this?")

    store.subscribe("/services/", broken)
    store.subscribe("/services/", heard.append)
    web = await store.create("/services/default/web", b"1")
    assert await store.get("/services/default/web") == web
    assert len(heard) == 1
    assert "/services/default/web" in caplog.text


async def test_what_is_acknowledged_is_reached(store: Store) -> None:
    web = await store.create("/services/default/web", b"1")
    await store.catch_up()
    assert store.revision >= web.revision
    await store.reach(web.revision)
    with pytest.raises(FutureRevision) as refused:
        await store.reach(store.revision + 1_000)
    assert refused.value.asked == store.revision + 1_000
