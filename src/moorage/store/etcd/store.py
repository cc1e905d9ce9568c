"""Store objects in etcd, with any number of other servers: acknowledged means that a majority of members has it.

All values are in memory, fed by one watch (see `feed`): reads and watches are served from there, and `catch_up` waits
until memory has what other servers wrote. A write is a transaction that compares the revision of its key; many are
under way at a time. Each has a revision of its own among the objects of its kind, so that a watch that goes on after a
revision skips nothing. A write is acknowledged when memory has it, too. If the answer to a write is lost, the process
raises its `fence`, and looks into the log whether the write was made; nothing is repeated whose fate is not known.
Kubernetes: etcd3's store under the watch cache, with ConsistentListFromCache.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.compaction import Compaction
from moorage.store.etcd.errors import EtcdCompacted, EtcdError, EtcdFutureRevision, EtcdUncertain
from moorage.store.etcd.feed import Feed, OwnWrite
from moorage.store.etcd.fence import LEASE_SECONDS, Fence
from moorage.store.etcd.layout import KeyLayout, after_all
from moorage.store.etcd.leases import Leases
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Operation, Put, TxnResult
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.etcd.shared_run import SharedRun
from moorage.store.log_file import StoreUnusable
from moorage.store.memory import StateWatch, write_copy
from moorage.store.protocol import (
    Change,
    ClaimTaken,
    Compacted,
    FutureRevision,
    KeyExists,
    KeyMissing,
    Listener,
    Listing,
    RevisionMismatch,
    Stored,
    StoreError,
    StoreFailed,
    StoreUncertain,
)
from moorage.store.state import Bounds, State

#: Seconds for which a client that names a revision waits for it, and for which memory may be behind.
REACH_SECONDS = 3.0
_CATCH_UP_SECONDS = 5.0
#: After so many seconds without an event, a note is written: etcd's revision may be one of keys that are not watched.
_PATIENCE_SECONDS = 0.05
#: Writes that are made once more: the fence was raised meanwhile, or it is known that they were not made.
_TRIES = 10


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
        self._leases: dict[str, Leases] = {}
        self._write_complaint = ""
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
        await self._feed.load()
        await self._fence.renew()
        loop = asyncio.get_running_loop()
        background = self._feed.run(), Compaction(self._client, self._layout).run(), self._renew_fence()
        self._tasks = [loop.create_task(part) for part in background]

    async def _renew_fence(self) -> None:
        while True:
            await asyncio.sleep(LEASE_SECONDS / 4)
            try:
                await self._fence.renew()
            except EtcdError as error:
                self._write_complaint = str(error)

    # What is known.

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def oldest(self) -> int:
        return self._state.oldest

    @property
    def complaint(self) -> str:
        return self._feed.complaint or self._write_complaint

    def subscribe(self, prefix: str, listener: Listener) -> None:
        self._state.subscribe(prefix, listener)

    def expires(self, prefix: str, seconds: int) -> bool:
        self._leases[prefix] = Leases(self._client, seconds, self._clock)
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
            raise StoreFailed(f"etcd cannot be read: {error}") from None
        items = [stored for item in page.items if (stored := self._feed.stored(item)) is not None]
        return Listing(items, revision, page.count - len(page.items))

    def watch(self, prefix: str, after: int) -> StateWatch:
        if self._state.ended:
            raise StoreError("the store is closed")
        return StateWatch(self._state, prefix, after)

    async def catch_up(self) -> None:
        try:
            await self._barrier()
        except EtcdError as error:
            raise StoreFailed(f"etcd does not say what is newest: {error}") from None
        except FutureRevision:
            raise StoreFailed("this server has not seen the newest changes yet") from None

    async def _catch_up(self) -> None:
        newest = await self._client.range(self._layout.note("none"), count_only=True)
        try:
            await self._feed.reach(newest.revision, _PATIENCE_SECONDS)
        except FutureRevision:
            written = await self._client.txn((), (Put(self._layout.note("awaited"), b""),))
            await self._feed.reach(written.revision, _CATCH_UP_SECONDS)

    async def reach(self, revision: int) -> None:
        await self._feed.reach(revision, REACH_SECONDS)

    # Writing.

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        change = await self._write(key, 0, OwnWrite(value, view, template), claims)
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
        self._refuse_outdated(key, expected)
        change = await self._write(key, expected, OwnWrite(value, view, template), claims, released)
        assert change.new is not None
        return change.new

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        self._refuse_outdated(key, expected)
        return await self._write(key, expected, None, (), released)

    def _refuse_outdated(self, key: str, expected: int) -> None:
        """Raise RevisionMismatch if memory has a newer value than the caller; an older one decides nothing."""
        found = self._state.values.get(key)
        if found is not None and found.revision > expected:
            raise RevisionMismatch(found)

    async def _write(
        self,
        key: str,
        expected: int,
        own: OwnWrite | None,
        claims: Sequence[str] = (),
        released: Sequence[str] = (),
    ) -> Change:
        """Put `own`, or delete the key if it is None, if the key is at the expected revision."""
        if self._state.ended:
            raise StoreError("the store is closed")
        in_etcd = self._layout.to_etcd(key)
        if own is not None:
            self._feed.own.setdefault(in_etcd, []).append(own)
        try:
            since = self._state.revision
            for _ in range(_TRIES):
                try:
                    done = await self._try(key, in_etcd, expected, own, claims, released)
                except EtcdUncertain as lost:
                    done = await self._find_out(key, since, own, lost)
                except EtcdError as error:
                    self._write_complaint = str(error)
                    raise StoreFailed(f"the write could not be made durable: {error}") from None
                if done is not None:
                    self._write_complaint = ""
                    return done
            raise StoreUncertain(f"the write of {key} was not answered {_TRIES} times")
        finally:
            if own is not None:
                self._forget_own(in_etcd, own)

    def _forget_own(self, in_etcd: bytes, own: OwnWrite) -> None:
        writes = self._feed.own[in_etcd]
        writes[:] = [one for one in writes if one is not own]
        if not writes:
            del self._feed.own[in_etcd]

    async def _try(
        self,
        key: str,
        in_etcd: bytes,
        expected: int,
        own: OwnWrite | None,
        claims: Sequence[str],
        released: Sequence[str],
    ) -> Change | None:
        """Send the transaction; None if it is to be sent again. Raises what a write may raise, and EtcdError."""
        operation = Delete(in_etcd) if own is None else Put(in_etcd, own.value, await self._lease_of(key))
        taken = [self._claim(claim) for claim in claims]
        fence = self._fence.compare
        compares = [Compare(in_etcd, expected), fence, *(Compare(claim, 0) for claim in taken)]
        then: list[Operation] = [operation, *(Put(claim, in_etcd) for claim in taken)]
        then += (Delete(self._claim(claim)) for claim in released)
        otherwise = [Get(in_etcd), self._fence.get, *map(Get, taken)]
        result = await self._client.txn(compares, then, otherwise)
        if result.succeeded:
            return await self._published(key, result, own)
        found, now, *holders = result.found
        self._check_found(key, expected, found)
        for claim, holder in zip(claims, holders, strict=True):
            if holder is not None:
                raise ClaimTaken(claim)
        if not self._fence.adopt(now, fence):
            raise StoreFailed(f"etcd refused the write of {key} for no reason that is known")
        if now is None:
            await self._fence.renew()  # its lease has ended
        return None

    def _check_found(self, key: str, expected: int, found: KeyValue | None) -> None:
        """Raise KeyExists, KeyMissing or RevisionMismatch if a refused write found another revision."""
        if found is None:
            if expected:
                raise KeyMissing(key)
        elif not expected:
            raise KeyExists(key)
        elif found.modified != expected:
            known = self._state.values.get(key)
            stored = known if known is not None and known.revision == found.modified else self._feed.stored(found)
            raise RevisionMismatch(stored or Stored(key, found.value, found.modified, found.created))

    def _claim(self, claim: str) -> bytes:
        return self._layout.note(f"claims/{claim}")

    async def _lease_of(self, key: str) -> int:
        leases = self._leases.get(key[: key.find("/", 1) + 1]) if self._leases else None
        return 0 if leases is None else await leases.next()

    async def _published(self, key: str, result: TxnResult, own: OwnWrite | None) -> Change:
        """Return the change that a transaction made, once memory has it; or without it if memory is far behind."""
        revision, old = result.revision, self._state.values.get(key)
        try:
            await self._feed.reach(revision, _CATCH_UP_SECONDS)
        except FutureRevision:
            new = None if own is None else Stored(key, own.value, revision, old.created if old else revision)
            return Change(revision, old, new)
        return self._change_of(key, revision) or Change(revision, old, self._state.values.get(key))

    def _change_of(self, key: str, revision: int) -> Change | None:
        part = self._state.partition(key)
        for change in part.log[part.position(revision - 1) :]:
            if change.revision > revision:
                break
            if change.key == key:
                return change
        return None

    async def _find_out(self, key: str, since: int, own: OwnWrite | None, lost: EtcdUncertain) -> Change | None:
        """Return the change that an unanswered write made after a revision; None if it was not made, and never will be.

        Raises StoreUncertain if that cannot be found out.
        """
        try:
            await self._fence.renew()
            await self.catch_up()
        except (EtcdError, StoreError) as error:
            raise StoreUncertain(f"it is not known whether {key} was written: {lost}; {error}") from None
        part = self._state.partition(key)
        if part.compacted > since:
            raise StoreUncertain(f"it is not known whether {key} was written: {lost}")
        for change in part.log[part.position(since) :]:
            if change.key != key:
                continue
            if own is None:
                # Perhaps another server deleted it.
                raise StoreUncertain(f"it is not known whether {key} was deleted by this request: {lost}")
            if change.new is not None and change.new.value == own.value:
                return change
        return None

    async def hold(self, holder: Stored, claims: Sequence[str]) -> None:
        in_etcd = self._layout.to_etcd(holder.key)
        for claim in map(self._claim, claims):
            try:
                await self._client.txn((Compare(in_etcd, holder.revision), Compare(claim, 0)), (Put(claim, in_etcd),))
            except EtcdError as error:
                raise StoreFailed(f"claims of {holder.key} could not be written: {error}") from None

    # The rest.

    async def compact(self, revision: int) -> None:
        self._state.compact(revision)
        try:
            await self._client.compact(revision)
        except EtcdCompacted:
            return
        except EtcdError as error:
            raise StoreFailed(f"the compaction could not be made durable: {error}") from None

    async def copy(self, path: Path) -> None:
        await self.catch_up()
        await write_copy(self._state, path)

    async def close(self) -> None:
        if self._state.ended:
            return
        self._state.end()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._barrier.close()
        try:
            await self._fence.close()
        except EtcdError:
            return  # it goes away with its lease
        finally:
            await self._client.close()
