"""Follow etcd: load all values at one revision, then publish every change into the state, in order.

One watch covers the whole prefix. When it ends, it goes on after the last revision that was published, at another
member if there is one; if history is compacted up to there, all is loaded again, and watches get `Compacted`. Only
events move the revision on, never progress notifications, which are wrong at times before etcd 3.5.13. Kubernetes: the
reflector of the watch cache.
"""

import asyncio
import heapq
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, groupby
from typing import Any, NamedTuple, Protocol

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdCompacted, EtcdError
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import KeyValue, WatchedEvent
from moorage.store.protocol import Change, FutureRevision, Stored
from moorage.store.state import State
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import operation

_LOG = get_logger("etcd")
#: Values that are read in one answer, and changes that are published in one turn of the event loop.
_PAGE, _AT_ONCE = 500, 500
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
#: While this many writes wait, changes are gathered for the first time, then taken for the second without a pause.
_CROWD, _GATHER_SECONDS, _TAKEN_SECONDS = 8, 0.008, 0.001
#: Seconds for which an acknowledgement waits for memory, and after which it is looked at how long some have waited.
PUBLISH_SECONDS, _LOOK_SECONDS = 5.0, 0.5


class OwnWrite(NamedTuple):
    """A write of this process that is under way: what its value means, for readers in the same process."""

    value: bytes
    view: Any
    template: Any


class Awaiting(Protocol):
    """A write that etcd has made, and that waits for its change."""

    def publish(self, change: Change) -> None: ...

    def give_up(self, revision: int) -> None: ...


class Feed:
    """The connection from etcd to a state. `complaint` says why it does not follow at the moment."""

    def __init__(
        self, client: EtcdClient, layout: KeyLayout, state: State, read_value: Callable[[bytes], bytes | None]
    ) -> None:
        self.complaint = ""
        #: Writes of this process that are under way, by their key in etcd.
        self.own: dict[bytes, OwnWrite] = {}
        self._client, self._layout, self._state, self._read_value = client, layout, state, read_value
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickets = count()
        self._loop = asyncio.get_running_loop()
        #: Writes that wait for their changes, by revision, and since when.
        self._awaiting: dict[int, tuple[Awaiting, float]] = {}
        self._looking: asyncio.TimerHandle | None = None
        self._gathered = 0.0

    # Loading.

    async def load(self) -> None:
        """Fill the state, in place of what it has, with all values of one revision. Raises EtcdError."""
        layout, items = self._layout, dict[str, Stored]()
        begin, revision, has_more = layout.begin, 0, True
        while has_more:
            page = await self._client.range(begin, layout.end, revision=revision, limit=_PAGE)
            revision, has_more = revision or page.revision, page.has_more
            for item in page.items:
                if (stored := self.stored(item)) is not None:
                    items[stored.key] = stored
            if page.items:
                begin = page.items[-1].key + b"\0"
        self._state.replace(items, revision)
        self._wake()

    def stored(self, item: KeyValue) -> Stored | None:
        """Return the value as readers see it; None for notes, and for what cannot be read, which is logged."""
        if self._layout.is_note(item.key):
            return None
        value = self._read_value(item.value)
        if value is None:
            if not self._layout.is_kubernetes_note(item.key):
                _LOG.error("A value in etcd is not an object of the API", key=item.key.decode("utf-8", "replace"))
            return None
        return Stored(self._layout.from_etcd(item.key), value, item.modified, item.created)

    # Following.

    async def run(self) -> None:
        """Publish changes until it is cancelled."""
        pause = _FIRST_PAUSE
        while True:
            try:
                with closing(
                    self._client.watch(self._layout.begin, self._layout.end, self._state.revision + 1)
                ) as watch:
                    while True:
                        await self._gather()
                        result = await watch.next()
                        if self.complaint:
                            self.complaint, pause = "", _FIRST_PAUSE
                            _LOG.info("Changes are followed again")
                        if result.compacted:
                            raise EtcdCompacted(result.compacted)
                        for events in _in_pieces(result.events):
                            self._publish(events)
                            if len(events) >= _AT_ONCE:
                                await asyncio.sleep(0)
            except EtcdCompacted as gone:
                _LOG.warning("History was compacted before it was read, all is loaded again", revision=gone.revision)
                await self._load_again()
            except EtcdError as error:
                if str(error) != self.complaint:
                    self.complaint = str(error)
                    _LOG.warning("Changes are not followed, trying again", err=self.complaint)
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)

    async def _gather(self) -> None:
        """Let changes come together while many writes wait: publishing them one by one costs several times as much."""
        now = self._loop.time()
        if len(self._waiting) + len(self._awaiting) >= _CROWD and now >= self._gathered + _TAKEN_SECONDS:
            await asyncio.sleep(_GATHER_SECONDS)
            self._gathered = self._loop.time()

    async def _load_again(self) -> None:
        try:
            await self.load()
        except EtcdError as error:
            self.complaint = str(error)
            await asyncio.sleep(_LONGEST_PAUSE)

    @operation("publishing changes of etcd")
    def _publish(self, events: list[WatchedEvent]) -> None:
        state, values = self._state, self._state.values
        newest: dict[str, Stored | None] = {}
        changes: list[Change] = []
        for event in events:
            item = event.item
            if item.modified <= state.revision or self._layout.is_note(item.key):
                continue
            key = self._layout.from_etcd(item.key)
            old = newest[key] if key in newest else values.get(key)
            new = None if event.is_delete else self._published(key, item)
            if old is None and new is None:
                continue  # it could not be read, and was never shown
            newest[key] = new
            changes.append(Change(item.modified, old, new))
        if changes:
            state.publish(changes)
        state.advance(events[-1].item.modified)
        state.trim()
        if self._awaiting:
            for change in changes:
                if (awaiting := self._awaiting.pop(change.revision, None)) is not None:
                    awaiting[0].publish(change)
        self._wake()

    def _published(self, key: str, item: KeyValue) -> Stored | None:
        own = self.own.get(item.key)
        if own is not None and own.value == item.value:
            return Stored(key, own.value, item.modified, item.created, own.view, own.template)
        return self.stored(item)

    # Waiting.

    async def reach(self, revision: int, seconds: float) -> None:
        """Wait until a revision is published. Raises FutureRevision if it is not, within the time."""
        if self._state.revision >= revision:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._tickets), done))
        try:
            async with asyncio.timeout(seconds):
                await done
        except TimeoutError:
            raise FutureRevision(revision, self._state.revision) from None

    def await_change(self, revision: int, awaiting: Awaiting) -> None:
        """Let a write have its change when it is published, or be told that it takes too long."""
        self._awaiting[revision] = awaiting, self._loop.time()
        if self._looking is None:
            self._looking = self._loop.call_later(_LOOK_SECONDS, self._look)

    def _look(self) -> None:
        """Give up changes that have not come in time, or were in all that was loaded again."""
        late = self._loop.time() - PUBLISH_SECONDS
        for revision, (awaiting, since) in list(self._awaiting.items()):
            if revision <= self._state.revision or since <= late:
                del self._awaiting[revision]
                awaiting.give_up(revision)
        self._looking = self._loop.call_later(_LOOK_SECONDS, self._look) if self._awaiting else None

    def close(self) -> None:
        """Let go of what waits: nothing is published any more."""
        if self._looking is not None:
            self._looking.cancel()
        for revision, (awaiting, _) in list(self._awaiting.items()):
            awaiting.give_up(revision)
        self._awaiting.clear()

    def _wake(self) -> None:
        waiting, revision = self._waiting, self._state.revision
        while waiting and waiting[0][0] <= revision:
            done = heapq.heappop(waiting)[2]
            if not done.done():
                done.set_result(None)


def _in_pieces(events: list[WatchedEvent]) -> Iterator[list[WatchedEvent]]:
    """Yield events in their order, some at a time; those of one revision stay together."""
    if len(events) < _AT_ONCE:
        if events:
            yield events
        return
    piece: list[WatchedEvent] = []
    for _, same in groupby(events, key=_revision_of):
        piece += same
        if len(piece) >= _AT_ONCE:
            yield piece
            piece = []
    if piece:
        yield piece


def _revision_of(event: WatchedEvent) -> int:
    return event.item.modified
