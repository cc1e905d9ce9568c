"""Watch a kind: yield the changes after a revision, in batches, until the time is up.

With selectors, an object that starts to match is ADDED and one that stops is DELETED. A watch may begin with the
objects that exist, and sends bookmarks when nothing happens. A watcher that the store's history has left behind gets
410.
Kubernetes: the watch handler over the watch cache.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from moorage.client.protocol import EventType, Object, WatchEvent
from moorage.model.api_error import expired
from moorage.model.kinds import Kind
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.long_work import in_slices, next_turn
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import object_of, prefix_of
from moorage.serve.resources.selector_parameters import Selection, compile_selection
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.reading import known
from moorage.store.protocol import Change, Compacted, Stored, StoreError, Watch

#: The annotation of the bookmark that follows the objects which existed when the watch began.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_BOOKMARK_EVERY = 60.0
_MAX_BATCH = 250
_MAX_SECONDS = 3600.0


Batches = AsyncGenerator[list[WatchEvent], None]


async def watch(api: Api, kind: Kind, namespace: str, options: ListOptions) -> Batches:
    """Start a watch. Raises ApiError at once: 400 for bad selectors, 410 for a revision that is compacted."""
    selection = compile_selection(kind, options.labels, options.fields)
    prefix = prefix_of(kind, namespace)
    await known(api, options.resource_version)
    from_the_start = options.initial_events or (options.initial_events is None and not options.resource_version)
    if from_the_start:
        await next_turn()
        listing = await api.store.list(prefix)
        items = list(await api.in_version(kind, listing.items)) if kind.is_converted else listing.items
        initial, after = await _wanted(kind, selection, items), listing.revision
    else:
        initial, after = [], options.resource_version or api.store.revision
    try:
        changes = api.store.watch(prefix, after)
    except Compacted as gone:
        raise expired(f"too old resource version: {after} ({gone.oldest})") from None
    announces_end = bool(options.initial_events and options.bookmarks)
    seconds = min(_MAX_SECONDS, options.timeout_seconds or _MAX_SECONDS)
    deadline = asyncio.get_running_loop().time() + seconds
    batches = _batches(api, kind, changes, initial, after, selection, options.bookmarks, announces_end, deadline)
    return _while_served(api, kind, batches) if type(kind) is ServedKind else batches


async def _while_served(api: Api, kind: Kind, batches: Batches) -> Batches:
    """End a watch of a custom kind whose definition is gone or has changed: clients come back, and list again."""
    async with aclosing(batches):
        async for batch in batches:
            if api.resources.find(kind.group, kind.version, kind.plural) is not kind:
                return
            yield batch


async def _batches(
    api: Api,
    kind: Kind,
    changes: Watch,
    initial: list[Stored],
    after: int,
    selection: Selection,
    has_bookmarks: bool,
    announces_end: bool,
    deadline: float,
) -> Batches:
    loop = asyncio.get_running_loop()
    api.open_watches.add(changes)
    try:
        for start in range(0, len(initial), _MAX_BATCH):
            await next_turn()
            yield [_event(kind, EventType.ADDED, item, item.revision) for item in initial[start : start + _MAX_BATCH]]
        if announces_end:
            yield [_bookmark(kind, after, {INITIAL_EVENTS_END: "true"})]
        while (left := deadline - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, _BOOKMARK_EVERY)):
                    batch = await changes.next()
            except TimeoutError:
                if has_bookmarks and loop.time() < deadline:
                    yield [_bookmark(kind, changes.at)]
                continue
            except Compacted as gone:
                raise expired(f"too old resource version: {changes.at} ({gone.oldest})") from None
            except StoreError:
                break  # the server stops: the client goes on at the bookmark, with another one
            if kind.is_converted:
                batch = await _in_version(api, kind, batch)
            events = await _events(kind, batch, selection)
            if events:
                yield events
        if has_bookmarks:
            yield [_bookmark(kind, changes.at)]
    finally:
        changes.close()
        api.open_watches.discard(changes)


async def _in_version(api: Api, kind: Kind, batch: list[Change]) -> list[Change]:
    """Return changes with objects as they are in the version of a kind. Raises ApiError."""
    items = [stored for _, old, new in batch for stored in (old, new) if stored is not None]
    converted = iter(await api.in_version(kind, items))
    return [
        Change(revision, None if old is None else next(converted), None if new is None else next(converted))
        for revision, old, new in batch
    ]


async def _events(kind: Kind, batch: list[Change], selection: Selection) -> list[WatchEvent]:
    if selection.is_everything:
        return [_plain(kind, change) for change in batch]
    chosen = [_selected(kind, change, selection) async for _, change in in_slices(batch)]
    return [event for event in chosen if event is not None]


def _plain(kind: Kind, change: Change) -> WatchEvent:
    revision, old, new = change
    if new is not None:
        return _event(kind, EventType.ADDED if old is None else EventType.MODIFIED, new, revision)
    return _event(kind, EventType.DELETED, old, revision)


def _selected(kind: Kind, change: Change, selection: Selection) -> WatchEvent | None:
    revision, old, new = change
    did_match = old is not None and _wants(kind, selection, old)
    if new is not None and _wants(kind, selection, new):
        return _event(kind, EventType.MODIFIED if did_match else EventType.ADDED, new, revision)
    # An object that stops matching is shown as it was when it still did.
    return _event(kind, EventType.DELETED, old, revision) if did_match else None


def _event(kind: Kind, type_: EventType, stored: Stored | None, revision: int) -> WatchEvent:
    assert stored is not None, "a change has an old or a new object"
    return WatchEvent(type_, object_of(kind, stored, revision))


def _bookmark(kind: Kind, revision: int, annotations: dict[str, str] | None = None) -> WatchEvent:
    metadata = {"annotations": annotations} if annotations else {}
    return WatchEvent(EventType.BOOKMARK, Object(kind, "", revision, raw={"metadata": metadata}))


async def _wanted(kind: Kind, selection: Selection, items: list[Stored]) -> list[Stored]:
    if selection.is_everything:
        return items
    return [item async for _, item in in_slices(items) if selection.wants_stored(kind, item)]


def _wants(kind: Kind, selection: Selection, stored: Stored) -> bool:
    return selection.is_everything or selection.wants_stored(kind, stored)
