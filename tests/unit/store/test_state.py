"""History is bounded by age, number and bytes, part by part; what is let go is said, and what is old is light."""

import asyncio

import pytest

from moorage.store.memory import StateWatch
from moorage.store.partition import WARM, WOKEN_AT_ONCE, Forgotten, Partition
from moorage.store.protocol import Change, Compacted, Stored
from moorage.store.state import EVERY_SECONDS, PIECE, Bounds, State


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Driver:
    """Writes to a state as a store would."""

    def __init__(self, bounds: Bounds) -> None:
        self.clock = Clock()
        self.state = State(bounds, self.clock)
        self.forgotten: list[Forgotten] = []

    def put(self, key: str, value: bytes = b"", view: object = None) -> None:
        revision = self.state.revision + 1
        old = self.state.values.get(key)
        new = Stored(key, value, revision, old.created if old else revision, view)
        self._publish(Change(revision, old, new))

    def remove(self, key: str) -> None:
        self._publish(Change(self.state.revision + 1, self.state.values[key], None))

    def _publish(self, change: Change) -> None:
        self.state.publish((change,))
        self.forgotten += self.state.trim()

    def rows_needed(self) -> set[int]:
        """The revisions that a log of everything would still have to hold."""
        everything = set(range(2, self.state.revision + 1))
        return everything - {revision for piece in self.forgotten for revision in piece.superseded}


def test_history_is_bounded_by_number() -> None:
    driver = Driver(Bounds(changes=1_000))
    for number in range(5_000):
        driver.put(f"/pods/default/{number % 10}")
    part = driver.state.partition("/pods/")
    assert 1_000 - PIECE <= len(part.log) <= 1_000 + PIECE
    assert driver.state.oldest == part.compacted == part.log[0].revision - 1


def test_history_is_bounded_by_bytes() -> None:
    driver = Driver(Bounds(size=100_000))
    for number in range(2_000):
        driver.put(f"/pods/default/{number % 10}", b"x" * 1_000)
    part = driver.state.partition("/pods/")
    assert part.superseded_bytes == sum(len(change.old.value) for change in part.log if change.old is not None)
    assert part.superseded_bytes <= 100_000 + PIECE * 1_000


def test_history_is_bounded_by_age() -> None:
    driver = Driver(Bounds(age=60))
    driver.put("/pods/default/a", b"1")
    first = driver.state.revision
    for _ in range(100):
        driver.clock.now += EVERY_SECONDS
        driver.put("/pods/default/a", b"2")
    with pytest.raises(Compacted):
        StateWatch(driver.state, "/pods/", first)
    part = driver.state.partition("/pods/")
    assert 55 <= len(part.log) <= 65
    assert driver.rows_needed() == {change.old.revision for change in part.log if change.old} | {driver.state.revision}


def test_churn_does_not_push_out_the_history_of_others() -> None:
    driver = Driver(Bounds(changes=1_000))
    driver.put("/pods/default/a")
    start = driver.state.revision
    for number in range(100):
        driver.put(f"/pods/default/{number}")
    for number in range(10_000):
        driver.put(f"/leases/{number % 50}")
    assert len(driver.state.partition("/pods/").log) == 101
    StateWatch(driver.state, "/pods/", start)
    with pytest.raises(Compacted):
        StateWatch(driver.state, "/leases/", start)
    with pytest.raises(Compacted):
        StateWatch(driver.state, "/", start)


def test_a_deletion_that_is_forgotten_leaves_no_row() -> None:
    driver = Driver(Bounds(changes=10))
    for number in range(3_000):
        driver.put(f"/events/{number}")
        driver.remove(f"/events/{number}")
    driver.forgotten += driver.state.compact(driver.state.revision)
    assert driver.rows_needed() == set()
    assert driver.state.count("/") == 0


def test_old_changes_are_kept_without_their_meaning() -> None:
    driver = Driver(Bounds())
    for number in range(WARM + 3 * PIECE):
        driver.put(f"/pods/default/{number % 3}", b"value", {"decoded": number})
    log = driver.state.partition("/pods/").log
    warm = [change for change in log if change.new is not None and change.new.view is not None]
    assert WARM <= len(warm) <= WARM + PIECE
    assert warm == log[-len(warm) :]
    assert {change.new.value for change in log if change.new is not None} == {b"value"}
    assert all(stored.view is not None for stored in driver.state.values.values())


@pytest.mark.parametrize("between_lists", [1, 5, 200])
def test_keys_are_in_order_however_many_come_and_go_between_two_lists(between_lists: int) -> None:
    driver = Driver(Bounds())
    for number in range(1_000):
        key = f"/pods/{number * 7919 % 1_000:03}"
        if key in driver.state.values and number % 2:
            driver.remove(key)
        else:
            driver.put(key)
        if number % 3 == 0:
            driver.remove(key)
        if number % between_lists == 0:
            listing = driver.state.listing("/pods/", 0, 0, "")
            assert [stored.key for stored in listing.items] == sorted(driver.state.values)
            assert driver.state.count("/pods/") == len(driver.state.values)


def test_the_greatest_character_has_keys_after_it_too() -> None:
    driver = Driver(Bounds())
    for key in ("/a/\U0010ffff", "/a/\U0010ffff/b", "/a/\U0010ffff\U0010ffff", "/b/"):
        driver.put(key)
    assert driver.state.count("/a/\U0010ffff") == 3
    assert driver.state.count("/a/\U0010ffff\U0010ffff") == 1
    assert driver.state.count("\U0010ffff") == 0


async def test_many_watches_are_woken_some_at_a_time() -> None:
    part = Partition("/pods/", {})
    loop = asyncio.get_running_loop()
    waiting = [loop.create_future() for _ in range(3 * WOKEN_AT_ONCE)]
    part.waiting.update(waiting)
    part.wake()
    counts = []
    for _ in range(4):
        counts.append(sum(future.done() for future in waiting))
        await asyncio.sleep(0)
    assert counts[:3] == [WOKEN_AT_ONCE, 2 * WOKEN_AT_ONCE, 3 * WOKEN_AT_ONCE]
    assert not part.waiting


async def test_other_values_take_the_place_of_all_that_is_held() -> None:
    driver = Driver(Bounds())
    state, view = driver.state, object()
    driver.put("/pods/a/kept", b"1", view)
    driver.put("/pods/a/changed", b"1")
    driver.put("/pods/a/gone", b"1")
    kept, changed, gone = (state.values[f"/pods/a/{name}"] for name in ("kept", "changed", "gone"))
    heard: list[Change] = []
    state.subscribe("/pods/", heard.append)
    watch = StateWatch(state, "/pods/", state.revision)
    waiting = asyncio.ensure_future(watch.next())
    await asyncio.sleep(0)
    newer, new = changed._replace(value=b"2", revision=20), Stored("/pods/a/new", b"1", 21, 21)
    state.replace({item.key: item for item in (kept._replace(view=None), newer, new)}, 30)
    assert heard == [Change(30, gone, None), Change(30, changed, newer), Change(30, None, new)]
    assert [item.key for item in state.listing("/pods/", 0, 0, "").items] == sorted([kept.key, newer.key, new.key])
    assert state.values[kept.key].view is view
    assert (state.revision, state.oldest_of("/pods/")) == (30, 30)
    with pytest.raises(Compacted):
        await waiting
    state.advance(40)
    state.advance(35)
    assert state.revision == 40
    assert StateWatch(state, "/pods/", 30).at == 40


async def test_listeners_hear_only_of_their_kind() -> None:
    driver = Driver(Bounds())
    heard: list[Change] = []
    driver.state.subscribe("/storage.k8s.io/storageclasses/", heard.append)
    driver.put("/storage.k8s.io/csinodes/n1")
    driver.put("/storage.k8s.io/storageclasses/fast")
    assert [change.key for change in heard] == ["/storage.k8s.io/storageclasses/fast"]


def test_a_part_without_values_and_history_is_forgotten() -> None:
    driver = Driver(Bounds(age=10.0))
    for number in range(300):
        driver.put(f"/things{number}.example.com/default/a")
        driver.remove(f"/things{number}.example.com/default/a")
        driver.clock.now += 5.0
    driver.put("/pods/default/a")
    assert len(driver.state._partitions) < 10
    assert not driver.state._idle
    with pytest.raises(Compacted):  # what happened there is not known any more
        StateWatch(driver.state, "/things0.example.com/", 1)


async def test_a_watch_goes_on_when_its_part_is_forgotten_and_comes_again() -> None:
    driver = Driver(Bounds(age=10.0))
    driver.put("/things/default/a")
    driver.remove("/things/default/a")
    watch = StateWatch(driver.state, "/things/", driver.state.revision)
    driver.clock.now = 100.0
    for _ in range(3):
        driver.put("/pods/default/a")
        driver.clock.now += 100.0
    assert "/things/" not in driver.state._partitions
    driver.put("/things/default/b")
    assert [change.key for change in await watch.next()] == ["/things/default/b"]


def test_keys_that_come_and_go_are_not_kept_where_nothing_is_listed() -> None:
    driver = Driver(Bounds(changes=100))
    for number in range(20_000):
        driver.put(f"/pods/default/{number}")
        driver.remove(f"/pods/default/{number}")
    assert len(driver.state.partition("/pods/")._moved) < 5_000
