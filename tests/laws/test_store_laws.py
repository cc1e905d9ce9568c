"""Any history of writes, compactions and restarts: the store says what a list of everything that ever happened says."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples

from moorage.store.memory import MemoryStore, StateWatch
from moorage.store.protocol import Change, Compacted, FutureRevision, KeyExists, KeyMissing, RevisionMismatch, Stored
from moorage.store.sqlite import SqliteStore

KEYS = ("/pods/a/1", "/pods/a/2", "/pods/b/1", "/pods/a", "/nodes/1", "/nodes/10", "/leases/1", "/lone")
PREFIXES = ("", "/", "/pods/", "/pods/a", "/pods/a/", "/nodes/", "/nodes/1", "/none/", "/l")

keys = st.sampled_from(KEYS)
prefixes = st.sampled_from(PREFIXES)
values = st.binary(max_size=3)


class Everything:
    """The model: every change there ever was. Whatever is asked is worked out from the first one on."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self.revision = 1
        self.compacted = 0

    def at(self, revision: int) -> dict[str, Stored]:
        state: dict[str, Stored] = {}
        for change in self.changes:
            if change.revision <= revision:
                state.pop(change.key, None)
                if change.new is not None:
                    state[change.key] = change.new
        return state

    def add(self, change: Change) -> None:
        assert change.revision == self.revision + 1
        self.changes.append(change)
        self.revision += 1

    def after(self, revision: int, prefix: str) -> list[Change]:
        return [change for change in self.changes if change.revision > revision and change.key.startswith(prefix)]


class StoreMachine(RuleBasedStateMachine):
    """One store, driven at random, compared with the model after each step."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.model = Everything()
        self.store: Any = self.run(self.open())
        self.watches: list[tuple[Any, str, int]] = []

    async def open(self) -> Any:
        return await SqliteStore.open(Path(self.folder.name)) if self.durable else MemoryStore()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 240))

    def teardown(self) -> None:
        self.run(self.store.close())
        self.loop.close()
        self.folder.cleanup()

    @rule(key=keys, value=values)
    def create(self, key: str, value: bytes) -> None:
        if key in self.model.at(self.model.revision):
            with pytest.raises(KeyExists):
                self.run(self.store.create(key, value))
        else:
            stored = self.run(self.store.create(key, value))
            assert stored == Stored(key, value, self.model.revision + 1, self.model.revision + 1)
            self.model.add(Change(stored.revision, None, stored))

    @rule(key=keys, value=st.none() | values, behind=st.sampled_from([0, 0, 0, 1, 5, -1]))
    def replace(self, key: str, value: bytes | None, behind: int) -> None:
        old = self.model.at(self.model.revision).get(key)
        expected = (old.revision if old is not None else self.model.revision) - behind
        work = self.store.delete(key, expected) if value is None else self.store.update(key, value, expected)
        if old is None:
            with pytest.raises(KeyMissing):
                self.run(work)
        elif behind:
            with pytest.raises(RevisionMismatch) as refused:
                self.run(work)
            assert refused.value.found == old
        elif value is None:
            change = self.run(work)
            assert change == Change(self.model.revision + 1, old, None)
            self.model.add(change)
        else:
            stored = self.run(work)
            assert stored == Stored(key, value, self.model.revision + 1, old.created)
            self.model.add(Change(stored.revision, old, stored))

    @rule(prefix=prefixes, back=st.integers(-1, 12), limit=st.integers(0, 4), after=st.just("") | keys)
    def list(self, prefix: str, back: int, limit: int, after: str) -> None:
        revision = max(1, self.model.revision - back)
        work = self.store.list(prefix, revision=revision, limit=limit, after=after)
        if revision > self.model.revision:
            with pytest.raises(FutureRevision):
                self.run(work)
        elif revision < self.model.compacted:
            with pytest.raises(Compacted):
                self.run(work)
        else:
            listing = self.run(work)
            then = self.model.at(revision)
            wanted = [then[key] for key in sorted(then) if key.startswith(prefix) and key > after]
            shown = wanted[:limit] if limit else wanted
            assert listing == (shown, revision, len(wanted) - len(shown))

    @rule(prefix=prefixes, back=st.integers(0, 12))
    def watch(self, prefix: str, back: int) -> None:
        after = max(0, self.model.revision - back)
        if after < self.model.compacted:
            with pytest.raises(Compacted):
                self.store.watch(prefix, after)
        else:
            self.watches.append((self.store.watch(prefix, after), prefix, after))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        which = data.draw(st.integers(0, len(self.watches) - 1))
        watch, prefix, at = self.watches[which]
        wanted = self.model.after(at, prefix)
        assert not any(at < change.revision <= watch.at for change in wanted)
        if not wanted:
            return
        if wanted[0].revision <= self.model.compacted:
            with pytest.raises(Compacted):
                self.run(watch.next())
            del self.watches[which]
        else:
            assert self.run(watch.next()) == wanted
            self.watches[which] = (watch, prefix, self.model.revision)

    @rule(back=st.integers(0, 20))
    def compact(self, back: int) -> None:
        revision = max(1, self.model.revision - back)
        self.run(self.store.compact(revision))
        self.model.compacted = max(self.model.compacted, revision)

    @precondition(lambda self: self.durable)
    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.watches.clear()
        self.store = self.run(self.open())

    @invariant()
    def newest(self) -> None:
        now = self.model.at(self.model.revision)
        assert self.store.revision == self.model.revision
        assert self.store.oldest == self.model.compacted
        got, counts = self.run(self.look())
        assert got == [now.get(key) for key in KEYS]
        assert counts == [sum(key.startswith(prefix) for key in now) for prefix in PREFIXES]

    async def look(self) -> Any:
        got = [await self.store.get(key) for key in KEYS]
        return got, [await self.store.count(prefix) for prefix in PREFIXES]


def _machine(durable: bool, breaking: Callable[[Any], None] | None = None) -> type[StoreMachine]:
    class Machine(StoreMachine):
        async def open(self) -> Any:
            store = await super().open()
            if breaking is not None:
                breaking(store)
            return store

    Machine.durable = durable
    return Machine


MEMORY_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(100), stateful_step_count=40)
NOTICED_SETTINGS = settings(UNTIL_NOTICED, stateful_step_count=40)
SQLITE_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(25), stateful_step_count=30)


def test_memory_says_what_everything_says() -> None:
    run_state_machine_as_test(_machine(durable=False), settings=MEMORY_SETTINGS)


def test_sqlite_says_what_everything_says() -> None:
    run_state_machine_as_test(_machine(durable=True), settings=SQLITE_SETTINGS)


def _one_too_late(store: MemoryStore) -> None:
    """A watch that forgets the first change after where it begins."""
    proper = store.watch

    def watch(prefix: str, after: int) -> StateWatch:
        proper(prefix, after)
        return proper(prefix, after + 1)

    store.watch = watch  # type: ignore[method-assign]


def _always_now(store: MemoryStore) -> None:
    """A list that shows the present whatever was asked for."""
    proper = store._state.listing

    def listing(prefix: str, revision: int, limit: int, after: str) -> Any:
        return proper(prefix, revision, limit, after)._replace(items=proper(prefix, 0, limit, after).items)

    store._state.listing = listing  # type: ignore[method-assign]


@pytest.mark.parametrize("breaking", [_one_too_late, _always_now])
def test_a_broken_store_is_noticed(breaking: Callable[[Any], None]) -> None:
    assert_notices(lambda: run_state_machine_as_test(_machine(False, breaking), settings=NOTICED_SETTINGS))
