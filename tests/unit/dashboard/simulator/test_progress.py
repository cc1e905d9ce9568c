"""Answers and loads end for lack of progress, not after a fixed time: in virtual time, without processes."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from moorage.dashboard.simulator.channel import Channel
from moorage.dashboard.simulator.client import LOAD_SECONDS, Simulator
from moorage.dashboard.simulator.processes import Generation, GenerationInfo
from moorage.dashboard.state.progress import Progress, Teller

_SECONDS = 30.0
_DONE = {"story": "told", "done": True}


class _Worker(Channel):
    """The channel of a process that answers every question by the same steps: a pause, then a part."""

    def __init__(self, steps: list[tuple[float, dict[str, Any]]]) -> None:
        ours, self._other = socket.socketpair()
        super().__init__(ours, "a process")
        self._steps = steps
        self._work: asyncio.Task[None] | None = None

    def send(self, message: dict[str, Any], *passed: socket.socket) -> None:
        if "ask" in message:
            self._work = asyncio.create_task(self._answer(*passed))

    async def _answer(self, asker: socket.socket) -> None:
        with asker:
            for pause, part in self._steps:
                await asyncio.sleep(pause)
                asker.sendall(json.dumps(part).encode() + b"\n")

    async def end(self) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        self.close()
        self._other.close()


async def _answer(*steps: tuple[float, dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    worker = _Worker(list(steps))
    simulator = Simulator()
    simulator._current = _Loaded(worker)
    try:
        async with aclosing(simulator.ask("plan", {}, seconds=_SECONDS)) as parts:
            async for part in parts:
                yield part
    finally:
        await worker.end()


class _Loaded(Generation):
    """A generation whose cluster is loaded."""

    def __init__(self, channel: Channel) -> None:
        self.info = GenerationInfo(1)
        self._channel = channel
        self._users, self._is_retired = 0, False

    def channel(self, *, settled: bool) -> Channel:
        return self._channel


def _sign(done: int) -> dict[str, Any]:
    return {"progress": {"phase": "Playing", "done": done, "total": 0}}


async def test_an_answer_that_says_how_far_it_is_has_more_time() -> None:
    signs = [_sign(number) for number in range(1, 6)]
    parts = [part async for part in _answer(*((20.0, sign) for sign in signs), (20.0, _DONE))]
    assert parts == [*signs, _DONE]
    assert asyncio.get_running_loop().time() == 120.0


async def test_an_answer_without_progress_has_its_time() -> None:
    late = {"error": "took longer than 30 s", "done": True}
    assert [part async for part in _answer((31.0, _DONE))] == [late]
    assert [part async for part in _answer((20.0, _sign(1)), (31.0, _DONE))] == [_sign(1), late]
    # Other parts give it no more time.
    assert [part async for part in _answer((20.0, {"first": 1}), (20.0, _DONE))] == [{"first": 1}, late]


async def test_an_answer_may_not_go_on_for_ever() -> None:
    *signs, last = [part async for part in _answer(*((20.0, _sign(number)) for number in range(100)))]
    assert last == {"error": "took longer than 30 s", "done": True}
    assert len(signs) * 20.0 <= LOAD_SECONDS


class _Loading(Generation):
    """A generation that is made in so many rounds of so many seconds, and says so after each."""

    def __init__(self, simulator: Simulator, rounds: int, seconds: float) -> None:
        self.info, self.problem = GenerationInfo(), ""
        self._simulator, self._rounds, self._seconds = simulator, rounds, seconds
        self.worker = self.built = _Worker([])

    async def make(self) -> bool:
        for number in range(self._rounds):
            await asyncio.sleep(self._seconds)
            self._simulator._progressed(Progress("Simulating", number + 1))
        return True

    def close(self) -> None:
        self.built.close()


@pytest.mark.parametrize(
    ("rounds", "seconds", "problem"),
    [(20, LOAD_SECONDS - 1, ""), (1, LOAD_SECONDS + 1, "loading and planning made no progress for 600 s")],
)
async def test_loading_ends_for_lack_of_progress_only(rounds: int, seconds: float, problem: str) -> None:
    heard: list[Progress | None] = []
    simulator = Simulator(report=heard.append)
    generation = _Loading(simulator, rounds, seconds)
    try:
        assert await simulator._is_usable(generation) is not bool(problem)
        assert generation.problem == problem
        assert heard[-1] is None
        assert len(heard) == (1 if problem else rounds + 1)
    finally:
        await generation.worker.end()


def test_a_teller_tells_at_once_and_then_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("moorage.dashboard.state.progress.time.monotonic", lambda: now[0])
    heard: list[Progress] = []
    teller = Teller(heard.append, "Placing pods")
    for _ in range(10):
        now[0] += 0.125
        teller.tick()
    assert heard == [Progress("Placing pods", done) for done in (0, 2, 4, 6, 8, 10)]
