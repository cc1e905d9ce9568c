"""Informers: no event is lost, nothing stale follows something newer, and every broken watch is picked up again."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import cast

import pytest
from tests.laws.falsify import assert_notices
from tests.unit.client.scripted_server import ScriptedServer, pod
from tests.virtual_time import run_virtual

from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Client, EventType, Listing, Unreachable, WatchEvent
from moorage.model.api_error import ApiError, expired, failure, no_such_path, unauthorized
from moorage.model.kinds import KINDS, Kind


class _Follower:
    """Takes deltas as a component would, and checks each against what was said before."""

    def __init__(self) -> None:
        self.held: dict[str, int] = {}
        self.uids: dict[str, str] = {}
        self.said: list[tuple[str, str, int]] = []
        self.batches = 0

    def __call__(self, deltas: list[Delta]) -> None:
        self.batches += 1
        for old, new in deltas:
            if new is None:
                assert old is not None
                assert self.held.pop(old.key) <= old.revision
                self.said.append(("deleted", old.name, old.revision))
                continue
            if old is None:
                assert new.key not in self.held
                self.said.append(("added", new.name, new.revision))
            else:
                assert self.held[new.key] == old.revision < new.revision
                assert self.uids[new.key] == new.uid
                self.said.append(("updated", new.name, new.revision))
            self.held[new.key] = new.revision
            self.uids[new.key] = new.uid


@asynccontextmanager
async def following(
    server: ScriptedServer, follower: _Follower, kind: type[Informer] = Informer
) -> AsyncIterator[Informer]:
    """Run an informer; at the end it and its follower must know what the server has."""
    loop = asyncio.get_running_loop()
    informer = kind(cast(Client, server), KINDS.POD, follower, now=loop.time, random=lambda: 0.5)
    task = asyncio.create_task(informer.run())
    yield informer
    await asyncio.sleep(60)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert follower.held == {key: obj.revision for key, obj in server.objects.items()}
    assert {key: obj.revision for key, obj in informer.cache.items()} == follower.held


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def follower() -> _Follower:
    return _Follower()


@pytest.fixture
def informer(server: ScriptedServer, follower: _Follower) -> AbstractAsyncContextManager[Informer]:
    return following(server, follower)


async def test_the_list_comes_first_and_as_one_batch(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    server.put("a")
    server.put("b")
    assert not informer.has_synced
    await informer.synced()
    assert follower.said == [("added", "a", 2), ("added", "b", 3)]
    assert follower.batches == 1


async def test_others_work_while_a_long_list_is_handled_and_its_revision_is_known_after_all_of_it(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    for number in range(2_000):
        server.put(f"p{number}")
    while not follower.batches:
        await asyncio.sleep(0)
    turns = 0
    while not informer.has_synced:
        assert informer.revision == 0
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 5
    assert len(follower.held) == 2_000
    assert informer.revision == 2_001


async def test_changes_that_come_together_are_handled_together(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    await informer.synced()
    for index in range(1000):
        server.put(f"p{index}")
    server.remove("p7")
    await asyncio.sleep(1)
    assert follower.batches == 1
    assert len(follower.said) == 1001
    assert follower.said[-1] == ("deleted", "p7", 1002)


async def test_a_watch_that_ends_resumes_from_the_last_revision(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    await informer.synced()
    server.put("a")
    await asyncio.sleep(2)
    server.end_watches()
    server.put("b")
    server.put("a")
    await asyncio.sleep(10)
    assert server.watches == [1, 2]
    assert server.lists == 1
    assert follower.said == [("added", "a", 2), ("added", "b", 3), ("updated", "a", 4)]


async def test_bookmarks_advance_where_the_next_watch_begins(server: ScriptedServer, informer: Informer) -> None:
    await informer.synced()
    server.revision = 70
    server.bookmark()
    await asyncio.sleep(2)
    server.end_watches()
    await asyncio.sleep(10)
    assert server.watches == [1, 70]


async def test_after_410_a_new_list_yields_the_changes_in_between(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    for name in ("stays", "changes", "goes", "is replaced"):
        server.put(name)
    await informer.synced()
    kept = informer.cache["default/stays"]
    del follower.said[:]
    server.end_watches(Unreachable("gone fishing"))
    server.put("changes")
    server.remove("goes")
    server.remove("is replaced")
    server.put("is replaced", uid="another")
    server.put("comes")
    server.put("comes and goes")
    server.remove("comes and goes")
    server.forget()
    await asyncio.sleep(10)
    assert server.lists == 2
    assert sorted(follower.said) == [
        ("added", "comes", 10),
        ("added", "is replaced", 9),
        ("deleted", "goes", 4),
        ("deleted", "is replaced", 5),
        ("updated", "changes", 6),
    ]
    assert informer.cache["default/stays"] is kept


async def test_a_410_error_in_the_stream_triggers_a_new_list(server: ScriptedServer, informer: Informer) -> None:
    await informer.synced()
    server.end_watches(expired("The resourceVersion for the provided watch is too old."))
    await asyncio.sleep(10)
    assert server.lists == 2


async def test_a_server_that_started_over_is_noticed(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    for name in ("a", "b", "c"):
        server.put(name)
    await informer.synced()
    server.start_over()
    server.put("a", uid="in the new world")
    await asyncio.sleep(1)
    server.bookmark()
    await asyncio.sleep(10)
    assert server.lists == 2
    assert follower.said[-1] == ("added", "a", 2)


async def test_a_revision_that_the_server_never_had_lists_again(server: ScriptedServer, informer: Informer) -> None:
    await informer.synced()
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    server.end_watches(failure(504, "Timeout", "Too large resource version: 9, current: 1", {"causes": causes}))
    await asyncio.sleep(10)
    assert server.lists == 2


@pytest.mark.parametrize("refusal", [Unreachable("connection refused"), unauthorized()])
async def test_waiting_for_a_server_gets_longer_and_longer_up_to_a_limit(
    refusal: Exception, server: ScriptedServer, informer: Informer
) -> None:
    server.refusals = [refusal] * 12
    loop = asyncio.get_running_loop()
    await asyncio.sleep(0.01)
    assert informer.problem
    await informer.synced()
    waits = [0.2 * 2**n * 1.5 for n in range(8)] + [30 * 1.5] * 4
    assert loop.time() == pytest.approx(sum(waits), rel=1e-3)
    assert server.lists == 13


async def test_a_server_that_hangs_up_at_once_is_not_asked_in_a_busy_loop(
    server: ScriptedServer, informer: Informer
) -> None:
    await informer.synced()
    loop = asyncio.get_running_loop()
    until = loop.time() + 60
    while loop.time() < until:
        server.end_watches()
        await asyncio.sleep(0.01)
    assert len(server.watches) < 12


async def test_repeated_and_late_events_are_ignored(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    await informer.synced()
    server.put("a")
    server.put("a")
    server.remove("a")
    server.put("a", uid="second")
    said = list(server.history)
    for event in reversed(said):
        server.repeat(event)
    server.repeat(WatchEvent(EventType.DELETED, pod("never seen", 3)))
    await asyncio.sleep(1)
    assert follower.said == [("added", "a", 2), ("updated", "a", 3), ("deleted", "a", 4), ("added", "a", 5)]
    del server.history[len(said) :]


async def test_what_came_with_a_bad_bookmark_is_not_lost(
    server: ScriptedServer, informer: Informer, follower: _Follower
) -> None:
    await informer.synced()
    server.put("a")
    server.bookmark(1)
    await asyncio.sleep(10)
    del server.history[1:]
    assert follower.said == [("added", "a", 2)]
    assert server.lists >= 2


class _WithoutDevices(ScriptedServer):
    """Does not serve a kind until it is told to."""

    is_served = False

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        if not self.is_served:
            raise no_such_path()
        return Listing([], 1)


@pytest.mark.parametrize(("kind", "waits"), [(KINDS.RESOURCE_CLAIM, False), (KINDS.POD, True)])
async def test_nothing_waits_for_an_optional_kind_that_is_not_served(kind: Kind, waits: bool) -> None:
    server = _WithoutDevices()
    loop = asyncio.get_running_loop()
    informer = Informer(cast(Client, server), kind, lambda deltas: None, now=loop.time, random=lambda: 0.5)
    task = asyncio.create_task(informer.run())
    await asyncio.sleep(5)
    assert informer.has_synced is not waits
    assert "could not find the requested resource" in informer.problem
    server.is_served = True
    await asyncio.sleep(60)
    assert informer.has_synced
    assert informer.revision == 1
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_an_exception_of_the_handler_ends_the_informer() -> None:
    def broken(_: list[Delta]) -> None:
        raise ZeroDivisionError

    server = ScriptedServer()
    server.put("a")
    informer = Informer(cast(Client, server), KINDS.POD, broken)
    with pytest.raises(ZeroDivisionError):
        await informer.run()


def _live_through_anything(seed: int, kind: type[Informer]) -> None:
    dice = random.Random(seed)
    names = [f"p{index}" for index in range(6)]

    def misfortune(server: ScriptedServer) -> Exception | None:
        return dice.choice([None, Unreachable("reset"), expired("too old"), ApiError(unauthorized().status)])

    async def live(server: ScriptedServer) -> None:
        for _ in range(300):
            name = dice.choice(names)
            match dice.randrange(12):
                case 0:
                    server.end_watches(misfortune(server))
                case 1:
                    server.forget()
                    server.end_watches(misfortune(server))
                case 2:
                    server.refusals = [Unreachable("down")] * dice.randrange(3)
                case 3:
                    server.bookmark()
                case 4 | 5 if f"default/{name}" in server.objects:
                    server.remove(name)
                case 6 | 7:
                    await asyncio.sleep(dice.random() * 3)
                case _:
                    fresh = f"default/{name}" not in server.objects
                    uid = str(server.revision) if fresh else server.objects[f"default/{name}"].uid
                    server.put(name, uid)

    async def follow() -> None:
        server = ScriptedServer()
        async with following(server, _Follower(), kind):
            await live(server)

    run_virtual(follow())


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_the_follower_ends_up_with_the_truth(seed: int) -> None:
    _live_through_anything(seed, Informer)


class _LosesOne(Informer):
    def _take(self, events: list[WatchEvent]) -> list[Delta]:
        return super()._take(events[:3])


class _ForgetsToDelete(Informer):
    def _compare(self, listing: Listing) -> list[Delta]:
        return [delta for delta in super()._compare(listing) if delta.new is not None]


class _GoesOnFromTheList(Informer):
    def _take(self, events: list[WatchEvent]) -> list[Delta]:
        revision = self.revision
        deltas = super()._take(events)
        self.revision = revision
        return deltas


@pytest.mark.parametrize("kind", [_LosesOne, _ForgetsToDelete, _GoesOnFromTheList])
def test_an_informer_that_is_broken_would_be_noticed(kind: type[Informer]) -> None:
    def any_seed() -> None:
        for seed in range(20):
            _live_through_anything(seed, kind)

    assert_notices(any_seed)
