"""A connection that breaks off after the server has done what it was asked: nothing is done twice."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.log_text import log_text
from tests.slow_client import SlowClient
from tests.unit.control.workloads import only_replica_sets, replica_set
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import VirtualTimeLoop, run_virtual

from moorage.client.lease_fence import LeaseFence
from moorage.client.protocol import Client, NotSent, Object, Unreachable, WatchEvent
from moorage.control.framework.work_queue import FIRST_DELAY, WorkQueue
from moorage.model.kinds import KINDS, Kind
from moorage.serve.requests.loopback import LoopbackClient

Raw = dict[str, Any]

_LAG = 3.0


class Breaking(SlowClient):
    """Answers to some writes of pods never come, and events come late. Without `does` such writes do not happen."""

    def __init__(self, client: Client, answers: list[bool], *, does: bool) -> None:
        super().__init__(client, lambda: 0.0)
        self._answers, self._does = answers, does
        self.asked = 0

    def _breaks(self, kind: Kind) -> bool:
        if kind is not KINDS.POD:
            return False
        self.asked += 1
        return bool(self._answers) and not self._answers.pop(0)

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        breaks = self._breaks(kind)
        if breaks and not self._does:
            raise NotSent("there is no connection")
        made = await super().create(kind, document, namespace)
        if breaks:
            raise Unreachable("the connection was closed")
        return made

    async def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> None:
        breaks = self._breaks(kind)
        if not breaks or self._does:
            await super().delete(kind, name, namespace, **options)
        if breaks:
            raise Unreachable("the connection was closed")

    async def watch(
        self, kind: Kind, revision: int, namespace: str = "", **options: Any
    ) -> AsyncGenerator[list[WatchEvent], None]:
        async for events in super().watch(kind, revision, namespace, **options):
            if kind is KINDS.POD:
                await asyncio.sleep(_LAG)
            yield events


class _Story:
    """Six pods, and then four; the numbers of pods that there were, in order."""

    def __init__(self, answers: list[bool], *, does: bool = True) -> None:
        self._answers, self._does = answers, does
        self.client: Breaking | None = None
        self.counts: list[int] = []

    def _connect(self, client: Client) -> Client:
        self.client = Breaking(client, self._answers, does=self._does)
        return self.client

    async def play(self) -> None:
        async with VirtualCluster.running(only_replica_sets, connect=self._connect) as cluster:
            await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 6))
            await self._look(cluster)
            scaled = {"spec": {"replicas": 4}}
            await cluster.client.patch(KINDS.REPLICA_SET, "web", "default", scaled)
            await self._look(cluster)

    async def _look(self, cluster: VirtualCluster) -> None:
        for _ in range(600):
            await cluster.settle(0.1)
            self.counts.append(len(await cluster.all(KINDS.POD, "default")))


@pytest.mark.parametrize("answers", [[False], [True, False], [True, True, False, False], [True] * 6 + [False, False]])
def test_what_happened_without_an_answer_does_not_happen_again(answers: list[bool]) -> None:
    story = _Story(answers)
    run_virtual(story.play())
    assert max(story.counts) == 6
    assert story.counts[599] == 6
    assert min(story.counts[599:]) == story.counts[-1] == 4


def test_what_did_not_happen_is_done() -> None:
    story = _Story([False, True, False], does=False)
    run_virtual(story.play())
    assert (max(story.counts), story.counts[599], story.counts[-1]) == (6, 6, 4)
    assert story.client is not None
    assert story.client.asked == 6 + 2 + 2


def test_a_server_that_was_away_for_long_is_asked_again_soon() -> None:
    queue = WorkQueue(lambda: 0.0)
    delays = [queue.add_failed("a", 0.0, 10.0) for _ in range(40)]
    assert delays == sorted(delays)
    assert delays[-1] == 10.0
    assert queue.add_failed("a", 0.0) <= 2 * 10.0
    assert queue.add_failed("b", 0.0) == FIRST_DELAY


def test_keys_go_on_soon_after_the_server_is_back() -> None:
    story = _Story([False] * 17, does=False)
    run_virtual(story.play())
    assert story.counts[-1] == 4


async def test_controllers_that_slept_through_their_lease_create_nothing(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    fence = LeaseFence("kube-system/kube-controller-manager", loop.time)

    def connect(client: Client) -> Client:
        assert isinstance(client, LoopbackClient)
        return LoopbackClient(client._api, "controller-manager", None, fence)

    async with VirtualCluster.running(only_replica_sets, connect=connect) as cluster:
        fence.extend(loop.time() + 15)
        await cluster.client.create(KINDS.REPLICA_SET, replica_set("web", 2))
        await cluster.settle(1)
        assert len(await cluster.all(KINDS.POD, "default")) == 2
        loop.pause(20)
        await cluster.client.patch(KINDS.REPLICA_SET, "web", "default", {"spec": {"replicas": 6}})
        await cluster.settle(1)
        assert len(await cluster.all(KINDS.POD, "default")) == 2
    assert fence.refused.is_set()
    assert "The Lease has run out" in log_text(caplog)
    assert "the lease kube-system/kube-controller-manager ran out" in log_text(caplog)
    assert "cannot be reached" not in log_text(caplog)
