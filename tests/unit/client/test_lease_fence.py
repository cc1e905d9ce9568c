"""Leaders that are stopped for longer than their Lease, in virtual time: they write nothing when they go on."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from tests.laws.falsify import assert_notices
from tests.unit.client.lease_server import LeaseServer, Line
from tests.unit.client.small_server import Asked, Reply, small_server
from tests.virtual_time import VirtualTimeLoop, run_virtual

from moorage.client.event_sender import EventAction, EventSender
from moorage.client.http_client import HttpClient
from moorage.client.leader_election import ElectionRecord, LeaderElector, LeadershipLost
from moorage.client.lease_fence import LeaseFence, LeaseRanOut
from moorage.client.protocol import Client, NotSent
from moorage.model.kinds import KINDS

_LEASE = 15
_LOCK = "kube-system/sched"


class _World(LeaseServer):
    """The Lease, whatever else leaders write, and a rival who takes the Lease when it has run out."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop
        self._put_at = 0.0
        self.writes: list[float] = []

    def put(self, document: dict[str, Any]) -> Any:
        self._put_at = self._loop.time()
        return super().put(document)

    @property
    def holder(self) -> str:
        return self.records[-1].holder if self.records else ""

    def _hand_to(self, holder: str, seconds: int) -> None:
        if self.lease is not None:
            record = ElectionRecord(holder, seconds, "then", f"at {self._loop.time()}", 1)
            self.put({**self.lease, "spec": record.spec()})

    def pause(self, seconds: float) -> None:
        """Stop the process of the leader; the rival's goes on."""
        self._loop.pause(seconds)
        if self._loop.time() >= self._put_at + _LEASE:
            self._hand_to("rival", _LEASE)

    def free(self) -> None:
        if self.holder == "rival":
            self._hand_to("", 1)

    def write(self, fence: LeaseFence) -> None:
        """Write as a client does that has a fence."""
        fence.check()
        self.writes.append(self._loop.time())
        assert self.holder == "a", "one writes while another one leads"


def _new_world() -> _World:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return _World(loop)


def _elector(world: _World, line: Line, make: Callable[..., LeaseFence] = LeaseFence) -> LeaderElector:
    loop = asyncio.get_running_loop()
    fence = make(_LOCK, loop.time)
    client = cast(Client, line)
    return LeaderElector(client, "kube-system", "sched", "a", now=loop.time, random=lambda: 0.5, fence=fence)


async def test_a_leader_that_slept_through_its_lease_writes_nothing_and_stops() -> None:
    world = _new_world()
    elector = _elector(world, Line(world))

    async def lead() -> None:
        while True:
            await asyncio.sleep(0.3)
            with suppress(NotSent):  # as components do: they try again
                world.write(elector.fence)

    task = asyncio.create_task(elector.run(lead))
    await asyncio.sleep(30)
    before = len(world.writes)
    assert before == 99
    world.pause(20)
    with pytest.raises(LeadershipLost, match=r"^failed to renew lease kube-system/sched: .* ran out [345]\.\d s ago$"):
        await task
    assert len(world.writes) == before
    assert world.holder == "rival"


async def test_a_leader_goes_on_after_a_shorter_pause() -> None:
    world = _new_world()
    elector = _elector(world, Line(world))

    async def lead() -> None:
        while True:
            await asyncio.sleep(0.3)
            world.write(elector.fence)

    task = asyncio.create_task(elector.run(lead))
    for _ in range(20):
        await asyncio.sleep(10)
        world.pause(9.5)
    before = len(world.writes)
    await asyncio.sleep(10)
    assert len(world.writes) > before
    task.cancel()
    await asyncio.wait((task,))
    assert world.holder == ""
    with pytest.raises(LeaseRanOut, match=r"^the write was not sent: the lease kube-system/sched is not held$"):
        elector.fence.check()


async def test_work_that_ends_with_a_refused_write_has_lost_the_lease() -> None:
    world = _new_world()
    elector = _elector(world, Line(world))

    async def lead() -> None:
        await asyncio.sleep(5)
        world.pause(20)
        world.write(elector.fence)

    with pytest.raises(LeadershipLost):
        await elector.run(lead)
    assert world.writes == []


def _pause_at_random(seed: int, make: Callable[..., LeaseFence] = LeaseFence) -> None:
    """Stop a leader for random times between and during its renewals; fails if it ever writes while another leads."""
    dice = random.Random(seed)

    async def main() -> None:
        world = _new_world()
        losses: list[LeadershipLost] = []

        async def candidate() -> None:
            while True:
                elector = _elector(world, Line(world, dice), make)

                async def writer(fence: LeaseFence = elector.fence) -> None:
                    while True:
                        await asyncio.sleep(dice.uniform(0, 0.5))
                        with suppress(NotSent):
                            world.write(fence)

                async def lead(writer: Callable[[], Awaitable[None]] = writer) -> None:
                    await asyncio.gather(writer(), writer(), writer())

                try:
                    await elector.run(lead)
                except LeadershipLost as error:
                    losses.append(error)

        async def chaos() -> None:
            for _ in range(100):
                await asyncio.sleep(dice.uniform(0, 30))
                world.pause(dice.choice((0.1, 5, 11, 12, 13, 14, 16, 20, 40)))
                await asyncio.sleep(dice.uniform(0, 10))
                world.free()

        tasks = asyncio.create_task(candidate()), asyncio.create_task(chaos())
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if not task.done():
                task.cancel()
                await asyncio.wait((task,))
            elif not task.cancelled():
                task.result()
        assert any("ran out" in str(error) for error in losses)
        assert len(world.writes) > 100

    run_virtual(main())


@pytest.mark.parametrize("seed", range(12))
def test_a_leader_never_writes_while_another_one_leads_however_it_is_paused(seed: int) -> None:
    _pause_at_random(seed)


class _Open(LeaseFence):
    def check(self) -> None:
        return


class _FromAnswers(LeaseFence):
    """Counts from the answer to a renewal instead of from its beginning."""

    def extend(self, until: float) -> None:
        super().extend(self._now() + _LEASE)


@pytest.mark.parametrize("twin", [_Open, _FromAnswers])
def test_a_fence_with_a_gap_would_be_noticed(twin: Callable[..., LeaseFence]) -> None:
    def any_seed() -> None:
        for seed in range(12):
            _pause_at_random(seed, twin)

    assert_notices(any_seed)


class _Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


_POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "x", "resourceVersion": "1"}}
_WRITES: dict[str, Callable[[HttpClient], Awaitable[Any]]] = {
    "create": lambda client: client.create(KINDS.POD, _POD),
    "update": lambda client: client.update(KINDS.POD, _POD),
    "patch": lambda client: client.patch(KINDS.POD, "a", "x", {}),
    "delete": lambda client: client.delete(KINDS.POD, "a", "x"),
    "bind": lambda client: client.bind("x", "a", "u", "n"),
    "evict": lambda client: client.evict("x", "a"),
}


@pytest.mark.real_time
@pytest.mark.parametrize("write", _WRITES.values(), ids=_WRITES)
async def test_http_writes_of_every_verb_are_refused_and_reads_go_on(
    write: Callable[[HttpClient], Awaitable[Any]],
) -> None:
    async def answer(asked: Asked, reply: Reply) -> None:
        reply.say(200, _POD)

    clock = _Clock()
    fence = LeaseFence(_LOCK, clock)
    async with small_server(answer) as (server, access):
        client = HttpClient(access, "test", fence=fence)
        fence.extend(15)
        clock.time = 14.9
        await write(client)
        assert len(server.asked) == 1
        clock.time = 17.5
        with pytest.raises(
            LeaseRanOut, match=r"^the write was not sent: the lease kube-system/sched ran out 2\.5 s ago$"
        ):
            await write(client)
        fence.extend(100)  # too late: the leader stops
        with pytest.raises(LeaseRanOut):
            await write(client)
        assert len(server.asked) == 1
        await client.get(KINDS.POD, "a", "x")
        assert (len(server.asked), server.connections) == (2, 1)
        await client.close()


@pytest.mark.real_time
async def test_a_write_is_not_repeated_after_the_lease_ran_out() -> None:
    clock = _Clock()
    fence = LeaseFence(_LOCK, clock)

    async def answer(asked: Asked, reply: Reply) -> None:
        reply.say(429, {}, "Retry-After: 3\r\n")

    async def sleep(seconds: float) -> None:
        clock.time += seconds

    async with small_server(answer) as (server, access):
        client = HttpClient(access, "test", fence=fence, sleep=sleep)
        fence.extend(7)
        with pytest.raises(LeaseRanOut):
            await client.create(KINDS.POD, _POD)
        assert len(server.asked) == 3
        await client.close()


@pytest.mark.real_time
async def test_a_write_that_waited_for_a_connection_is_not_sent_after_the_lease_ran_out() -> None:
    clock = _Clock()
    fence = LeaseFence(_LOCK, clock)

    async def answer(asked: Asked, reply: Reply) -> None:
        clock.time = 16
        reply.say(200, _POD)

    async with small_server(answer) as (server, access):
        client = HttpClient(access, "test", fence=fence, most_connections=1)
        fence.extend(15)
        writes = (client.bind("x", f"pod-{number}", "u", "n") for number in range(5))
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [type(None)] + [LeaseRanOut] * 4
        assert len(server.asked) == 1
        await client.close()


async def test_events_are_given_up_when_the_lease_ran_out() -> None:
    fence = LeaseFence(_LOCK, asyncio.get_running_loop().time)

    class _Fenced:
        async def create(self, kind: Any, document: Any, namespace: str = "") -> None:
            fence.check()

    sender = EventSender(cast(Client, _Fenced()))
    running = asyncio.create_task(sender.run())
    fence.extend(15)
    for wait in (1, 20):
        sender.put(EventAction(KINDS.EVENT, {"metadata": {"name": f"e{wait}", "namespace": "x"}}))
        await asyncio.sleep(wait)
    sender.put(EventAction(KINDS.EVENT, {"metadata": {"name": "late", "namespace": "x"}}))
    began = asyncio.get_running_loop().time()
    await sender.drain(2)
    assert asyncio.get_running_loop().time() == began
    assert (sender.sent, sender.failed) == (2, 1)
    running.cancel()
    await asyncio.wait((running,))
