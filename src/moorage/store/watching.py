"""A watch on a state: a prefix and a revision, nothing else.

In: the shared logs of `state`. Out: batches of changes after the revision, bounded so that who comes from long ago does
not hold the loop up. A watch that nobody reads costs nothing; when what it has not read yet was let go, it hears so.
Kubernetes: storage/cacher's cacheWatcher. Differs: there is no channel to fill up, so the store cuts
nobody off for being slow.
"""

import asyncio
from operator import itemgetter
from typing import TYPE_CHECKING

from moorage.store.protocol import Change, Compacted, StoreError

if TYPE_CHECKING:
    from moorage.store.partition import Partition
    from moorage.store.state import State

#: The most changes that one batch has.
MAX_AT_ONCE = 1_024


class StateWatch:
    """See the module. Implements `protocol.Watch`."""

    def __init__(self, state: "State", prefix: str, after: int) -> None:
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

    def _parts(self) -> "list[Partition]":
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
