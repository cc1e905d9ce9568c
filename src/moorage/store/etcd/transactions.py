"""Carry writes out as transactions of etcd, one for each object, many at a time.

A transaction compares the revision of its key, the fence, and that claims are free. It is not given up when its caller
is: a client that disconnects does not leave a write half known. Writes of this process to one key wait for each other.
Nearly every write is sent and answered without a task of its own (`SentWrite`); what else can happen is a task's work.
If the answer to a write is lost, the fence is raised, and the log tells whether the write was made; nothing is repeated
whose fate is not known. Keys that expire share leases, one for a thousand keys written within a minute (or
`--lease-reuse-duration-seconds`). Kubernetes: etcd3's store and lease manager.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError, EtcdUncertain, failed
from moorage.store.etcd.feed import PUBLISH_SECONDS, Feed, OwnWrite
from moorage.store.etcd.fence import Fence
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Operation, Put, TxnResult
from moorage.store.etcd.wire.answers import BadAnswer, decode_txn, decode_written
from moorage.store.etcd.wire.refusals import meaning
from moorage.store.etcd.wire.requests import encode_write
from moorage.store.etcd.wire.streams import GrpcStatus
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

#: Seconds for which a refusal waits until memory has what it is about.
_PATIENCE_SECONDS = 0.05
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
        self.loop = asyncio.get_running_loop()
        #: Leases of keys that expire, by the root of the keys.
        self.leases: dict[str, Leases] = {}
        self._client, self._layout, self._state = client, layout, state
        self._feed, self._fence, self._catch_up = feed, fence, catch_up
        #: What waits for the write to a key that is under way.
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    async def make(self, write: Write) -> Change:
        """Return the change when it is durable, and memory has it. Raises what `protocol.Store` says of writes."""
        key, expected, own, claims, released = write
        if key in self._waiting:
            await self.turn(key)
        found = self._state.values.get(key)
        if expected and found is not None and found.revision > expected:
            raise RevisionMismatch(found)  # an older value in memory decides nothing
        self._waiting[key] = []
        in_etcd = self._layout.to_etcd(key)
        sent = SentWrite(write, in_etcd, found, self._state.revision, self)
        if own is not None:
            self._feed.own[in_etcd] = own
            leases = self.leases.get(key[: key.find("/", 1) + 1])
            lease = leases.at_hand() if leases is not None else 0
            if not claims and not released and (lease or leases is None):
                sent.fence = self._fence.compare
                message = encode_write(in_etcd, expected, own.value, lease, self._fence.encoded)
                self._client.send_txn(message, sent.hear)
                return await sent.done
        self.go_on(sent, None)
        return await sent.done

    def published(self, sent: "SentWrite", revision: int) -> None:
        """Acknowledge a write that was made at a revision, as soon as memory has it."""
        if self._state.revision >= revision:
            self.acknowledge(sent, self.change_at(sent, revision))
        else:
            self._feed.await_change(revision, sent)

    def acknowledge(self, sent: "SentWrite", change: Change) -> None:
        self.complaint = ""
        self._forget(sent)
        if not sent.done.done():
            sent.done.set_result(change)

    def go_on(self, sent: "SentWrite", outcome: bytes | Exception | None) -> None:
        """Do what it takes after a first outcome that is not what one expects, or from the beginning."""
        task = self.loop.create_task(self._carry_out(sent, outcome))
        task.add_done_callback(sent.settle)

    def _forget(self, sent: "SentWrite") -> None:
        self._feed.own.pop(sent.in_etcd, None)
        wake(self._waiting.pop(sent.write.key))

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

    async def _carry_out(self, sent: "SentWrite", outcome: bytes | Exception | None) -> Change:
        write = sent.write
        try:
            for _ in range(_TRIES):
                try:
                    if (result := _result_of(outcome)) is None:
                        result = await self._try(sent)
                    done = await self._judge(sent, result)
                except EtcdUncertain as lost:
                    done = await self._find_out(write, sent.since, lost)
                if done is not None:
                    self.complaint = ""
                    return done
                outcome = None
            raise StoreUncertain(f"the write of {write.key} was not answered {_TRIES} times")
        except EtcdError as error:
            self.complaint = str(error)
            raise failed("the write could not be made durable", error) from None
        finally:
            self._forget(sent)

    async def _try(self, sent: "SentWrite") -> TxnResult:
        """Send the transaction. Raises EtcdError."""
        key, expected, own, claims, released = sent.write
        in_etcd = sent.in_etcd
        operation = Delete(in_etcd) if own is None else Put(in_etcd, own.value, await self._lease_of(key))
        taken = [self.claim(claim) for claim in claims]
        sent.fence = self._fence.compare
        compares = [Compare(in_etcd, expected), sent.fence, *(Compare(claim, 0) for claim in taken)]
        then: list[Operation] = [operation, *(Put(claim, in_etcd) for claim in taken)]
        then += (Delete(self.claim(claim)) for claim in released)
        otherwise = [Get(in_etcd), self._fence.get, *map(Get, taken)]
        return await self._client.txn(compares, then, otherwise)

    async def _judge(self, sent: "SentWrite", result: TxnResult) -> Change | None:
        """Return the change that was made; None if the write is to be sent again. Raises StoreError, EtcdError."""
        key, expected, _, claims, _ = sent.write
        if result.succeeded:
            with suppress(FutureRevision):
                await self._feed.reach(result.revision, PUBLISH_SECONDS)
            return self.change_at(sent, result.revision)
        found, now, *holders = result.found
        with suppress(FutureRevision):  # the caller will look into memory for what refused the write
            await self._feed.reach(found.modified if found is not None else result.revision, _PATIENCE_SECONDS)
        self._check_found(key, expected, found)
        for claim, holder in zip(claims, holders, strict=True):
            if holder is not None:
                raise ClaimTaken(claim)
        if not self._fence.adopt(now, sent.fence):
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

    def change_at(self, sent: "SentWrite", revision: int) -> Change:
        """Return the change that was made at a revision, also if memory does not have it."""
        key, _, own, _, _ = sent.write
        for change in self._state.partition(key).since(revision - 1):
            if change.key == key and change.revision == revision:
                return change
        old = sent.old
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


class SentWrite:
    """A write that is under way. `old` is what memory had before it, `since` at which revision."""

    __slots__ = ("_transactions", "done", "fence", "in_etcd", "old", "since", "write")

    def __init__(
        self, write: Write, in_etcd: bytes, old: Stored | None, since: int, transactions: Transactions
    ) -> None:
        self.write, self.in_etcd, self.old, self.since = write, in_etcd, old, since
        self.fence = Compare(b"", 0)
        #: The caller waits for it, and may be given up.
        self.done: asyncio.Future[Change] = transactions.loop.create_future()
        self._transactions = transactions

    def hear(self, outcome: bytes | Exception) -> None:
        """Take etcd's answer, or why there is none."""
        revision = decode_written(outcome) if isinstance(outcome, bytes) else 0
        if revision:
            self._transactions.published(self, revision)
        else:
            self._transactions.go_on(self, outcome)

    def publish(self, change: Change) -> None:
        """Take what memory has of the write now."""
        self._transactions.acknowledge(self, change)

    def give_up(self, revision: int) -> None:
        """Be acknowledged without memory, which is far behind: etcd has it."""
        self._transactions.acknowledge(self, self._transactions.change_at(self, revision))

    def settle(self, task: "asyncio.Task[Change]") -> None:
        """Take what became of the write in a task."""
        if self.done.done():
            if not task.cancelled():
                task.exception()
        elif task.cancelled():
            self.done.cancel()
        elif (error := task.exception()) is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(task.result())


def _result_of(outcome: bytes | Exception | None) -> TxnResult | None:
    """Return what etcd answered; None: retry the transaction. Raises EtcdUncertain."""
    if isinstance(outcome, bytes):
        try:
            return decode_txn(outcome)
        except BadAnswer as error:
            raise EtcdUncertain(f"etcd sent an answer that cannot be read: {error}") from None
    if isinstance(outcome, GrpcStatus):
        outcome = meaning(outcome, "etcd")
    if isinstance(outcome, EtcdUncertain):
        raise outcome
    return None


SHARED_SECONDS = 60
MAX_KEYS = 1000


class Leases:
    """The leases of keys that live for this many seconds."""

    def __init__(
        self, client: EtcdClient, seconds: int, clock: Callable[[], float], shared_seconds: int = SHARED_SECONDS
    ) -> None:
        self._client, self._seconds, self._clock = client, seconds, clock
        self._shared = min(shared_seconds, max(1, seconds // 20))
        self._lease, self._keys, self._until = 0, 0, 0.0

    def at_hand(self) -> int:
        """Return the lease of one more key; 0 if another one must be granted first, by `next`."""
        if not self._lease or self._keys >= MAX_KEYS or self._clock() >= self._until:
            return 0
        self._keys += 1
        return self._lease

    async def next(self) -> int:
        """Return the lease of one more key. Raises EtcdError."""
        self._keys += 1
        if not self._lease or self._keys > MAX_KEYS or self._clock() >= self._until:
            self._keys, self._until = 1, self._clock() + self._shared
            self._lease = await self._client.grant(self._seconds + self._shared)
        return self._lease
