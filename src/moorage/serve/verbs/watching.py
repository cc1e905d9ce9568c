"""Watch: the changes after a revision, as events, for as long as somebody listens.

In: the kind, the namespace, options. Out: batches of `Happening`s, each rendered by whoever sends it on. With
selectors, an object that starts to match was ADDED and one that stops was DELETED. A watch may begin with what there
is, and says where it is when nothing happens (bookmarks). A watcher that the store's history has left behind is told
so: 410. Kubernetes: the watch handler over the watch cache.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import NamedTuple

from moorage.model.api_error import expired
from moorage.model.kinds import Kind
from moorage.serve.api import Api
from moorage.serve.options import ListOptions
from moorage.serve.resources.object_selection import Selection, compile_selection
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.verbs.reading import check_not_older
from moorage.store.protocol import Change, Compacted, Stored, StoreError, Watch

ADDED, MODIFIED, DELETED, BOOKMARK = "ADDED", "MODIFIED", "DELETED", "BOOKMARK"

#: The annotation of the bookmark after which everything that was there has been told.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_BOOKMARK_EVERY = 60.0
_TOLD_AT_ONCE = 500
_LONGEST = 3600.0


class Happening(NamedTuple):
    """One event: the object, and the revision to show it at. A bookmark has no object, only where the watch is."""

    type: str
    stored: Stored | None
    revision: int
    is_initial_end: bool = False


Batches = AsyncGenerator[list[Happening], None]


async def watch(api: Api, kind: Kind, namespace: str, options: ListOptions) -> Batches:
    """Raises ApiError before anything is told: 400 for bad selectors, 410 for a revision that is forgotten.

    What is returned ends by itself when the time is up.
    """
    selection = compile_selection(kind, options.labels, options.fields)
    prefix = prefix_of(kind, namespace)
    check_not_older(api, options.resource_version or 0)
    from_the_start = options.initial_events or (options.initial_events is None and not options.resource_version)
    if from_the_start:
        listing = await api.store.list(prefix)
        initial, after = [item for item in listing.items if _wants(kind, selection, item)], listing.revision
    else:
        initial, after = [], options.resource_version or api.store.revision
    try:
        changes = api.store.watch(prefix, after)
    except Compacted as gone:
        raise expired(f"too old resource version: {after} ({gone.oldest})") from None
    announces_end = bool(options.initial_events and options.bookmarks)
    seconds = min(_LONGEST, options.timeout_seconds or _LONGEST)
    deadline = asyncio.get_running_loop().time() + seconds
    return _tell(kind, changes, initial, after, selection, options.bookmarks, announces_end, deadline)


async def _tell(
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
    try:
        for start in range(0, len(initial), _TOLD_AT_ONCE):
            yield [Happening(ADDED, item, item.revision) for item in initial[start : start + _TOLD_AT_ONCE]]
        if announces_end:
            yield [Happening(BOOKMARK, None, after, is_initial_end=True)]
        while (left := deadline - loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, _BOOKMARK_EVERY)):
                    batch = await changes.next()
            except TimeoutError:
                if has_bookmarks and loop.time() < deadline:
                    yield [Happening(BOOKMARK, None, changes.at)]
                continue
            except Compacted as gone:
                raise expired(f"too old resource version: {changes.at} ({gone.oldest})") from None
            except StoreError:
                return  # the store is closed: the client will come back
            told = _happenings(kind, batch, selection)
            if told:
                yield told
        if has_bookmarks:
            yield [Happening(BOOKMARK, None, changes.at)]
    finally:
        changes.close()


def _happenings(kind: Kind, batch: list[Change], selection: Selection) -> list[Happening]:
    if selection.is_everything:
        return [_plain(change) for change in batch]
    return [told for change in batch if (told := _selected(kind, change, selection)) is not None]


def _plain(change: Change) -> Happening:
    if change.new is None:
        return Happening(DELETED, change.old, change.revision)
    return Happening(ADDED if change.old is None else MODIFIED, change.new, change.revision)


def _selected(kind: Kind, change: Change, selection: Selection) -> Happening | None:
    was = change.old is not None and _wants(kind, selection, change.old)
    if change.new is not None and _wants(kind, selection, change.new):
        return Happening(MODIFIED if was else ADDED, change.new, change.revision)
    # An object that stops matching is shown as it was when it still did.
    return Happening(DELETED, change.old, change.revision) if was else None


def _wants(kind: Kind, selection: Selection, stored: Stored) -> bool:
    return selection.is_everything or selection.wants(decode(kind, stored))
