"""The half of a store that needs no disk: reads and watches, answered from `state`.

In: the calls of `protocol.Store` that change nothing. Out: their answers; nothing here waits. `MemoryStore` and
`SqliteStore` add the writes.
"""

from moorage.store.protocol import Listing, Stored, StoreError
from moorage.store.state import State
from moorage.store.watching import StateWatch


class StateReader:
    """See the module."""

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
