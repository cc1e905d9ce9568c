"""Answer the reads and watches of a store from its `State`; `MemoryStore` and `SqliteStore` add the writes.

A watch that is not read costs nothing; one that history has left behind gets `Compacted`. Kubernetes: storage/cacher's
cacheWatcher. Differs: there is no channel to fill up, so the store does not cut off slow watchers.
"""

import asyncio
from operator import itemgetter

from moorage.store.partition import Partition
from moorage.store.protocol import Change, Compacted, KeyMissing, Listing, RevisionMismatch, Stored, StoreError
from moorage.store.state import State

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
                raise StoreError("the store is closed")
            changes = self._take()
            if changes:
                return changes
            waiting = (self._part or self._state.everywhere).waiting
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            waiting.add(waiter)
            try:
                await waiter
            finally:
                waiting.discard(waiter)

    def close(self) -> None:
        self._why_ended = "the watch is closed"
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _parts(self) -> list[Partition]:
        return [self._part] if self._part is not None else self._state.parts_of(self._prefix)

    def _take(self) -> list[Change]:
        """The next batch; empty if there is nothing new."""
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


class StateReader:
    """The half of a store that needs no disk."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._values = state.values
        self.complaint = ""

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def oldest(self) -> int:
        return self._state.oldest

    async def get(self, key: str) -> Stored | None:
        return self._values.get(key)

    async def count(self, prefix: str) -> int:
        return self._state.count(prefix)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        return self._state.listing(prefix, revision, limit, after)

    def watch(self, prefix: str, after: int) -> StateWatch:
        if self._state.ended:
            raise StoreError("the store is closed")
        return StateWatch(self._state, prefix, after)

    def _expected(self, key: str, expected: int) -> Stored:
        """The newest value of a key that is to be at this revision. Raises KeyMissing and RevisionMismatch."""
        found = self._values.get(key)
        if found is None:
            raise KeyMissing(key)
        if found.revision != expected:
            raise RevisionMismatch(found)
        return found
