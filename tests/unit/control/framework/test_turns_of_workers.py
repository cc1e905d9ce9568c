"""A worker that has many keys lets other tasks work between them, also where no key needs the API server."""

import asyncio
from collections.abc import Iterable

import pytest
from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object
from moorage.control.framework import runner
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind

KEYS = 100


class Counting(Controller):
    """Has nothing to do about any key; notes how often another task has worked by then."""

    name = "counting"
    workers = 1
    watches = (KINDS.NODE,)

    def __init__(self) -> None:
        super().__init__(controller_context())
        self.turns = 0
        self.seen: list[int] = []

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self.seen.append(self.turns)
        return NOTHING


async def seen_by(controller: Counting) -> list[int]:
    async with VirtualCluster.running(lambda: [controller]) as cluster:
        (worker,) = cluster.manager.runners
        worker.wake(f"key-{number}" for number in range(KEYS))
        while len(controller.seen) < KEYS:
            await asyncio.sleep(0)
            controller.turns += 1
        return controller.seen


async def test_other_tasks_work_between_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SLICE_SECONDS", 0.0)
    seen = await seen_by(Counting())
    assert len(set(seen)) > KEYS / 2


async def test_they_do_not_between_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SLICE_SECONDS", 3600.0)
    assert len(set(await seen_by(Counting()))) == 1


def test_worlds_in_virtual_time_do_not_depend_on_how_fast_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    hours = iter(range(0, 3600 * 1_000_000, 3600))
    monkeypatch.setattr(runner, "perf_counter", lambda: next(hours))
    assert len(set(run_virtual(seen_by(Counting())))) == 1
    assert len(set(run_virtual(seen_by(Counting()), 0.0))) > KEYS / 2
