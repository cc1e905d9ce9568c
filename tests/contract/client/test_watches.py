"""What any transport promises about watches: order, resuming, selectors, bookmarks, 410; and informers on top."""

import asyncio
from contextlib import suppress

import pytest
from tests.contract.client.transports import CONFIG_MAPS, PODS, config_map, pod, take

import moorage.serve.verbs.watching
from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Client, EventType, PatchType, WatchEvent
from moorage.cluster.api_server import ApiServer
from moorage.model.api_error import ApiError

pytestmark = pytest.mark.real_time

ADDED, MODIFIED, DELETED = EventType.ADDED, EventType.MODIFIED, EventType.DELETED


def _told(events: list[WatchEvent]) -> list[tuple[EventType, str, int]]:
    return [(event.type, event.object.name, event.object.revision) for event in events]


async def test_a_watch_tells_what_happened_since_in_order(client: Client) -> None:
    start = (await client.list_all(CONFIG_MAPS)).revision
    made = await client.create(CONFIG_MAPS, config_map("c", a="1"))
    changed = await client.patch(CONFIG_MAPS, "c", "default", {"data": {"a": "2"}})
    await client.delete(CONFIG_MAPS, "c", "default")
    events = await take(client, CONFIG_MAPS, start, 3)
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
    assert _told(await take(client, CONFIG_MAPS, made.revision, 2)) == _told(events[1:])


async def test_a_watch_goes_on_with_what_happens_now(client: Client) -> None:
    start = (await client.list_all(PODS)).revision
    watching = asyncio.create_task(take(client, PODS, start, 20))
    await asyncio.sleep(0)
    for number in range(20):
        await client.create(PODS, pod(f"p{number}"))
    events = await watching
    assert [event.object.name for event in events] == [f"p{number}" for number in range(20)]
    assert events[3].object.view.spec.containers[0].name == "c"


async def test_a_selector_makes_comings_and_goings_of_changes(client: Client) -> None:
    start = (await client.list_all(PODS)).revision
    await client.create(PODS, pod("a", {"tier": "web"}))
    await client.create(PODS, pod("b", {"tier": "db"}))
    to_db = await client.patch(PODS, "a", "default", {"metadata": {"labels": {"tier": "db"}}})
    await client.patch(PODS, "b", "default", {"metadata": {"labels": {"tier": "web"}}})
    events = await take(client, PODS, start, 3, labels="tier=web")
    assert [(event.type, event.object.name) for event in events] == [(ADDED, "a"), (DELETED, "a"), (ADDED, "b")]
    assert events[1].object.revision == to_db.revision


async def test_a_watch_of_one_namespace(client: Client) -> None:
    start = (await client.list_all(CONFIG_MAPS)).revision
    await client.create(CONFIG_MAPS, config_map("c", "kube-system"))
    await client.create(CONFIG_MAPS, config_map("d", "default"))
    events = await take(client, CONFIG_MAPS, start, 1, namespace="default")
    assert [event.object.key for event in events] == ["default/d"]


async def test_history_that_is_forgotten_is_410(client: Client, server: ApiServer) -> None:
    start = (await client.list_all(CONFIG_MAPS)).revision
    for value in "1234":
        await client.patch(CONFIG_MAPS, "c", "default", config_map("c", a=value), patch_type=PatchType.APPLY)
    await server.api.store.compact(server.api.store.revision)
    with pytest.raises(ApiError) as refusal:
        await take(client, CONFIG_MAPS, start, 1)
    assert (refusal.value.code, refusal.value.reason) == (410, "Expired")


async def test_a_revision_that_never_was_is_refused(client: Client) -> None:
    with pytest.raises(ApiError) as refusal:
        await take(client, CONFIG_MAPS, 1_000_000, 1)
    assert refusal.value.status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


async def test_bookmarks_say_where_a_quiet_watch_is(
    monkeypatch: pytest.MonkeyPatch, client: Client, server: ApiServer
) -> None:
    monkeypatch.setattr(moorage.serve.verbs.watching, "_BOOKMARK_EVERY", 0.02)
    start = (await client.list_all(PODS)).revision
    await client.create(CONFIG_MAPS, config_map("elsewhere"))
    newest = server.api.store.revision
    watch = client.watch(PODS, start)
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
        await client.create(CONFIG_MAPS, config_map(f"c{number}"))
    informer = Informer(client, CONFIG_MAPS, follow, namespace="default")
    task = asyncio.create_task(informer.run())
    await informer.synced()
    assert len(held) == 20
    for number in range(0, 20, 2):
        await client.delete(CONFIG_MAPS, f"c{number}", "default")
    for number in range(1, 20, 2):
        await client.patch(CONFIG_MAPS, f"c{number}", "default", {"data": {"a": "b"}})
    await client.create(CONFIG_MAPS, config_map("last"))
    while "last" not in held:
        changed.clear()
        await changed.wait()
    listing = await client.list_all(CONFIG_MAPS, "default")
    assert held == {item.name: item.revision for item in listing.items}
    assert {item.key: item.raw for item in listing.items} == {key: item.raw for key, item in informer.cache.items()}
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
