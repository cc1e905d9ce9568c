"""Carry writes out as transactions of etcd, one for each object, many at a time.

A transaction compares the revision of its key, the fence, and that claims are free. It is not given up when its caller
is: a client that disconnects does not leave a write half known. Writes of this process to one key wait for each other.
If the answer to a write is lost, the fence is raised, and the log tells whether the write was made; nothing is repeated
whose fate is not known. Kubernetes: etcd3's store.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError, EtcdUncertain
from moorage.store.etcd.feed import Feed, OwnWrite
from moorage.store.etcd.fence import Fence
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.leases import Leases
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Operation, Put
from moorage.store.partition import wake
from moorage.store.protocol import (
    Change,
    ClaimTaken,
    FutureRevision,
    KeyExists,
    KeyMissing,
    RevisionMismatch,
    Stored,
    StoreError,
    StoreFailed,
    StoreUncertain,
)
from moorage.store.state import State

#: Seconds for which an acknowledgement waits for memory, and a refusal for what it is about.
_PUBLISH_SECONDS, _PATIENCE_SECONDS = 5.0, 0.05
#: Writes are made once more if the fence was raised meanwhile, or if it is known that they were not made.
_TRIES = 10


class Write(NamedTuple):
    """A write of a value, or without one a deletion, to a key that is at the revision `expected`; 0: it is created."""

    key: str
    expected: int
    own: OwnWrite | None
    claims: Sequence[str] = ()
    released: Sequence[str] = ()


class Transactions:
    """The writes of one process. `complaint` says why the last one could not be made."""

    def __init__(
        self,
        client: EtcdClient,
        layout: KeyLayout,
        state: State,
        feed: Feed,
        fence: Fence,
        catch_up: Callable[[], Awaitable[None]],
    ) -> None:
        self.complaint = ""
        #: Leases of keys that expire, by the root of the keys.
        self.leases: dict[str, Leases] = {}
        self._client, self._layout, self._state = client, layout, state
        self._feed, self._fence, self._catch_up = feed, fence, catch_up
        #: What waits for the write to a key that is under way.
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    async def make(self, write: Write) -> Change:
        """Return the change when it is durable, and memory has it. Raises what `protocol.Store` says of writes."""
        await self.turn(write.key)
        found = self._state.values.get(write.key)
        if write.expected and found is not None and found.revision > write.expected:
            raise RevisionMismatch(found)  # an older value in memory decides nothing
        self._waiting[write.key] = []
        task = asyncio.get_running_loop().create_task(self._carry_out(write))
        task.add_done_callback(_retrieve)  # its caller may have been given up
        return await asyncio.shield(task)

    async def turn(self, key: str) -> None:
        """Wait until no write to the key is under way."""
        while (waiting := self._waiting.get(key)) is not None:
            follower = asyncio.get_running_loop().create_future()
            waiting.append(follower)
            await follower

    async def finish(self) -> None:
        """Wait for all writes that are under way."""
        for key in [*self._waiting]:
            await self.turn(key)

    async def _carry_out(self, write: Write) -> Change:
        in_etcd = self._layout.to_etcd(write.key)
        if write.own is not None:
            self._feed.own[in_etcd] = write.own
        since = self._state.revision
        try:
            for _ in range(_TRIES):
                try:
                    done = await self._try(write, in_etcd)
                except EtcdUncertain as lost:
                    done = await self._find_out(write, since, lost)
                if done is not None:
                    self.complaint = ""
                    return done
            raise StoreUncertain(f"the write of {write.key} was not answered {_TRIES} times")
        except EtcdError as error:
            self.complaint = str(error)
            raise StoreFailed(f"the write could not be made durable: {error}") from None
        finally:
            self._feed.own.pop(in_etcd, None)
            wake(self._waiting.pop(write.key))

    async def _try(self, write: Write, in_etcd: bytes) -> Change | None:
        """Send the transaction; None if it is to be sent again. Raises StoreError, EtcdError."""
        key, expected, own, claims, released = write
        operation = Delete(in_etcd) if own is None else Put(in_etcd, own.value, await self._lease_of(key))
        taken = [self.claim(claim) for claim in claims]
        fence = self._fence.compare
        compares = [Compare(in_etcd, expected), fence, *(Compare(claim, 0) for claim in taken)]
        then: list[Operation] = [operation, *(Put(claim, in_etcd) for claim in taken)]
        then += (Delete(self.claim(claim)) for claim in released)
        otherwise = [Get(in_etcd), self._fence.get, *map(Get, taken)]
        result = await self._client.txn(compares, then, otherwise)
        if result.succeeded:
            return await self._published(write, result.revision)
        found, now, *holders = result.found
        with suppress(FutureRevision):  # the caller will look into memory for what refused the write
            await self._feed.reach(found.modified if found is not None else result.revision, _PATIENCE_SECONDS)
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

    def claim(self, claim: str) -> bytes:
        """Return the key in etcd of a claim."""
        return self._layout.note(f"claims/{claim}")

    async def _lease_of(self, key: str) -> int:
        leases = self.leases.get(key[: key.find("/", 1) + 1]) if self.leases else None
        return 0 if leases is None else await leases.next()

    async def _published(self, write: Write, revision: int) -> Change:
        """Return the change that was made at a revision, once memory has it, or without it if memory is far behind."""
        key, _, own, _, _ = write
        old = self._state.values.get(key)
        with suppress(FutureRevision):
            await self._feed.reach(revision, _PUBLISH_SECONDS)
            for change in self._state.partition(key).since(revision - 1):
                if change.key == key:
                    return change
        created = old.created if old is not None else revision
        return Change(revision, old, None if own is None else Stored(key, own.value, revision, created))

    async def _find_out(self, write: Write, since: int, lost: EtcdUncertain) -> Change | None:
        """Return the change that an unanswered write made after a revision; None if it was not made and never will be.

        Raises StoreUncertain if that cannot be found out.
        """
        unknown = f"it is not known whether {write.key} was written: {lost}"
        try:
            await self._fence.renew()
            await self._catch_up()
        except (EtcdError, StoreError) as error:
            raise StoreUncertain(f"{unknown}; {error}") from None
        part = self._state.partition(write.key)
        if part.compacted > since:
            raise StoreUncertain(unknown)
        for change in part.since(since):
            if change.key != write.key:
                continue
            if write.own is None:
                if change.new is None:
                    raise StoreUncertain(unknown)  # another server may have deleted it
            elif change.new is not None and change.new.value == write.own.value:
                return change
        return None


def _retrieve(task: "asyncio.Task[Change]") -> None:
    """Look at the error of a write, so that it is not logged as one that no caller has seen."""
    if not task.cancelled():
        task.exception()
