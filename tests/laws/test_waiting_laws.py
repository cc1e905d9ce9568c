"""Pods that wait: one is tried for all that are alike, and nothing comes out otherwise than if each had been tried.

Two worlds in which the same things happen: in one, pods share answers, in the other each is tried at every event. Their
pods are always on the same nodes, and those that wait do so in the same place of the queue, for the same plugins, as
long. They may differ once a pod got a node between the attempts of two that are alike, since the second one then has
another answer, in its turn or when the new pod wakes it.
"""

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.laws.random_clusters import Raw
from tests.laws.test_scheduling_laws import World

from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.turns import TELLING_SECONDS, Turns

_LENGTHS = [0.0, 0.0, 0.5, 3.0, 10.0]


class Series(World):
    """A world with many pods of few kinds, as controllers make them; node claims, ports, taints and all."""

    def __init__(self, seed: int, break_it: Callable[[Scheduler], None]) -> None:
        self.templates: list[Raw] = []
        super().__init__(seed, break_it)
        self.attempts = 0
        self.preempts = False
        self.has_crossed = False
        self.told: dict[str, str] = {}

    def pod_comes(self) -> None:
        if len(self.templates) < 3:
            raw = self.random_pod(self.random, "template")
            raw["spec"]["priority"] = self.random.choice([0, 0, 0, 10])
            raw["spec"]["preemptionPolicy"] = "PreemptLowerPriority" if self.preempts else "Never"
            if self.random.random() < 0.5:
                raw["spec"].pop("volumes", None)
            if self.random.random() < 0.4:
                raw["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
            self.templates.append(raw)
        template = self.random.choice(self.templates)
        for _ in range(self.random.randint(1, 4)):
            self.names += 1
            raw = deepcopy(template)
            raw["metadata"]["name"] = f"p{self.names}"
            record = self._record(raw)
            self.pending[record.key] = record
            self.scheduler.add(record, self.now)

    def scheduler_runs(self) -> None:
        self._failed: dict[int, bool] = {}  # shapes without a node, and whether a pod got one since
        super().scheduler_runs()

    def check_bound(self, action: Bind) -> None:
        super().check_bound(action)
        self.has_crossed |= self._failed.get(action.record.shape.number, False)
        self._failed = dict.fromkeys(self._failed, True)

    def check_not_bound(self, action: NoNode) -> None:
        super().check_not_bound(action)
        self.attempts += 1
        self.has_crossed |= self._failed.setdefault(action.record.shape.number, False)
        self.told[action.record.key] = action.message

    def waiting(self) -> dict[str, tuple[Any, ...]]:
        """What becomes of each pod: its place, for whom it waits, since when and how long at least."""
        for pod in self.scheduler.queue:
            self.scheduler.queue._turns.catch_up(pod)
        return {
            pod.key: (pod.place, pod.rejected_by, pod.unschedulable, pod.since, pod.backoff_until)
            for pod in self.scheduler.queue
        }

    def placed(self) -> dict[str, str]:
        nodes = self.cluster.nodes
        return {key: nodes.node(record.slot).metadata.name for key, record in self.cluster.pods.items()}


def _shares(scheduler: Scheduler) -> None:
    """As in a plan: nobody is tried only to be told why."""
    scheduler.queue.tells_reasons = False


def _shares_nothing(scheduler: Scheduler) -> None:
    failed = scheduler.queue.failed
    scheduler.queue.__dict__["failed"] = lambda pod, rejected_by, now, answer="": failed(pod, rejected_by, now)


def law_of_sharing(break_it: Callable[[Scheduler], None], how: settings = LAW_SETTINGS) -> None:
    @how
    @given(st.integers(0, 2**32), st.integers(1, 30))
    def law(seed: int, events: int) -> None:
        worlds = Series(seed, break_it), Series(seed, _shares_nothing)
        lengths = Random(seed)
        for _ in range(events):
            length = lengths.choice(_LENGTHS)
            for world in worlds:
                world.something_happens()
                world.scheduler_runs()
                world.now += length
                world.scheduler_runs()
            shared, alone = worlds
            if alone.has_crossed:
                return
            shared.check_nobody_is_lost()
            assert shared.placed() == alone.placed()
            assert shared.waiting() == alone.waiting()
            assert shared.attempts <= alone.attempts

    law()


def test_law_of_sharing() -> None:
    law_of_sharing(_shares)


@LAW_SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_nobody_of_a_series_waits_in_vain(seed: int, events: int) -> None:
    world = Series(seed, lambda scheduler: None)
    world.preempts = True
    for _ in range(events):
        world.something_happens()
        world.now += world.random.choice(_LENGTHS)
        world.scheduler_runs()
        world.check_nobody_is_lost()
        world.check_nobody_waits_in_vain()


def test_sharing_saves_attempts() -> None:
    def attempts(break_it: Callable[[Scheduler], None]) -> int:
        worlds = [Series(seed, break_it) for seed in range(12)]
        for world in worlds:
            for _ in range(30):
                world.something_happens()
                world.now += 10.0
                world.scheduler_runs()
        return sum(world.attempts for world in worlds)

    assert attempts(_shares) * 1.3 < attempts(_shares_nothing)


@LAW_SETTINGS
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_all_that_are_alike_are_told_the_same_in_the_end(seed: int, events: int) -> None:
    world = Series(seed, lambda scheduler: None)
    for _ in range(events):
        world.something_happens()
        world.scheduler_runs()
    for _ in range(2):  # whom it tries may be told of something new, and then the others are as well
        world.now += TELLING_SECONDS
        world.scheduler_runs()
    for group in world.scheduler.queue.groups():
        if group.shares:
            assert {world.told[key] for key in group.pods} == {group.answer}


# -- broken twins -----------------------------------------------------------------------------------------------------


def _forgets_whose_turn_it_is(scheduler: Scheduler) -> None:
    _shares(scheduler)
    scheduler.queue._turns.__dict__["pass_on"] = lambda now: None


def _forgets_to_count(scheduler: Scheduler) -> None:
    _shares(scheduler)
    scheduler.queue._turns.__dict__["catch_up"] = lambda pod: None


class _WaitsForWhatWas(Turns):
    def _merge(self, group: Any, rejected_by: frozenset[str], now: float) -> None:
        self._fail(group, now)


def _waits_for_what_was(scheduler: Scheduler) -> None:
    _shares(scheduler)
    scheduler.queue._turns.__class__ = _WaitsForWhatWas


def test_turns_that_end_are_noticed() -> None:
    assert_notices(partial(law_of_sharing, _forgets_whose_turn_it_is, UNTIL_NOTICED))


def test_failures_that_are_not_counted_are_noticed() -> None:
    assert_notices(partial(law_of_sharing, _forgets_to_count, UNTIL_NOTICED))


def test_waiting_for_other_plugins_is_noticed() -> None:
    assert_notices(partial(law_of_sharing, _waits_for_what_was, UNTIL_NOTICED))
