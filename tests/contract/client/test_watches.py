"""What any transport promises about watches: order, resuming, selectors, bookmarks, 410; and informers on top."""

import asyncio
from contextlib import suppress

import pytest
from tests.contract.client.transports import config_map, pod, take

import moorage.serve.verbs.watching
from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Client, EventType, PatchType, WatchEvent
from moorage.cluster.api_server import ApiServer
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def _told(events: list[WatchEvent]) -> list[tuple[EventType, str, int]]:
    return [(event.type, event.object.name, event.object.revision) for event in events]


async def test_a_watch_tells_what_happened_since_in_order(client: Client) -> None:
    start = (await client.list_all(KINDS.CONFIG_MAP)).revision
    made = await client.create(KINDS.CONFIG_MAP, config_map("c", a="1"))
    changed = await client.patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "2"}})
    await client.delete(KINDS.CONFIG_MAP, "c", "default")
    events = await take(client, KINDS.CONFIG_MAP, start, 3)
    gone = events[2].object
    assert _told(events) == [
        (ADDED, "c", made.revision),
        (MODIFIED, "c", changed.revision),
        (DELETED, "c", gone.revision),
    ]
    assert gone.revision > changed.revision
    assert gone.key == "default/c"
    assert gone.uid == made.uid
    assert gone.raw["data"] == {"a": "2"}
    assert gone.raw["metadata"]["resourceVersion"] == str(gone.revision)
    assert events[0].object.raw == made.raw
    assert _told(await take(client, KINDS.CONFIG_MAP, made.revision, 2)) == _told(events[1:])


async def test_a_watch_goes_on_with_what_happens_now(client: Client) -> None:
    start = (await client.list_all(KINDS.POD)).revision
    watching = asyncio.create_task(take(client, KINDS.POD, start, 20))
    await asyncio.sleep(0)
    for number in range(20):
        await client.create(KINDS.POD, pod(f"p{number}"))
    events = await watching
    assert [event.object.name for event in events] == [f"p{number}" for number in range(20)]
    assert events[3].object.view.spec.containers[0].name == "c"


async def test_a_selector_makes_comings_and_goings_of_changes(client: Client) -> None:
    start = (await client.list_all(KINDS.POD)).revision
    await client.create(KINDS.POD, pod("a", {"tier": "web"}))
    await client.create(KINDS.POD, pod("b", {"tier": "db"}))
    to_db = await client.patch(KINDS.POD, "a", "default", {"metadata": {"labels": {"tier": "db"}}})
    await client.patch(KINDS.POD, "b", "default", {"metadata": {"labels": {"tier": "web"}}})
    events = await take(client, KINDS.POD, start, 3, labels="tier=web")
    assert [(event.type, event.object.name) for event in events] == [(ADDED, "a"), (DELETED, "a"), (ADDED, "b")]
    assert events[1].object.revision == to_db.revision


async def test_a_watch_of_one_namespace(client: Client) -> None:
    start = (await client.list_all(KINDS.CONFIG_MAP)).revision
    await client.create(KINDS.CONFIG_MAP, config_map("c", "kube-system"))
    await client.create(KINDS.CONFIG_MAP, config_map("d", "default"))
    events = await take(client, KINDS.CONFIG_MAP, start, 1, namespace="default")
    assert [event.object.key for event in events] == ["default/d"]


async def test_history_that_is_forgotten_is_410(client: Client, server: ApiServer) -> None:
    start = (await client.list_all(KINDS.CONFIG_MAP)).revision
    for value in "1234":
        await client.patch(KINDS.CONFIG_MAP, "c", "default", config_map("c", a=value), patch_type=PatchType.APPLY)
    await server.api.store.compact(server.api.store.revision)
    with pytest.raises(ApiError) as refusal:
        await take(client, KINDS.CONFIG_MAP, start, 1)
    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")


async def test_a_revision_that_never_was_is_refused(client: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        await take(client, KINDS.CONFIG_MAP, 1_000_000, 1)
    assert refusal.value.status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_bookmarks_say_where_a_quiet_watch_is(
    monkeypatch: pytest.MonkeyPatch, client: Client, server: ApiServer
) -> None:
    monkeypatch.setattr(moorage.serve.verbs.watching, "_BOOKMARK_EVERY", 0.02)
    start = (await client.list_all(KINDS.POD)).revision
    await client.create(KINDS.CONFIG_MAP, config_map("elsewhere"))
    newest = server.api.store.revision
    watch = client.watch(KINDS.POD, start)
    async for events in watch:
        (event,) = events
        assert event.type is EventType.BOOKMARK
        if event.object.revision == newest:
            break
    await watch.aclose()


async def test_an_informer_keeps_up_with_a_real_server(client: Client) -> None:
    held: dict[str, int] = {}
    changed = asyncio.Event()

    def follow(deltas: list[Delta]) -> None:
        for old, new in deltas:
            if new is None:
                assert old is not None
                del held[old.name]
            else:
                assert (old is None) == (new.name not in held)
                held[new.name] = new.revision
        changed.set()

    for number in range(20):
        await client.create(KINDS.CONFIG_MAP, config_map(f"c{number}"))
    informer = Informer(client, KINDS.CONFIG_MAP, follow, namespace="default")
    task = asyncio.create_task(informer.run())
    await informer.synced()
    assert len(held) == 20
    for number in range(0, 20, 2):
        await client.delete(KINDS.CONFIG_MAP, f"c{number}", "default")
    for number in range(1, 20, 2):
        await client.patch(KINDS.CONFIG_MAP, f"c{number}", "default", {"data": {"a": "b"}})
    await client.create(KINDS.CONFIG_MAP, config_map("last"))
    while "last" not in held:
        changed.clear()
        await changed.wait()
    listing = await client.list_all(KINDS.CONFIG_MAP, "default")
    assert held == {item.name: item.revision for item in listing.items}
    assert {item.key: item.raw for item in listing.items} == {key: item.raw for key, item in informer.cache.items()}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
