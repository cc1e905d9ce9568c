"""Store objects in etcd, with any number of other servers: acknowledged means that a majority of members has it.

All values are in memory, fed by one watch (see `feed`): reads and watches are served from there, and `catch_up` waits
until memory has what other servers wrote. Writes are `transactions`; each has a revision of its own among the objects
of its kind, so that a watch that goes on after a revision skips nothing, and is acknowledged when memory has it, too.
Every few minutes one of the servers compacts history. Kubernetes: etcd3's store and compactor under the watch cache,
with ConsistentListFromCache.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from moorage.store.data_directory import StoreUnusable
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdCompacted, EtcdError, EtcdFutureRevision, failed
from moorage.store.etcd.feed import Feed, OwnWrite
from moorage.store.etcd.fence import LEASE_SECONDS, Fence, SharedRun
from moorage.store.etcd.layout import MIGRATION, KeyLayout, after_all
from moorage.store.etcd.messages import Compare, Get, Put
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.transactions import Leases, Transactions, Write
from moorage.store.memory import StateWatch, write_copy
from moorage.store.protocol import (
    Change,
    Compacted,
    FutureRevision,
    Listener,
    Listing,
    StoreClosed,
    Stored,
    StoreUnavailable,
)
from moorage.store.state import Bounds, State
from moorage.telemetry.logs import get_logger

#: Seconds for which a client that names a revision waits for it, and for which memory may be behind.
REACH_SECONDS = 3.0
_CATCH_UP_SECONDS = 5.0
#: Seconds that writes under way have when the store is closed.
_CLOSE_SECONDS = 5.0
#: Seconds between attempts to write after a write has failed.
_TRY_SECONDS = 1.0
#: After this many seconds without an event, a note is written: etcd's revision may be one of keys that are not watched.
_PATIENCE_SECONDS = 0.05


class EtcdStore:
    """A store in etcd, made by `open`. Implements `protocol.Store`."""

    is_shared = True

    def __init__(
        self,
        client: EtcdClient,
        layout: KeyLayout,
        read_value: Callable[[bytes], bytes | None],
        bounds: Bounds | None,
        clock: Callable[[], float],
    ) -> None:
        self._client, self._layout, self._clock = client, layout, clock
        self._state = State(bounds, clock)
        self._feed = Feed(client, layout, self._state, read_value)
        self._fence = Fence(client, layout)
        self._barrier = SharedRun(self._catch_up)
        self._transactions = Transactions(client, layout, self._state, self._feed, self._fence, self.catch_up)
        self._is_closed = False
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(
        cls,
        settings: EtcdSettings,
        roots: Mapping[str, str],
        *,
        read_value: Callable[[bytes], bytes | None] = lambda value: value,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> "EtcdStore":
        """Connect to etcd and load all values.

        `roots` has the roots of keys that are called otherwise in etcd. `read_value` returns a value as readers expect
        it, None for one that they could not read. Raises StoreUnusable.
        """
        client = None
        try:
            client = await EtcdClient.connect(settings)
            store = cls(client, KeyLayout(settings.prefix, roots), read_value, bounds, clock)
            await store._start()
        except (EtcdError, StoreUnusable) as error:
            if client is not None:
                await client.close()
            raise StoreUnusable(str(error)) from None
        return store

    async def _start(self) -> None:
        await self._refuse_half_moved()
        await self._feed.load()
        await self._fence.renew()
        await self._refuse_half_moved()  # one that began meanwhile looks for the fence
        loop = asyncio.get_running_loop()
        background = (
            self._feed.run(),
            Compaction(self._client, self._layout).run(self._client.settings.compaction_seconds),
            self._renew_fence(),
            self._try_to_write(),
        )
        self._tasks = [loop.create_task(part) for part in background]
        with suppress(FutureRevision):  # the first complaint says why
            await self._feed.reach(self._fence.raised, _CATCH_UP_SECONDS)

    async def _refuse_half_moved(self) -> None:
        if (await self._client.range(self._layout.note(MIGRATION), count_only=True)).count:
            raise StoreUnusable(
                "objects were being moved into this etcd and not all are there: `moorage store migrate` goes on with it"
            )

    async def _renew_fence(self) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 4)
            try:
                await self._fence.renew()
            except EtcdError as error:
                self._transactions.complaint = str(error)

    async def _try_to_write(self) -> None:
        """Notice that writes can be made again: a server that is not ready may be sent none."""
        while True:
            await asyncio.sleep(_TRY_SECONDS)
            if self._transactions.complaint:
                try:
                    await self._client.note(self._layout.note("awaited"))
                except EtcdError as error:
                    self._transactions.complaint = str(error)
                else:
                    self._transactions.complaint = ""

    # What is known.

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def oldest(self) -> int:
        return self._state.oldest

    @property
    def complaint(self) -> str:
        return self._feed.complaint or self._transactions.complaint

    def subscribe(self, prefix: str, listener: Listener) -> None:
        self._state.subscribe(prefix, listener)

    def expires(self, prefix: str, seconds: int) -> bool:
        self._transactions.leases[prefix] = Leases(
            self._client, seconds, self._clock, self._client.settings.lease_reuse_seconds
        )
        return True

    # Reading.

    async def get(self, key: str) -> Stored | None:
        return self._state.values.get(key)

    def peek(self, key: str) -> Stored | None:
        return self._state.values.get(key)

    async def count(self, prefix: str) -> int:
        return self._state.count(prefix)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        if revision > self._state.revision:
            await self.reach(revision)
        try:
            return self._state.listing(prefix, revision, limit, after)
        except Compacted as gone:
            if prefix.count("/") < 2:
                raise
            return await self._list_in_etcd(prefix, revision, limit, after, gone)

    async def _list_in_etcd(self, prefix: str, revision: int, limit: int, after: str, gone: Compacted) -> Listing:
        """List at a revision that is older than this server's history: a page that another server began."""
        layout = self._layout
        begin, end = layout.to_etcd(prefix), after_all(layout.to_etcd(prefix))
        if after:
            begin = layout.to_etcd(after) + b"\0"
        try:
            page = await self._client.range(begin, end, revision=revision, limit=limit)
        except EtcdCompacted:
            raise gone from None
        except EtcdFutureRevision:
            raise FutureRevision(revision, self._state.revision) from None
        except EtcdError as error:
            raise failed("etcd cannot be read", error) from None
        items = [stored for item in page.items if (stored := self._feed.stored(item)) is not None]
        return Listing(items, revision, page.count - len(page.items))

    def watch(self, prefix: str, after: int) -> StateWatch:
        if self._state.ended:
            raise StoreClosed()
        return StateWatch(self._state, prefix, after)

    async def catch_up(self) -> None:
        try:
            await self._barrier()
        except EtcdError as error:
            raise failed("etcd does not say what is newest", error) from None
        except FutureRevision:
            raise StoreUnavailable("this server has not seen the newest changes yet") from None

    async def _catch_up(self) -> None:
        newest = await self._client.range(self._layout.note("none"), count_only=True)
        try:
            await self._feed.reach(newest.revision, _PATIENCE_SECONDS)
        except FutureRevision:
            await self._feed.reach(await self._client.note(self._layout.note("awaited")), _CATCH_UP_SECONDS)

    async def reach(self, revision: int) -> None:
        await self._feed.reach(revision, REACH_SECONDS)

    # Writing.

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        change = await self._make(Write(key, 0, OwnWrite(value, view, template), claims))
        assert change.new is not None
        return change.new

    async def update(
        self,
        key: str,
        value: bytes,
        expected: int,
        view: Any = None,
        template: Any = None,
        *,
        claims: Sequence[str] = (),
        released: Sequence[str] = (),
    ) -> Stored:
        change = await self._make(Write(key, expected, OwnWrite(value, view, template), claims, released))
        assert change.new is not None
        return change.new

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        return await self._make(Write(key, expected, None, (), released))

    async def _make(self, write: Write) -> Change:
        if self._is_closed:
            raise StoreClosed()
        return await self._transactions.make(write)

    async def hold(self, holder: Stored, claims: Sequence[str]) -> None:
        in_etcd = self._layout.to_etcd(holder.key)
        for claim in map(self._transactions.claim, claims):
            try:
                await self._client.txn((Compare(in_etcd, holder.revision), Compare(claim, 0)), (Put(claim, in_etcd),))
            except EtcdError as error:
                raise failed(f"claims of {holder.key} could not be written", error) from None

    # The rest.

    async def compact(self, revision: int) -> None:
        self._state.compact(revision)
        try:
            await self._client.compact(revision)
        except EtcdCompacted:
            return
        except EtcdError as error:
            raise failed("the compaction could not be made durable", error) from None

    async def copy(self, path: Path) -> None:
        await self.catch_up()
        await write_copy(self._state, path)

    async def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._transactions.finish()
        self._state.end()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._feed.close()
        await self._barrier.close()
        try:
            await self._fence.close()
        except EtcdError:
            return  # it goes away with its lease
        finally:
            await self._client.close()


_LOG = get_logger("etcd")


class Compaction:
    """The rounds of one server."""

    def __init__(self, client: EtcdClient, layout: KeyLayout) -> None:
        self._client = client
        self._key = layout.note("compacted")
        self._seen, self._modified = 0, 0

    async def run(self, seconds: float) -> None:
        """Take part in a round every this many seconds, until it is cancelled; never with 0."""
        while seconds:
            await asyncio.sleep(seconds)
            try:
                await self.take_part()
            except EtcdError as error:
                _LOG.warning("History could not be compacted, trying again later", err=str(error))

    async def take_part(self) -> bool:
        """Compact up to the revision of the last round, unless another server has; return whether it did."""
        compares = (Compare(self._key, self._modified),)
        result = await self._client.txn(compares, (Put(self._key, b"%d" % self._seen),), (Get(self._key),))
        compacted, self._seen = self._seen, result.revision
        if not result.succeeded:
            found = result.found[0]
            self._modified = found.modified if found is not None else 0
            return False
        self._modified = result.revision
        if compacted:
            await self._client.compact(compacted)
            _LOG.debug(1, "Compacted history of etcd", revision=compacted)
        return bool(compacted)
