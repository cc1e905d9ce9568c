"""Watches: where they begin, what they tell, when they end."""

import asyncio
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import ME, document, make, new_api, refused

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.requests.options import ListOptions
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.watching import INITIAL_EVENTS_END, Batches, watch


async def settings(api: Api, name: str, label: str = "") -> None:
    """An object, made or changed."""
    raw = document(KINDS.CONFIG_MAP, name, metadata={"labels": {"is": label}} if label else {})
    try:
        await make(api, KINDS.CONFIG_MAP, raw)
    except ApiError:
        await replace(api, Ref(KINDS.CONFIG_MAP, "default", name), raw, ME)


async def begun(api: Api, **options: Any) -> Batches:
    return await watch(api, KINDS.CONFIG_MAP, "default", ListOptions(watch=True, **options))


async def told(batches: Batches, most: int = 99) -> list[str]:
    """What comes until nothing does, as `TYPE name`."""
    said: list[str] = []
    try:
        while len(said) < most:
            async with asyncio.timeout(0.05):
                for event in await anext(batches):
                    name = f" {event.object.name}" if event.object.name else ""
                    is_end = event.object.raw["metadata"].get("annotations") == {INITIAL_EVENTS_END: "true"}
                    said.append(f"{event.type.value}{name}{' END' if is_end else ''}")
    except (TimeoutError, StopAsyncIteration):
        pass
    await batches.aclose()
    return said


BEGINNINGS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["ADDED a", "ADDED b", "ADDED c"]),
    ({"resource_version": 0}, ["ADDED a", "ADDED b", "ADDED c"]),
    ({"labels": "is=old"}, ["ADDED a"]),
    ({"fields": "metadata.name=b"}, ["ADDED b"]),
    ({"initial_events": False}, ["ADDED c"]),
    ({"initial_events": True}, ["ADDED a", "ADDED b", "ADDED c"]),
    ({"initial_events": True, "bookmarks": True}, ["ADDED a", "ADDED b", "BOOKMARK END", "ADDED c"]),
    ({"initial_events": True, "bookmarks": True, "labels": "is=new"}, ["BOOKMARK END"]),
    ({"bookmarks": True}, ["ADDED a", "ADDED b", "ADDED c"]),
]


@pytest.mark.parametrize(("options", "wanted"), BEGINNINGS)
async def test_where_a_watch_begins(options: dict[str, Any], wanted: list[str], api: Api) -> None:
    await settings(api, "a", "old")
    await settings(api, "b")
    batches = await begun(api, **options)
    await settings(api, "c")
    assert await told(batches) == wanted


CHANGES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["ADDED b", "MODIFIED a", "MODIFIED a", "MODIFIED b", "DELETED a"]),
    ({"labels": "is=on"}, ["ADDED a", "DELETED a", "ADDED b"]),
    ({"labels": "is!=on"}, ["ADDED b", "DELETED a", "ADDED a", "DELETED b", "DELETED a"]),
    ({"fields": "metadata.name=b"}, ["ADDED b", "MODIFIED b"]),
]


@pytest.mark.parametrize(("options", "wanted"), CHANGES)
async def test_what_begins_and_ceases_to_match(options: dict[str, Any], wanted: list[str], api: Api) -> None:
    await settings(api, "a")
    batches = await begun(api, resource_version=api.store.revision, **options)
    await settings(api, "b")
    await settings(api, "a", "on")
    await settings(api, "a", "off")
    await settings(api, "b", "on")
    await delete(api, Ref(KINDS.CONFIG_MAP, "default", "a"), DeleteOptions())
    assert await told(batches) == wanted


async def test_what_stops_to_match_is_shown_as_it_was_at_the_revision_that_stopped_it(api: Api) -> None:
    await settings(api, "a", "on")
    batches = await begun(api, resource_version=api.store.revision, labels="is=on")
    await settings(api, "a", "off")
    (event,) = await anext(batches)
    assert event.object.raw["metadata"]["labels"]["is"] == "on"
    assert event.object.revision == api.store.revision
    await batches.aclose()


async def test_revisions_that_are_gone_or_never_were(api: Api) -> None:
    for name in "abc":
        await settings(api, name)
    last = api.store.revision
    said = f"Too large resource version: {last + 1}, current: {last}"
    assert await refused(begun(api, resource_version=last + 1)) == (410, said)
    await api.store.compact(last)
    code, why = await refused(begun(api, resource_version=1))
    assert (code, why.startswith("too old resource version: 1 (")) == (410, True)


ENDS = [(1, False, 1.0, ["ADDED a"]), (1, True, 1.0, ["ADDED a", "BOOKMARK"]), (-1, False, 0.0, ["ADDED a"])]


@pytest.mark.parametrize(("seconds", "bookmarks", "lasts", "wanted"), ENDS)
async def test_a_watch_ends_in_time_with_one_bookmark(
    seconds: int, bookmarks: bool, lasts: float, wanted: list[str], api: Api
) -> None:
    await settings(api, "a")
    loop = asyncio.get_running_loop()
    started = loop.time()
    batches = await begun(api, timeout_seconds=seconds, bookmarks=bookmarks)
    said = [event.type.value async for batch in batches for event in batch]
    assert said == [text.partition(" ")[0] for text in wanted]
    assert lasts <= loop.time() - started < lasts + 0.9


async def test_no_time_is_the_usual_time(api: Api) -> None:
    batches = await begun(api, timeout_seconds=0)
    await settings(api, "a")
    assert await told(batches, 1) == ["ADDED a"]


@pytest.mark.parametrize("options", [{"labels": "a in"}, {"fields": "a=b"}])
async def test_invalid_selectors_are_refused(options: dict[str, Any], api: Api) -> None:
    assert (await refused(begun(api, **options)))[0] == 400


async def test_when_the_server_stops_every_watch_ends_with_a_bookmark_where_it_may() -> None:
    async with new_api() as api:
        with_bookmarks, without = await begun(api, bookmarks=True), await begun(api)
        await settings(api, "a")
        collected = [asyncio.create_task(all_of(batches)) for batches in (with_bookmarks, without)]
        await asyncio.sleep(1)
        assert len(api.open_watches) == 2
        revision = api.store.revision
        api.end_watches()
        assert await collected[0] == [("ADDED", revision), ("BOOKMARK", revision)]
        assert await collected[1] == [("ADDED", revision)]
        assert not api.open_watches


async def all_of(batches: Batches) -> list[tuple[str, int]]:
    return [(event.type.value, event.object.revision) async for batch in batches for event in batch]
