"""Leader election in virtual time: never two leaders, and never none for long."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest
from tests.laws.falsify import assert_notices
from tests.unit.client.lease_server import LeaseServer, Line
from tests.virtual_time import run_virtual

from moorage.client.leader_election import (
    Candidate,
    ElectionRecord,
    ElectionTimes,
    LeaderElector,
    LeadershipLost,
    new_identity,
    read_record,
)
from moorage.client.protocol import Client


class _Work:
    """What leaders do: here, to notice whether they are alone."""

    def __init__(self) -> None:
        self.leading: list[str] = []
        self.history: list[str] = []

    def lead(self, name: str) -> Callable[[], Any]:
        async def work() -> None:
            assert self.leading == []
            self.leading.append(name)
            self.history.append(name)
            try:
                await asyncio.sleep(1e9)
            finally:
                self.leading.remove(name)

        return work


def _elector(
    line: Line,
    name: str,
    skew: float = 0.0,
    dice: random.Random | None = None,
    kind: type[LeaderElector] = LeaderElector,
    **options: Any,
) -> LeaderElector:
    """A candidate whose clocks are off by `skew`."""
    loop = asyncio.get_running_loop()
    return kind(
        cast(Client, line),
        "kube-system",
        "sched",
        name,
        now=lambda: loop.time() + skew,
        clock=lambda: 1.7e9 + loop.time() + skew * 1000,
        random=dice.random if dice is not None else lambda: 0.5,
        **options,
    )


async def _cancel(task: "asyncio.Task[None]") -> None:
    """End a candidate. What cancels the caller meanwhile is not swallowed."""
    task.cancel()
    await asyncio.wait((task,))
    with suppress(asyncio.CancelledError, LeadershipLost):
        task.result()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture
def work() -> _Work:
    return _Work()


async def test_one_leads_renews_and_leaves_so_that_the_next_can_take_over_at_once(
    server: LeaseServer, work: _Work
) -> None:
    seen: list[str] = []
    first = asyncio.create_task(_elector(Line(server), "a").run(work.lead("a")))
    await asyncio.sleep(1)
    second = asyncio.create_task(_elector(Line(server), "b", on_new_leader=seen.append).run(work.lead("b")))
    await asyncio.sleep(100)
    assert work.leading == ["a"]
    spec = server.records[-1]
    assert (spec.holder, spec.seconds, spec.transitions) == ("a", 15, 0)
    assert spec.acquired == server.records[0].acquired < spec.renewed
    await _cancel(first)
    assert (server.records[-1].holder, server.records[-1].seconds) == ("", 1)
    await asyncio.sleep(5)
    assert work.leading == ["b"]
    assert server.records[-1].transitions == 1
    assert seen == ["a", "b"]
    await _cancel(second)


async def test_a_leader_that_is_cut_off_stops_before_the_next_begins(server: LeaseServer, work: _Work) -> None:
    line = Line(server)
    first = asyncio.create_task(_elector(line, "a").run(work.lead("a")))
    second = asyncio.create_task(_elector(Line(server), "b", skew=-3600).run(work.lead("b")))
    await asyncio.sleep(30)
    line.is_cut = True
    await asyncio.sleep(13)
    assert work.leading == []
    with pytest.raises(LeadershipLost, match="kube-system/sched"):
        await first
    await asyncio.sleep(10)
    assert work.leading == ["b"]
    await _cancel(second)


async def test_a_short_cut_is_survived(server: LeaseServer, work: _Work) -> None:
    line = Line(server)
    task = asyncio.create_task(_elector(line, "a").run(work.lead("a")))
    for _ in range(10):
        await asyncio.sleep(10)
        line.is_cut = True
        await asyncio.sleep(7)
        line.is_cut = False
    assert work.history == ["a"]
    await _cancel(task)


async def test_work_that_ends_by_itself_ends_the_leadership(server: LeaseServer) -> None:
    async def brief() -> None:
        await asyncio.sleep(5)

    async def broken() -> None:
        raise ZeroDivisionError

    await _elector(Line(server), "a").run(brief)
    assert server.records[-1].holder == ""
    with pytest.raises(ZeroDivisionError):
        await _elector(Line(server), "b").run(broken)
    assert server.records[-1].holder == ""


def _compete(seed: int, kind: type[LeaderElector]) -> None:
    """Three candidates with clocks that disagree, cut off and restarted at random; fails if two ever lead at once."""
    dice = random.Random(seed)

    async def candidate(server: LeaseServer, work: _Work, name: str, skew: float) -> None:
        line = Line(server, dice)
        while True:
            task = asyncio.create_task(_elector(line, name, skew, dice, kind).run(work.lead(name)))
            await asyncio.wait((task,), timeout=dice.uniform(1, 200))
            line.is_cut = dice.random() < 0.3
            if not task.done() and dice.random() < 0.5:
                await asyncio.sleep(dice.uniform(0, 40))
            line.is_cut = False
            await _cancel(task)

    async def compete() -> None:
        server, work = LeaseServer(), _Work()
        skews = (0.0, 1e6, -777.0)
        tasks = [asyncio.create_task(candidate(server, work, f"c{i}", skew)) for i, skew in enumerate(skews)]
        done, _ = await asyncio.wait(tasks, timeout=3000, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()
        assert len(set(work.history)) > 1

    run_virtual(compete())


@pytest.mark.parametrize("seed", range(12))
def test_two_never_lead_at_once_whatever_the_network_does(seed: int) -> None:
    _compete(seed, LeaderElector)


def test_a_leader_that_does_not_stop_in_time_would_be_noticed() -> None:
    class Stubborn(LeaderElector):
        async def _renew(self) -> None:
            await asyncio.sleep(1e9)

    def any_seed() -> None:
        for seed in range(12):
            _compete(seed, Stubborn)

    assert_notices(any_seed)


def test_lease_expiry_counts_from_the_observed_change_not_from_its_timestamp() -> None:
    candidate = Candidate("b", 15)
    held = ElectionRecord("a", 15, "1970-01-01T00:00:00.000000Z", "1970-01-01T00:00:00.000000Z", 3)
    candidate.observe(held, now=100)
    assert candidate.claim(now=114, clock=2e9) is None
    candidate.observe(held, now=114)
    claim = candidate.claim(now=115, clock=2e9)
    assert claim is not None
    assert (claim.holder, claim.transitions) == ("b", 4)
    candidate.observe(held._replace(renewed="2100-01-01T00:00:00.000000Z"), now=115)
    assert candidate.claim(now=116, clock=2e9) is None


def test_a_leader_with_an_expired_lease_reads_before_it_writes() -> None:
    candidate = Candidate("a", 15)
    candidate.wrote(candidate.first_claim(0), began=0)
    assert candidate.renewal(now=14.9, clock=0) is not None
    assert candidate.renewal(now=15, clock=0) is None


@pytest.mark.parametrize(
    "lease", [{}, {"spec": None}, {"spec": []}, {"spec": {"holderIdentity": 7, "leaseTransitions": "x"}}]
)
def test_a_malformed_lease_counts_as_free(lease: dict[str, Any]) -> None:
    assert read_record(lease) == ElectionRecord("", 0, "", "", 0)


@pytest.mark.parametrize("times", [ElectionTimes(10, 10, 2), ElectionTimes(15, 10, 9), ElectionTimes(0, 10, 2)])
def test_times_that_do_not_go_together_are_refused(times: ElectionTimes) -> None:
    with pytest.raises(ValueError, match="must be"):
        LeaderElector(cast(Client, None), "kube-system", "sched", "a", times=times)


def test_identities_are_unique() -> None:
    assert new_identity() != new_identity()
