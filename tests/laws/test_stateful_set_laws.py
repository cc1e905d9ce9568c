"""StatefulSets, whatever happens: once it is quiet, exactly the wanted numbers are there, all of the newest template;
on the way a number is never taken twice, and a pod starts only when all before it are ready.

The real API server, store and controller in virtual time, with a network between them that takes a while. What was lost
a moment ago is not held against the controller. Each law is also run with a controller that is wrong in one place.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.controller_context import controller_context
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.slow_client import SlowClient
from tests.unit.control.stateful_set.stateful_sets import stateful_set
from tests.virtual_cluster import VirtualCluster
from tests.virtual_kubelet import VirtualKubelet
from tests.virtual_time import run_virtual

from moorage.client.protocol import Object, PatchType
from moorage.control.framework.controller import Controller
from moorage.control.framework.workloads import ready_condition
from moorage.control.framework.world import World
from moorage.control.stateful_set.controller import StatefulSetController
from moorage.control.stateful_set.members import parent_and_ordinal
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.workload import StatefulSet
from moorage.serve.resources.objects import prefix_of
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change

Raw = dict[str, Any]
Step = tuple[Any, ...]

_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
_GRACE, _LONG = 15.0, 600.0
_SECONDS_TO_START = {"quick": 0.5, "slow": 4.0, "never": float("inf")}

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("time"), st.sampled_from([0.0, 0.1, 1.0, 5.0, 30.0])),
    st.tuples(st.just("scale"), st.integers(0, 5)),
    st.tuples(st.just("start"), st.integers(0, 3)),
    st.tuples(st.just("image"), st.sampled_from([*_SECONDS_TO_START])),
    st.tuples(st.just("fail pod"), st.integers(0, 9)),
    st.tuples(st.just("delete pod"), st.integers(0, 9)),
    st.tuples(st.just("kill"), st.sampled_from([0.0, 0.5, 20.0])),
)


class Story(NamedTuple):
    """How it begins, how slow the network can be, and what happens."""

    replicas: int
    policy: str
    min_ready_seconds: int
    lag: float
    seed: int
    steps: list[Step]


STORIES = st.builds(
    Story,
    st.integers(0, 5),
    st.sampled_from(["OrderedReady", "OrderedReady", "Parallel"]),
    st.sampled_from([0, 0, 2]),
    st.sampled_from([0.0, 0.2, 2.0]),
    st.integers(0, 1000),
    st.lists(STEPS, min_size=1, max_size=14),
)


class Witness(MemoryStore):
    """Sees every pod. A pod that starts before its time counts, unless something has just been lost or changed."""

    def __init__(self, ordered: bool) -> None:
        super().__init__()
        self.complaints: list[str] = []
        self.excused_until = 0.0
        self._ordered, self._pods, self._start = ordered, dict[int, Pod](), 0

    def excuse(self) -> None:
        self.excused_until = asyncio.get_running_loop().time() + _GRACE

    def _accept(self, key: str, change: Change) -> Awaitable[None] | None:
        stored = change.new or change.old
        assert stored is not None
        if stored.key.startswith(prefix_of(KINDS.STATEFUL_SET)) and change.new is not None:
            ordinals = convert_view(msgspec.json.decode(change.new.value), StatefulSet).spec.ordinals
            self._start = ordinals.start if ordinals is not None else 0
        elif stored.key.startswith(prefix_of(KINDS.POD)):
            ordinal = parent_and_ordinal(stored.key)[1]
            old = self._pods.pop(ordinal, None)
            if change.new is not None:
                new = self._pods[ordinal] = convert_view(msgspec.json.decode(change.new.value), Pod)
                if old is not None and old.metadata.uid != new.metadata.uid:
                    self.complaints.append(f"two pods have number {ordinal}")
                if old is None and self._ordered:
                    self._check_order(ordinal)
        return super()._accept(key, change)

    def _check_order(self, ordinal: int) -> None:
        if asyncio.get_running_loop().time() < self.excused_until:
            return
        ready = {number for number, pod in self._pods.items() if ready_condition(pod) is not None}
        waiting = [number for number in range(self._start, ordinal) if number not in ready]
        if waiting:
            self.complaints.append(f"{ordinal} starts before {waiting} are ready")


class Outcome(NamedTuple):
    """How it ended."""

    wanted: list[int]
    numbers: list[int]
    images: set[str]
    status: Any
    stays: bool
    complaints: list[str]


def _real() -> Iterable[Controller]:
    return (StatefulSetController(controller_context()),)


def _play(story: Story, make: Callable[[], Iterable[Controller]]) -> Outcome:
    return run_virtual(_played(story, make))


async def _played(story: Story, make: Callable[[], Iterable[Controller]]) -> Outcome:
    witness, chance = Witness(story.policy == "OrderedReady"), random.Random(story.seed)

    def starts(pod: Object) -> float:
        return _SECONDS_TO_START[pod.view.spec.containers[0].image]

    async with (
        VirtualCluster.running(
            make,
            store=witness,
            seed=story.seed,
            connect=lambda client: SlowClient(client, lambda: story.lag * chance.random() ** 8),
        ) as cluster,
        VirtualKubelet.running(cluster, starts) as kubelet,
    ):
        wanted = stateful_set(
            replicas=story.replicas,
            image="quick",
            podManagementPolicy=story.policy,
            minReadySeconds=story.min_ready_seconds,
        )
        await cluster.client.create(KINDS.STATEFUL_SET, wanted)
        await cluster.settle(5.0)
        for step in story.steps:
            with suppress(ApiError):
                await _take(cluster, kubelet, witness, *step)
        await _take(cluster, kubelet, witness, "image", "quick")
        for pod in await cluster.all(KINDS.POD):
            # One that never starts holds up all others, as it does everywhere: somebody has to delete it.
            if ready_condition(pod.view) is None:
                await _take(cluster, kubelet, witness, "delete", pod.name)
        await cluster.settle(_LONG)
        before = witness.revision
        await cluster.settle(_LONG)
        view = (await cluster.client.get(KINDS.STATEFUL_SET, "web", "default")).view
        start = view.spec.ordinals.start if view.spec.ordinals is not None else 0
        pods = await cluster.all(KINDS.POD)
        return Outcome(
            list(range(start, start + view.spec.replicas)),
            sorted(parent_and_ordinal(pod.name)[1] for pod in pods),
            {pod.view.spec.containers[0].image for pod in pods},
            view.status,
            witness.revision == before,
            witness.complaints,
        )


async def _take(cluster: VirtualCluster, kubelet: VirtualKubelet, witness: Witness, what: str, amount: Any) -> None:
    changes: dict[str, Raw] = {
        "scale": {"replicas": amount},
        "start": {"ordinals": {"start": amount}},
        "image": {"template": {"spec": {"containers": [{"name": "c", "image": amount}]}}},
    }
    pods = await cluster.all(KINDS.POD)
    if what == "time":
        await cluster.settle(amount)
        return
    witness.excuse()
    if what in changes:
        spec = {"spec": changes[what]}
        await cluster.client.patch(KINDS.STATEFUL_SET, "web", "default", spec, patch_type=PatchType.STRATEGIC)
    elif what == "kill":
        await cluster.stop()
        await cluster.settle(amount)
        await cluster.start()
        witness.excuse()
    elif what == "delete":
        await cluster.client.delete(KINDS.POD, amount, "default")
    elif pods and what == "fail pod":
        await kubelet.fail(pods[amount % len(pods)])
    elif pods:
        await cluster.client.delete(KINDS.POD, pods[amount % len(pods)].name, "default")


def _converges(story: Story, make: Callable[[], Iterable[Controller]] = _real) -> None:
    outcome = _play(story, make)
    assert outcome.numbers == outcome.wanted
    assert outcome.images <= {"quick"}
    status, count = outcome.status, len(outcome.wanted)
    assert (status.replicas, status.readyReplicas, status.availableReplicas) == (count,) * 3
    assert (status.currentReplicas, status.updatedReplicas) == (count, count)
    assert status.currentRevision == status.updateRevision
    assert outcome.stays


def _keeps_order(story: Story, make: Callable[[], Iterable[Controller]] = _real) -> None:
    assert not _play(story, make).complaints


@_SETTINGS
@given(STORIES)
def test_exactly_the_wanted_numbers(story: Story) -> None:
    _converges(story)


@_SETTINGS
@given(STORIES)
def test_no_number_twice_and_none_before_its_time(story: Story) -> None:
    _keeps_order(story)


class _Deaf(StatefulSetController):
    """Does not hear that pods are gone."""

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return () if kind is KINDS.POD and new is None else super().concerns(kind, old, new, world)


def test_the_law_notices_who_does_not_hear_of_deletions() -> None:
    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        _converges(story, lambda: (_Deaf(controller_context()),))

    assert_notices(law)


def test_the_law_notices_who_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    place = "moorage.control.stateful_set.controller"
    monkeypatch.setattr(f"{place}._Round._is_unavailable", lambda self, pod: False)
    monkeypatch.setattr(f"{place}._Round._is_well", lambda self, pod: True)

    @UNTIL_NOTICED
    @given(STORIES)
    def law(story: Story) -> None:
        _keeps_order(story)

    assert_notices(law)
