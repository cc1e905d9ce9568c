"""A store that several servers share, where each hears of the others' writes when it is told to.

`SharedValues` decides about writes. Each server has a `LaggingStore` on it: its newest values lag behind until
`deliver`, until it writes itself, or until it asks to catch up, as with etcd and the watch of each server.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from moorage.model.gates import default_gates
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore, StateWatch
from moorage.store.protocol import Change, FutureRevision, Listener, Listing, Stored, StoreUnavailable, StoreUncertain
from moorage.store.state import State


class SharedValues(MemoryStore):
    """Tells each server's queue of every write, as bytes alone."""

    def __init__(self) -> None:
        super().__init__()
        self.stores: list[LaggingStore] = []

    def _accept(self, key: str, change: Change) -> None:
        super()._accept(key, change)
        for store in self.stores:
            store.queue.append(Change(change.revision, _bare(change.old), _bare(change.new)))
            if store.is_prompt:
                store.deliver()


def _bare(stored: Stored | None) -> Stored | None:
    return None if stored is None else stored._replace(view=None, template=None)


class LaggingStore:
    """One server's view of shared values. Implements `protocol.Store`."""

    is_shared = True
    complaint = ""

    def __init__(self, shared: SharedValues, *, lets_expire: bool = False) -> None:
        self._shared, self._state, self._lets_expire = shared, State(), lets_expire
        self.queue: deque[Change] = deque()
        #: The values, views and templates that are being written, by key.
        self._own: dict[str, tuple[bytes, Any, Any]] = {}
        shared.stores.append(self)
        self.caught_up = 0
        #: It hears of every write at once.
        self.is_prompt = False
        #: The shared values cannot be reached.
        self.is_cut_off = False
        #: The next write is made, and its answer lost.
        self.loses_answer = False

    def deliver(self, upto: int | None = None) -> None:
        """Hear of others' writes, of all or of those up to a revision."""
        changes: list[Change] = []
        while self.queue and (upto is None or self.queue[0].revision <= upto):
            change = self.queue.popleft()
            old, new = self._state.values.get(change.key), change.new
            for earlier in changes:
                old = earlier.new if earlier.key == change.key else old
            value, view, template = self._own.get(change.key, (b"", None, None))
            if new is not None and new.value == value:  # it may be that another server wrote the same
                new = new._replace(view=view, template=template)
            changes.append(Change(change.revision, old, new))
        if changes:
            self._state.publish(changes)

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def oldest(self) -> int:
        return self._state.oldest

    async def catch_up(self) -> None:
        self.caught_up += 1
        await self._ask()
        self.deliver()

    async def reach(self, revision: int) -> None:
        await self._ask()
        self.deliver(revision)
        if self._state.revision < revision:
            raise FutureRevision(revision, self._state.revision)

    async def _ask(self) -> None:
        await asyncio.sleep(0)
        if self.is_cut_off:
            raise StoreUnavailable("etcd cannot be reached")

    async def get(self, key: str) -> Stored | None:
        return self._state.values.get(key)

    def peek(self, key: str) -> Stored | None:
        return self._state.values.get(key)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        return self._state.listing(prefix, revision, limit, after)

    async def count(self, prefix: str) -> int:
        return self._state.count(prefix)

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        with self._writing(key, value, view, template):
            await self._ask()
            return self._written(await self._shared.create(key, value, claims=claims))

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
        with self._writing(key, value, view, template):
            await self._ask()
            return self._written(await self._shared.update(key, value, expected, claims=claims, released=released))

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        await self._ask()
        gone = await self._shared.delete(key, expected, released=released)
        self._answer(gone.revision)
        return gone

    @contextmanager
    def _writing(self, key: str, value: bytes, view: Any, template: Any) -> Iterator[None]:
        self._own[key] = value, view, template
        try:
            yield
        finally:
            self._own.pop(key, None)

    def _written(self, stored: Stored) -> Stored:
        self._answer(stored.revision)
        written = self._state.values[stored.key]
        return written if written.revision == stored.revision else stored

    def _answer(self, revision: int) -> None:
        if self.loses_answer:
            self.loses_answer = False
            raise StoreUncertain("the connection was lost")
        self.deliver(revision)

    async def hold(self, holder: Stored, claims: Sequence[str]) -> None:
        await self._shared.hold(holder, claims)

    def expires(self, prefix: str, seconds: int) -> bool:
        return self._lets_expire

    def subscribe(self, prefix: str, listener: Listener) -> None:
        self._state.subscribe(prefix, listener)

    def watch(self, prefix: str, after: int) -> StateWatch:
        return StateWatch(self._state, prefix, after)

    async def compact(self, revision: int) -> None:
        self._state.compact(revision)

    async def copy(self, path: Path) -> None:
        raise NotImplementedError

    async def close(self) -> None:
        self._state.end()


@asynccontextmanager
async def servers(number: int = 2, stores: Iterable[LaggingStore] = ()) -> AsyncIterator[list[Api]]:
    """API servers on shared values, which know what the first of them made at its start, and nothing later."""
    shared, uids = SharedValues(), count(1)
    made = list(stores) or [LaggingStore(shared) for _ in range(number)]
    apis = [Api(store, default_gates(), new_uid=lambda: f"uid-{next(uids)}") for store in made]
    try:
        for api in apis:
            await api.store.catch_up()
            await api.start()
            await bootstrap(api, 443)
        for api in apis:
            await api.catch_up()
            store_of(api).caught_up = 0
        yield apis
    finally:
        for api in apis:
            await api.store.close()


def store_of(api: Api) -> LaggingStore:
    assert isinstance(api.store, LaggingStore)
    return api.store
