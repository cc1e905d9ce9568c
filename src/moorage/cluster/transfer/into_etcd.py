"""Move the objects of a data directory into etcd, each at the revision it had, wherever etcd has not passed it yet.

Etcd counts revisions itself: a transaction is one more. Objects are written in the order of their revisions; where the
next object's revision is further on, transactions on one note use up those between, many at a time. So no object gets a
lower revision than clients have seen, their order stays, and in a new etcd each keeps its own. Etcd ends beyond the
source's revision and is compacted there: clients with an older resourceVersion get 410 and list again.
A note says that a migration is under way, and every write is conditional on it: API servers refuse to start while it is
there, a second migration cannot mix in, and the same command goes on where it was interrupted.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from moorage.cluster.transfer.store_content import (
    LOOK_SECONDS,
    StoreContent,
    StoredItem,
    TransferError,
    fences_in,
    pages,
    refuse_if_used,
)
from moorage.model.kinds import KINDS
from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.serve.cluster.event_expiry import EVENT_SECONDS
from moorage.serve.resources.objects import prefix_of
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdCompacted, EtcdTooLarge, EtcdTooManyRequests, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.layout import MIGRATION, KeyLayout
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Operation, Put, TxnResult
from moorage.store.etcd.transactions import Leases

#: The most revisions that are used up unless the user says otherwise: some minutes.
MAX_RAISE = 5_000_000
#: About this many revisions are used up in a minute.
_A_MINUTE = 600_000
#: Transactions under way at a time, and how many of them until history is compacted, so that the database stays small.
_AT_ONCE, _COMPACT_EVERY = 256, 100_000
_TRIES, _PAUSE_SECONDS = 8, 0.25
#: The note that is written only to use up revisions.
_FILLER = "revisions"
_DEFINITIONS = prefix_of(KINDS.CUSTOM_RESOURCE_DEFINITION)
_EVENTS = prefix_of(KINDS.EVENT)

Tick = Callable[[int], None]


class EtcdTarget(NamedTuple):
    """Where to, and how. `renumber`: no revisions are used up; `force`: what is there is deleted first."""

    client: EtcdClient
    layout: KeyLayout
    title: str
    renumber: bool = False
    force: bool = False
    max_raise: int = MAX_RAISE
    look_seconds: float = LOOK_SECONDS


class Moved(NamedTuple):
    """What a migration did: objects written now and before an interruption, those at their own revision, etcd's own."""

    objects: int
    resumed: int
    kept: int
    revision: int


class Marker(msgspec.Struct, frozen=True):
    """The note of a migration under way: what it is from, so that only the same one goes on.

    `run` is another one each time. While it is `clearing`, what is there is not of this migration.
    """

    source: str
    digest: str
    revision: int
    renumber: bool = False
    run: str = ""
    clearing: bool = False

    def is_same_as(self, other: "Marker") -> bool:
        return (self.digest, self.revision, self.renumber) == (other.digest, other.revision, other.renumber)


class Plan(NamedTuple):
    """What is to be done, before anything is written. `found` is what etcd has of an interrupted migration."""

    marker: Marker
    etcd_revision: int
    marked_at: int
    found: dict[bytes, KeyValue]
    fences: frozenset[bytes]
    notes: tuple[str, ...]

    @property
    def missing(self) -> int:
        """How many revisions etcd is behind the source."""
        return max(0, self.marker.revision - self.etcd_revision)


async def plan_migration(content: StoreContent, target: EtcdTarget) -> Plan:
    """Look whether a migration can be done, and how. Writes nothing. Raises TransferError, EtcdError."""
    client, layout = target.client, target.layout
    status = await client.status()
    if status.alarms:
        raise TransferError(f"etcd has the alarm {', '.join(status.alarms)}: see docs/high-availability.md")
    fences = await fences_in(client, layout)
    notes = []
    if ended := await refuse_if_used(client, layout, target.look_seconds):
        servers = "an API server was" if ended == 1 else f"{ended} API servers were"
        notes.append(f"{servers} killed without taking leave of etcd; nothing writes now")
    if large := [item.shown for item in content.items if len(item.value) > MAX_OBJECT_BYTES]:
        others = f" and {len(large) - 1} others are" if len(large) > 1 else " is"
        notes.append(f"{large[0]}{others} larger than etcd takes, unless its --max-request-bytes is more than 1.5 MiB")
    found: dict[bytes, KeyValue] = {}
    mark: KeyValue | None = None
    revision = 0
    async for at, page in pages(client, layout):
        revision = at
        found |= {item.key: item for item in page if not layout.is_note(item.key)}
        mark = next((item for item in page if item.key == layout.note(MIGRATION)), mark)
    marker = Marker(content.title, _digest(content), content.revision, target.renumber, secrets.token_hex(8))
    if _is_cleared(marker, found, mark, target):
        marker, found = msgspec.structs.replace(marker, clearing=True), {}
    plan = Plan(marker, revision, mark.modified if mark else 0, found, fences, tuple(notes))
    if plan.missing > target.max_raise and not target.renumber:
        raise TransferError(
            f"etcd is at revision {revision:,} and the objects at {content.revision:,}; nothing is written: to use up "
            f"{plan.missing:,} revisions takes about {max(1, plan.missing // _A_MINUTE):,} minutes, which --max-raise "
            f"{plan.missing} allows; --renumber gives objects new, lower resourceVersions"
        )
    return plan


def _is_cleared(marker: Marker, found: dict[bytes, KeyValue], mark: KeyValue | None, target: EtcdTarget) -> bool:
    """Return whether what etcd has is to be deleted first. Raises TransferError."""
    if mark is None:
        if found and not target.force:
            raise TransferError(
                f"{target.title} has {len(found):,} objects under {target.layout.prefix or '/'} already; nothing is "
                "written: choose another --etcd-prefix, or give --force to delete them"
            )
        return bool(found)
    try:
        before = msgspec.json.decode(mark.value, type=Marker)
    except msgspec.MsgspecError:
        before = None
    if before is not None and before.is_same_as(marker):
        return target.force or before.clearing
    if not target.force:
        how = " with --renumber" if before is not None and before.renumber else ""
        whose = f" from {before.source} as of revision {before.revision:,}{how}" if before is not None else ""
        raise TransferError(
            f"{target.title} has an unfinished migration{whose}, which is another one: finish that, or give --force "
            "to delete what it has written"
        )
    return True


def _digest(content: StoreContent) -> str:
    digest = hashlib.sha256()
    for item in content.items:
        digest.update(b"%d %b\n" % (item.revision, item.key.encode()))
    return digest.hexdigest()


class IntoEtcd:
    """One migration that was planned. `tick` is told how many revisions and objects are done."""

    def __init__(self, content: StoreContent, target: EtcdTarget, plan: Plan, tick: Tick = lambda count: None) -> None:
        self._content, self._target, self._plan, self._tick = content, target, plan, tick
        self._client, self._layout = target.client, target.layout
        self._revision, self._compacted = plan.etcd_revision, plan.etcd_revision
        self._mark = Compare(target.layout.note(MIGRATION), plan.marked_at)
        self._leases = Leases(target.client, int(EVENT_SECONDS), asyncio.get_running_loop().time)
        self._written = {target.layout.from_etcd(key): item.modified for key, item in plan.found.items()}

    async def run(self) -> Moved:
        """Raises TransferError, EtcdError; then the same command goes on later."""
        items = [item for item in self._content.items if item.key not in self._written]
        resumed = len(self._content.items) - len(items)
        await self._begin(items)
        if not await fences_in(self._client, self._layout) <= self._plan.fences:
            raise TransferError("an API server was started on the same etcd meanwhile: stop it, and start over")
        for group in self._groups(items):
            await self._raise_to(group[0].revision - 1)
            results = await asyncio.gather(*map(self._write, group))
            self._revision = max(self._revision, *results)
            self._tick(len(group))
        await self._raise_to(self._content.revision)
        await self._compare_all()
        ended = await self._end()
        await self._compact(ended)
        kept = sum(self._written[item.key] == item.revision for item in self._content.items)
        return Moved(len(items), resumed, kept, ended)

    async def _begin(self, items: Sequence[StoredItem]) -> None:
        """Write the note; in one transaction with the first object if no revision is left for it alone."""
        marker = self._plan.marker
        is_tight = bool(items) and items[0].revision == self._revision + 1 and not marker.clearing
        first = [await self._put(items[0])] if is_tight else []
        try:
            await self._write_marker(marker, first)
        except EtcdTooLarge:
            raise _too_large(items[0]) from None
        if is_tight:
            self._written[items[0].key] = self._revision
        if marker.clearing:
            key, layout = self._mark.key, self._layout
            await self._txn((), (Delete(layout.begin, key), Delete(key + b"\0", layout.end)))
            await self._write_marker(msgspec.structs.replace(marker, clearing=False), ())

    async def _write_marker(self, marker: Marker, besides: Sequence[Put]) -> None:
        value = msgspec.json.encode(marker)
        result = await self._send((self._mark,), (Put(self._mark.key, value), *besides), (Get(self._mark.key),))
        revision = result.revision
        if not result.succeeded:
            mark = result.found[0]
            if mark is None or mark.value != value:
                raise _taken_over()
            revision = mark.modified  # the answer was lost
        self._mark, self._revision = Compare(self._mark.key, revision), max(self._revision, revision)

    async def _end(self) -> int:
        """Delete the notes: now API servers may start. Return etcd's revision."""
        then = Delete(self._mark.key), Delete(self._layout.note(_FILLER))
        result = await self._send((self._mark,), then, (Get(self._mark.key),))
        if not result.succeeded and result.found[0] is not None:
            raise _taken_over()
        return result.revision

    def _groups(self, items: Sequence[StoredItem]) -> Iterator[list[StoredItem]]:
        """Yield what may be written side by side: objects whose revisions etcd has passed, in any order among them.

        A definition is alone: whether an object is older than it says by which schema the object was stored.
        """
        left = [item for item in items if item.key not in self._written]
        begin = 0
        while begin < len(left):
            end = begin + 1
            if not left[begin].key.startswith(_DEFINITIONS):
                while end < len(left) and end - begin < _AT_ONCE and self._is_free(left[end]):
                    end += 1
            yield left[begin:end]
            begin = end

    def _is_free(self, item: StoredItem) -> bool:
        return (self._target.renumber or item.revision <= self._revision) and not item.key.startswith(_DEFINITIONS)

    async def _write(self, item: StoredItem) -> int:
        """Write an object; return the revision it has."""
        put = await self._put(item)
        try:
            result = await self._txn((Compare(put.key, 0),), (put,), (Get(put.key),))
        except EtcdTooLarge:
            raise _too_large(item) from None
        revision = result.revision
        if not result.succeeded:
            previous = result.found[0]
            if previous is None or previous.value != item.value:
                raise TransferError(f"{put.key.decode()} was written by another program: stop it, and start over")
            revision = previous.modified  # its answer was lost
        self._written[item.key] = revision
        return revision

    async def _put(self, item: StoredItem) -> Put:
        lease = await self._leases.next() if item.key.startswith(_EVENTS) else 0
        return Put(self._layout.to_etcd(item.key), item.value, lease)

    # Revisions.

    async def _raise_to(self, revision: int) -> None:
        """Use up revisions until etcd has reached this one, if they are to be used up at all."""
        while self._revision < revision and not self._target.renumber:
            count = min(_AT_ONCE, revision - self._revision)
            before, filler = self._revision, Put(self._layout.note(_FILLER), b"")
            results = await asyncio.gather(*(self._txn((), (filler,)) for _ in range(count)))
            self._revision = max(self._revision, *(result.revision for result in results))
            self._tick(self._revision - before)
            if self._revision - self._compacted >= _COMPACT_EVERY:
                await self._compact(self._revision)

    async def _compact(self, revision: int) -> None:
        with suppress(EtcdCompacted):  # another program did
            await self._client.compact(revision)
        self._compacted = revision

    async def _txn(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation] = ()
    ) -> TxnResult:
        """Send a transaction while the note is ours. Raises EtcdError, TransferError."""
        result = await self._send((self._mark, *compares), then, (Get(self._mark.key), *otherwise))
        if result.succeeded:
            return result
        mark, *found = result.found
        if mark is None or mark.modified != self._mark.modified:
            raise _taken_over()
        return result._replace(found=tuple(found))

    async def _send(
        self, compares: Sequence[Compare], then: Sequence[Operation], otherwise: Sequence[Operation]
    ) -> TxnResult:
        """Send a transaction until it is answered: each may be made twice. Raises EtcdError."""
        for attempt in range(_TRIES):
            try:
                return await self._client.txn(compares, then, otherwise)
            except (EtcdUncertain, EtcdUnreachable, EtcdTooManyRequests):
                if attempt == _TRIES - 1:
                    raise
                await asyncio.sleep(_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("unreachable")

    # The end.

    async def _compare_all(self) -> None:
        """Read everything back. Raises TransferError if something differs from the source."""
        left = {self._layout.to_etcd(item.key): item for item in self._content.items}
        async for _, page in pages(self._client, self._layout):
            for stored in page:
                if self._layout.is_note(stored.key):
                    continue
                item = left.pop(stored.key, None)
                if item is None or item.value != stored.value:
                    raise TransferError(f"{stored.key.decode(errors='replace')} in etcd is not as in the source")
                if stored.modified < item.revision and not self._target.renumber:
                    raise TransferError(f"{item.key} has a lower revision than before, {stored.modified}")
                self._written[item.key] = stored.modified
        gone = [item for item in left.values() if not item.key.startswith(_EVENTS)]
        if gone:
            raise TransferError(f"{gone[0].key} is not in etcd, and {len(gone) - 1} others")
        for item in left.values():  # an event that has expired meanwhile
            self._written[item.key] = 0


def _too_large(item: StoredItem) -> TransferError:
    return TransferError(
        f"{item.shown} has {len(item.value):,} bytes, which is more than etcd takes: delete it, or start etcd with a "
        "greater --max-request-bytes; then the same command goes on with the migration"
    )


def _taken_over() -> TransferError:
    return TransferError("another migration into the same etcd has begun: only one may run")
