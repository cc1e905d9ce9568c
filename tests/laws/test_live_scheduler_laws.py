"""The live scheduler, whatever happens: no node is ever over-committed, and in the end it knows what the server knows.

Things happen in any order: pods and nodes come and go, pods are replaced by others of their name, calls are lost before
or after they are carried out, or refused; the watch lags and says things twice; the scheduler is killed and comes back.
Where a second scheduler binds pods as it likes, nobody can keep nodes from being over-committed; all else still holds.
"""

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.schedule.live.fake_api import FakeApi, Fate
from tests.unit.schedule.live.running import run_virtual, running, settle

from moorage.client.informer import Delta
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.schedule.live.binder import Binder
from moorage.schedule.live.loop import LiveScheduler
from moorage.schedule.live.pod_feed import Assumption

CPUS = 4
_PODS, _NODES = 6, 3

Step = tuple[Any, ...]
_FATES = st.lists(st.sampled_from([*Fate, Fate.UNANSWERED]), max_size=6)
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("pod"), st.integers(0, _PODS - 1), st.integers(1, 3)),
    st.tuples(st.just("pod"), st.integers(0, _PODS - 1), st.integers(1, 3)),
    st.tuples(st.just("node"), st.integers(0, _NODES - 1)),
    st.tuples(st.just("drop pod"), st.integers(0, _PODS - 1)),
    st.tuples(st.just("drop node"), st.integers(0, _NODES - 1)),
    st.tuples(st.just("finish"), st.integers(0, _PODS - 1)),
    st.tuples(st.just("touch"), st.integers(0, _PODS - 1)),
    st.tuples(st.just("fates"), _FATES),
    st.tuples(st.just("hold")),
    st.tuples(st.just("release"), st.integers(1, 5)),
    st.tuples(st.just("repeat"), st.integers(0, _PODS - 1)),
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.001, 0.2, 1.0, 15.0])),
    st.tuples(st.just("restart")),
)


class Story(NamedTuple):
    """Pods that are there at the beginning, what becomes of the first calls, whether the watch lags; and the steps."""

    pods: list[int]
    fates: list[Fate]
    lags: bool
    steps: list[Step]


_FOREIGN: st.SearchStrategy[Step] = st.tuples(st.just("foreign"), st.integers(0, _PODS - 1), st.integers(0, _NODES - 1))
STORIES = st.builds(
    Story, st.lists(st.integers(1, 3), min_size=3, max_size=_PODS), _FATES, st.booleans(), st.lists(STEPS, max_size=30)
)


class World:
    """What happens, and what must hold meanwhile."""

    def __init__(self, story: Story, is_alone: bool) -> None:
        self.api = FakeApi()
        self._is_alone = is_alone
        self.fates = list(story.fates)
        self.api.fate = self._fate
        for number in range(2):
            self.api.node(f"n{number}", cpu=str(CPUS))
        for number, cpu in enumerate(story.pods):
            self.api.pod(f"p{number}", cpu=str(cpu))
        self.api.holds = story.lags

    def _fate(self, verb: str, key: str) -> Fate:
        return self.fates.pop(0) if self.fates and verb in ("bind", "get", "patch") else Fate.OK

    def check(self) -> None:
        """No node holds more than it has."""
        if not self._is_alone:
            return
        used: dict[str, int] = {}
        for pod in self.api.objects[KINDS.POD].values():
            node = pod.raw["spec"].get("nodeName", "")
            if node and pod.raw.get("status", {}).get("phase") != "Succeeded":
                cpu = pod.raw["spec"]["containers"][0]["resources"]["requests"]["cpu"]
                used[node] = used.get(node, 0) + int(cpu)
        assert all(amount <= CPUS for amount in used.values()), used

    async def happen(self, step: Step, live: LiveScheduler) -> None:
        api, what = self.api, step[0]
        key = f"default/p{step[1]}" if len(step) > 1 and isinstance(step[1], int) else ""
        if what == "pod" and key not in api.objects[KINDS.POD]:
            api.pod(f"p{step[1]}", cpu=str(step[2]))
        elif what == "node":
            api.node(f"n{step[1]}", cpu=str(CPUS))
        elif what == "drop pod" and key in api.objects[KINDS.POD]:
            api.drop(KINDS.POD, key)
        elif what == "drop node" and f"n{step[1]}" in api.objects[KINDS.NODE]:
            api.drop(KINDS.NODE, f"n{step[1]}")
        elif what == "finish" and key in api.objects[KINDS.POD]:
            api.put(KINDS.POD, {**api.raw(key), "status": {"phase": "Succeeded"}})
        elif what == "touch" and key in api.objects[KINDS.POD]:
            api.put(KINDS.POD, {**api.raw(key), "metadata": {**api.raw(key)["metadata"], "annotations": {"a": "b"}}})
        elif what == "fates":
            self.fates = list(step[1])
        elif what == "hold":
            api.holds = True
        elif what == "release":
            api.release(step[1])
        elif what == "foreign" and key in api.objects[KINDS.POD] and not api.raw(key)["spec"].get("nodeName"):
            api.bind_now(key, "", f"n{step[2]}")
        elif what == "repeat":
            # The last thing that the watch said of the pod is said again.
            said = [e.object for kind, e in api.history[: api.visible] if kind is KINDS.POD and e.object.key == key]
            if said and api.objects[KINDS.POD].get(key) is said[-1]:
                live.feed.handler(KINDS.POD)([Delta(said[-1], said[-1])])
        await settle(step[1] if what == "time" else 0.0)

    async def end(self, live: LiveScheduler) -> None:
        """All faults are over: the scheduler knows what the server knows, and pods that fit have nodes."""
        self.fates = []
        self.api.holds = False
        self.api.release()
        await settle(60)
        self.check()
        assert len(live.assumptions) == 0
        cluster, queue = live.scheduler.cluster, live.scheduler.queue
        for key, pod in self.api.objects[KINDS.POD].items():
            node = pod.raw["spec"].get("nodeName", "")
            if pod.raw.get("status", {}).get("phase") == "Succeeded":
                assert key not in cluster.pods
                assert key not in queue
            elif node:
                record = cluster.pods.get(key)
                there = cluster.nodes.node(record.slot).metadata.name if record is not None else ""
                assert there == (node if node in self.api.objects[KINDS.NODE] else "")
                assert key not in queue
            else:
                assert key in queue
                assert key not in cluster.pods
        assert set(cluster.pods) <= set(self.api.objects[KINDS.POD])
        assert {pod.key for pod in queue} <= set(self.api.objects[KINDS.POD])


CROWDED_STORIES = st.builds(
    Story,
    st.lists(st.integers(1, 3), min_size=3, max_size=_PODS),
    _FATES,
    st.booleans(),
    st.lists(STEPS | _FOREIGN | _FOREIGN, max_size=30),
)


def _play(story: Story, binder: type[Binder] | None = None, is_alone: bool = True) -> None:
    async def whole() -> None:
        world = World(story, is_alone)
        rest = list(story.steps)
        while True:
            async with running(world.api, binder=binder, shapes_to_spare=0) as live:
                while rest and rest[0][0] != "restart":
                    await world.happen(rest.pop(0), live)
                    world.check()
                if not rest:
                    await world.end(live)
                    return
            rest.pop(0)
            await asyncio.sleep(0)

    run_virtual(whole())


@LAW_SETTINGS
@given(STORIES)
def test_no_node_is_over_committed_and_the_scheduler_learns_the_truth(story: Story) -> None:
    _play(story)


@LAW_SETTINGS
@given(CROWDED_STORIES)
def test_the_scheduler_learns_the_truth_beside_another_one(story: Story) -> None:
    _play(story, is_alone=False)


class _TrustingBinder(Binder):
    """Takes a lost answer for a refusal, and gives the node away."""

    async def _bind(self, assumption: Assumption) -> None:
        namespace, _, name = assumption.key.partition("/")
        try:
            await self._client.bind(namespace, name, assumption.uid, assumption.action.node)
        except (Unreachable, ApiError) as error:
            self._failed(assumption, str(error))
        else:
            self._done(assumption)


def test_the_law_notices_a_binder_that_trusts_lost_answers() -> None:
    @LAW_SETTINGS
    @given(STORIES)
    def law(story: Story) -> None:
        _play(story, _TrustingBinder)

    assert_notices(law)


class _ForgetfulBinder(Binder):
    """Takes a refusal for the end of it, and does not look at what became of the pod."""

    async def _bind(self, assumption: Assumption) -> None:
        namespace, _, name = assumption.key.partition("/")
        with suppress(Unreachable, ApiError):
            await self._client.bind(namespace, name, assumption.uid, assumption.action.node)


def test_the_law_notices_a_binder_that_forgets_pods() -> None:
    @LAW_SETTINGS
    @given(CROWDED_STORIES)
    def law(story: Story) -> None:
        _play(story, _ForgetfulBinder, is_alone=False)

    assert_notices(law)
