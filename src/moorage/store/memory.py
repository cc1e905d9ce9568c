"""Keep everything in memory: what every store reads, watches and checks, and the store of `--ephemeral` and tests.

A watch that is not read costs nothing; one that history has left behind gets `Compacted`. `Claims` knows which value
holds a claim. Kubernetes: storage/cacher's cacheWatcher. Differs: there is no channel to fill up, so the store does not
cut off slow watchers.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from moorage.store.data_directory import StoreUnusable, write_problem
from moorage.store.log_file import ALL_PARTS, MAX_ROWS, LogFile
from moorage.store.partition import Forgotten, Partition, wake
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
    StoreClosed,
    Stored,
    StoreError,
    StoreFailed,
)
from moorage.store.state import Bounds, State

#: The most changes that one batch has.
MAX_AT_ONCE = 1_024


class StateWatch:
    """A prefix and a position in the shared logs. Implements `protocol.Watch`."""

    def __init__(self, state: State, prefix: str, after: int) -> None:
        oldest = state.oldest_of(prefix)
        if after < oldest:
            raise Compacted(oldest)
        self._state = state
        self._prefix = prefix
        self._position = after
        self._why_ended = ""
        self._waiter: asyncio.Future[None] | None = None
        self._part: Partition | None = state.partition(prefix) if prefix.find("/", 1) > 0 else None

    @property
    def at(self) -> int:
        position, current = self._position, self._state.revision
        if position >= current:
            return position
        if any(part.log and part.log[-1].revision > position for part in self._parts()):
            return position
        return current if all(part.compacted <= position for part in self._parts()) else position

    async def next(self) -> list[Change]:
        while True:
            if self._why_ended:
                raise StoreError(self._why_ended)
            if self._state.ended:
                raise StoreClosed()
            changes = self._take()
            if changes:
                return changes
            part = self._part or self._state.everywhere
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            part.waiting.add(waiter)
            try:
                await waiter
            finally:
                part.waiting.discard(waiter)

    def close(self) -> None:
        self._why_ended = "the watch is closed"
        if self._waiter is not None:
            wake((self._waiter,))

    def _parts(self) -> list[Partition]:
        return [self._part] if self._part is not None else self._state.parts_of(self._prefix)

    def _take(self) -> list[Change]:
        while True:
            found: list[Change] = []
            upto = self._state.revision
            parts = self._parts()
            for part in parts:
                if part.compacted > self._position:
                    raise Compacted(part.compacted)
                begin = part.position(self._position)
                changes = part.log[begin : begin + MAX_AT_ONCE]
                if len(changes) == MAX_AT_ONCE:
                    upto = min(upto, changes[-1].revision)
                if self._prefix != part.name:
                    prefix = self._prefix
                    changes = [change for change in changes if change.key.startswith(prefix)]
                found += changes
            if len(parts) > 1:
                found = sorted((change for change in found if change.revision <= upto), key=itemgetter(0))
            if self._position < upto:
                self._position = upto
            if found or upto == self._state.revision:
                return found


class Pending:
    """A write that is not durable yet, the claims that it takes and lets go of, and the writes that wait for it."""

    __slots__ = ("done", "followers", "released", "taken")

    def __init__(self, done: "asyncio.Future[None]") -> None:
        self.done = done
        self.followers: list[asyncio.Future[None]] = []
        self.taken: Sequence[str] = ()
        self.released: Sequence[str] = ()


class MemoryStore:
    """A store without a file: a write is done when it is accepted. Implements `protocol.Store`.

    A subclass whose writes take time overrides `_next_revision` and `_accept`, and keeps the keys that are being
    written in `_pending`.
    """

    is_shared = False

    def __init__(self, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = State(bounds, clock)
        self._values = self._state.values
        self._pending: dict[str, Pending] = {}
        self._claims = Claims()
        self.complaint = ""

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def oldest(self) -> int:
        return self._state.oldest

    async def catch_up(self) -> None:
        """Newest values are those of this process: there is nothing to wait for."""

    async def reach(self, revision: int) -> None:
        if revision > self._state.revision:
            raise FutureRevision(revision, self._state.revision)

    async def get(self, key: str) -> Stored | None:
        return self._values.get(key)

    def peek(self, key: str) -> Stored | None:
        return self._values.get(key)

    async def count(self, prefix: str) -> int:
        return self._state.count(prefix)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        return self._state.listing(prefix, revision, limit, after)

    def watch(self, prefix: str, after: int) -> StateWatch:
        if self._state.ended:
            raise StoreClosed()
        return StateWatch(self._state, prefix, after)

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        if key in self._pending:
            await self._turn(key)
        revision = self._next_revision()
        if key in self._values:
            raise KeyExists(key)
        if claims:
            claims = self._claims.take(key, claims)
        stored = Stored(key, value, revision, revision, view, template)
        done = self._accept(key, Change(revision, None, stored))
        if claims:
            self._accept_claims(key, claims, ())
        if done is not None:
            await done
        return stored

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
        if key in self._pending:
            await self._turn(key)
        revision = self._next_revision()
        old = self._expected(key, expected)
        if claims:
            claims = self._claims.take(key, claims)
        stored = Stored(key, value, revision, old.created, view, template)
        done = self._accept(key, Change(revision, old, stored))
        if claims or released:
            self._accept_claims(key, claims, released)
        if done is not None:
            await done
        return stored

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        if key in self._pending:
            await self._turn(key)
        change = Change(self._next_revision(), self._expected(key, expected), None)
        done = self._accept(key, change)
        if released:
            self._accept_claims(key, (), released)
        if done is not None:
            await done
        return change

    async def hold(self, holder: Stored, claims: Sequence[str]) -> None:
        found = self._values.get(holder.key)
        if found is not None and found.revision == holder.revision:
            self._claims.hold(holder.key, claims)

    def expires(self, prefix: str, seconds: int) -> bool:
        return False

    def subscribe(self, prefix: str, listener: Listener) -> None:
        self._state.subscribe(prefix, listener)

    async def compact(self, revision: int) -> None:
        self._state.compact(revision)

    async def copy(self, path: Path) -> None:
        await write_copy(self._state, path)

    async def close(self) -> None:
        self._state.end()

    async def _turn(self, key: str) -> None:
        while (pending := self._pending.get(key)) is not None:
            follower = asyncio.get_running_loop().create_future()
            pending.followers.append(follower)
            await follower

    def _expected(self, key: str, expected: int) -> Stored:
        """The newest value of a key that is to be at this revision. Raises KeyMissing and RevisionMismatch."""
        found = self._values.get(key)
        if found is None:
            raise KeyMissing(key)
        if found.revision != expected:
            raise RevisionMismatch(found)
        return found

    def _next_revision(self) -> int:
        if self._state.ended:
            raise StoreClosed()
        return self._state.revision + 1

    def _accept(self, key: str, change: Change) -> Awaitable[None] | None:
        """Make a write that was checked; what is returned is done when it is durable, None is done already."""
        self._state.publish((change,))
        self._state.trim()
        return None

    def _accept_claims(self, key: str, taken: Sequence[str], released: Sequence[str]) -> None:
        """Note the claims of a write that was accepted: they change hands when it is durable."""
        self._claims.release(key, released)


async def write_copy(state: State, path: Path) -> None:
    """Write the newest values into a new file; history begins with them. Raises StoreFailed."""
    values = sorted(state.values.values(), key=attrgetter("revision"))
    await asyncio.to_thread(_write_file, path, values, state.revision)


def _write_file(path: Path, values: Sequence[Stored], reached: int) -> None:
    """Raises StoreFailed."""
    try:
        with closing(LogFile(path)) as file:
            for begin in range(0, len(values), MAX_ROWS):
                some = values[begin : begin + MAX_ROWS]
                file.append([(stored.revision, stored.key, stored.created, stored.value) for stored in some])
            file.forget([Forgotten(ALL_PARTS, reached, [])], reached)
    except (StoreUnusable, sqlite3.Error) as error:
        raise StoreFailed(f"the copy could not be made: {write_problem(error)}") from None


class Claims:
    """The holders of claims, by their keys."""

    __slots__ = ("_holders",)

    def __init__(self) -> None:
        self._holders: dict[str, str] = {}

    def take(self, key: str, claims: Sequence[str]) -> list[str]:
        """Take all of the claims for the value at `key`, or none; return those it did not hold. Raises ClaimTaken."""
        holders = self._holders
        for claim in claims:
            if holders.get(claim, key) != key:
                raise ClaimTaken(claim)
        taken = [claim for claim in claims if claim not in holders]
        holders.update(dict.fromkeys(taken, key))
        return taken

    def hold(self, key: str, claims: Sequence[str]) -> None:
        """Take those of the claims that are free."""
        for claim in claims:
            self._holders.setdefault(claim, key)

    def release(self, key: str, claims: Sequence[str]) -> None:
        """Let go of those of the claims that the value at `key` holds."""
        holders = self._holders
        for claim in claims:
            if holders.get(claim) == key:
                del holders[claim]
