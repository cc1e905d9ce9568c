"""Keep everything in memory: the store of `--ephemeral` and of tests."""

import time
from collections.abc import Callable
from typing import Any

from moorage.store.protocol import Change, KeyExists, Stored, StoreError
from moorage.store.reading import StateReader
from moorage.store.state import Bounds, State


class MemoryStore(StateReader):
    """A store without a file. A write is done when it is accepted. Implements `protocol.Store`."""

    def __init__(self, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(State(bounds, clock))

    async def create(self, key: str, value: bytes, view: Any = None, template: Any = None) -> Stored:
        revision = self._next_revision()
        if key in self._values:
            raise KeyExists(key)
        stored = Stored(key, value, revision, revision, view, template)
        self._publish(Change(revision, None, stored))
        return stored

    async def update(self, key: str, value: bytes, expected: int, view: Any = None, template: Any = None) -> Stored:
        revision = self._next_revision()
        old = self._expected(key, expected)
        stored = Stored(key, value, revision, old.created, view, template)
        self._publish(Change(revision, old, stored))
        return stored

    async def delete(self, key: str, expected: int) -> Change:
        change = Change(self._next_revision(), self._expected(key, expected), None)
        self._publish(change)
        return change

    async def compact(self, revision: int) -> None:
        self._state.compact(revision)

    async def close(self) -> None:
        self._state.end()

    def _next_revision(self) -> int:
        if self._state.ended:
            raise StoreError("the store is closed")
        return self._state.revision + 1

    def _publish(self, change: Change) -> None:
        self._state.publish((change,))
        self._state.trim()
