"""The laws that hold the scheduler together, on random clusters in which things happen.

The engine decides as a scheduler that is written to be read; many pods at once get what they would get one by one; what
is kept is what would be made anew; nothing is ever over-committed; and looking ahead leaves no trace. (What preemption
may do is in `test_preemption_laws`, what the queue must do in `test_scheduling_laws`.)
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.laws.cluster_picture import Watch, picture
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_history import GATES, History
from tests.laws.reference_scheduler import ReferenceScheduler, overcommitted
from tests.unit.schedule.clusters import play

from moorage.columns import change_log, node_table
from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.codes import LabelColumn
from moorage.columns.pod_classes import UNCHANGED, DomainCounts, PodClasses
from moorage.columns.shape import HostPort
from moorage.columns.slots import Slots
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule import candidates as engine_module
from moorage.schedule import standings
from moorage.schedule.candidates import NO_SLOT, Engine
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.cycle import Action, Bind, Scheduler
from moorage.schedule.framework import wide
from moorage.schedule.framework.plugin import Profile
from moorage.schedule.local_answers import LocalAnswers
from moorage.schedule.plugins.spread_domains import DefaultSelectors
from moorage.schedule.standings import Standings

SERVICES = {"default": {"app": "web"}}
ENOUGH = settings(LAW_SETTINGS, max_examples=examples(70))
UNTIL_NOTICED = settings(LAW_SETTINGS, max_examples=60, phases=(Phase.generate,))
SEEDS = st.integers(0, 2**32)


@contextmanager
def limits_as_in(size: str) -> Iterator[None]:
    """Small clusters, or clusters as small in which the limits that only large ones reach are reached as well.

    Then only the count of a domain matters, as of a host among thousands, and not which one it is; heaps run out,
    arrays grow, logs are cut, and there are more shapes than are kept.
    """
    if size == "small":
        yield
        return
    with (
        patch.object(wide, "_FEW_DOMAINS", 0),
        patch.object(standings, "_LINE", 1),
        patch.object(standings, "_ROOM", 1),
        patch.object(node_table, "Slots", partial(Slots, 1)),
        patch.object(change_log, "_LIMIT", 6),
        patch.object(engine_module, "SHAPES_KEPT", 2),
        patch.object(engine_module, "MOST_SHAPES_KEPT", 2),
    ):
        yield


SIZES = st.sampled_from(["small", "large"])


def _profile() -> Profile:
    selectors = DefaultSelectors()
    for namespace, selector in SERVICES.items():
        selectors.set_service(namespace, "service", selector)
    return default_profile(GATES, selectors=selectors)


PROFILE = _profile()


# -- the engine decides as the reference does -------------------------------------------------------------------------


def check_against_reference(history: History, engine: Engine, record: PodRecord) -> str | None:
    """Which nodes are feasible, what each plugin gives them, and which one is best; returns that one."""
    nodes = history.cluster.nodes
    slot_of = nodes.slot_of
    reference = ReferenceScheduler(history.world, SERVICES)
    candidates = engine.candidates(record.shape)
    best = candidates.best()
    mask = candidates.feasible()
    feasible = reference.feasible(record.pod)
    assert {name for name, slot in slot_of.items() if mask[slot]} == set(feasible)
    assert int(np.count_nonzero(mask)) == len(feasible)
    if feasible:
        table = {
            plugin: {name: int(scores[slot_of[name]]) for name in feasible}
            for plugin, scores in candidates.score_table(mask).items()
            if scores[mask].any()
        }
        assert table == reference.scores(record.pod, feasible)
    tie = {name: int(nodes.tie[slot]) for name, slot in slot_of.items()}
    name = None if best == NO_SLOT else nodes.node(best).metadata.name
    assert name == reference.best(record.pod, tie)
    return name


def law_of_the_reference(profile: Profile, how: settings = ENOUGH) -> None:
    @how
    @given(SEEDS, st.integers(1, 12), SIZES)
    def law(seed: int, pods: int, size: str) -> None:
        with limits_as_in(size):
            history = History(seed)
            engine = Engine(profile, history.cluster)
            for _ in range(pods):
                history.go_on()
                record = history.record(history.pod())
                best = check_against_reference(history, engine, record)
                if best is not None:
                    history.put(record, best)

    law()


def test_the_engine_decides_as_the_reference_does() -> None:
    law_of_the_reference(PROFILE)


def _without(*names: str) -> Profile:
    filters = tuple(plugin for plugin in PROFILE.filters if plugin.name not in names)
    return msgspec.structs.replace(PROFILE, filters=filters)


def _with_weight(name: str, weight: int) -> Profile:
    scores = tuple((plugin, weight if plugin.name == name else old) for plugin, old in PROFILE.scores)
    return msgspec.structs.replace(PROFILE, scores=scores)


_WITH_LAWS_OF_THEIR_OWN = ("Volume", "NodeVolume", "DynamicResources")


def test_a_filter_that_is_missing_is_noticed() -> None:
    for plugin in PROFILE.filters:
        if not plugin.name.startswith(_WITH_LAWS_OF_THEIR_OWN):
            assert_notices(partial(law_of_the_reference, _without(plugin.name), UNTIL_NOTICED))


def test_a_weight_that_is_wrong_is_noticed() -> None:
    for plugin, weight in PROFILE.scores:
        if not plugin.name.startswith(_WITH_LAWS_OF_THEIR_OWN):
            assert_notices(partial(law_of_the_reference, _with_weight(plugin.name, weight + 1), UNTIL_NOTICED))


def test_an_engine_that_does_not_look_again_is_noticed() -> None:
    with patch.object(LocalAnswers, "_repair_some", lambda answers, slots: None):
        assert_notices(partial(law_of_the_reference, PROFILE, UNTIL_NOTICED))


# -- many pods at once, and room for all of them ----------------------------------------------------------------------


def place_all(profile: Profile, cluster: Cluster, pods: Iterable[PodRecord]) -> dict[str, str]:
    """Through queue and cycle, with one engine: which node each gets at its first attempt, if any.

    There may be a second one for a pod that was refused, when a pod it wants near has got a node.
    """
    scheduler = Scheduler({DEFAULT_SCHEDULER: profile}, cluster)
    for record in pods:
        scheduler.add(record, 0.0)
    first: dict[str, Action] = {}
    for action in play(scheduler, 0.0):
        first.setdefault(action.record.key, action)
    return {key: action.node for key, action in first.items() if isinstance(action, Bind)}


def _waiting(history: History, number: int) -> list[Pod]:
    """Pods that nobody deletes and none of which is more important than another."""
    for template in history.templates:
        template["spec"]["priority"] = 0
        template["metadata"].pop("deletionTimestamp", None)
    return [history.pod() for _ in range(number)]


def law_of_batches(profile: Profile, how: settings = ENOUGH) -> None:
    """A fresh engine over a fresh cluster for each pod puts it where one engine puts it that is asked for all."""

    @how
    @given(SEEDS, st.integers(1, 16), SIZES)
    def law(seed: int, number: int, size: str) -> None:
        with limits_as_in(size):
            history = History(seed)
            for _ in range(3):
                history.go_on()
            pods = _waiting(history, number)
            batch = history.rebuilt()
            at_once = place_all(profile, batch, [_record_in(batch, pod) for pod in pods])
            one_by_one: dict[str, str] = {}
            for pod in pods:
                fresh = history.rebuilt()
                record = _record_in(fresh, pod)
                slot = Engine(profile, fresh).find(record)
                if slot != NO_SLOT:
                    one_by_one[record.key] = fresh.nodes.node(slot).metadata.name
                    history.put(history.record(pod), one_by_one[record.key])
            assert at_once == one_by_one

    law()


def _record_in(cluster: Cluster, pod: Pod) -> PodRecord:
    shape = cluster.shape_of(pod, pod.spec.nodeName)
    return PodRecord(f"{pod.metadata.namespace}/{pod.metadata.name}", pod, shape)


def test_many_pods_at_once_get_what_they_get_one_by_one() -> None:
    law_of_batches(PROFILE)


def test_a_batch_that_does_not_count_its_own_pods_is_noticed() -> None:
    with patch.object(LocalAnswers, "_repair", lambda answers, slot: None):
        assert_notices(partial(law_of_batches, PROFILE, UNTIL_NOTICED))


def test_a_batch_that_leaves_nodes_where_they_stood_is_noticed() -> None:
    with patch.object(Standings, "put", lambda standings, slot, key, traits: None):
        assert_notices(partial(law_of_batches, PROFILE, UNTIL_NOTICED))


def law_of_room(profile: Profile, how: settings = ENOUGH) -> None:
    """Whatever is placed, no node holds more than it can, by the plain sums of what its pods ask for."""

    @how
    @given(SEEDS, st.integers(1, 40), SIZES)
    def law(seed: int, number: int, size: str) -> None:
        with limits_as_in(size):
            history = History(seed)
            engine = Engine(profile, history.cluster)
            for pod in _waiting(history, number):
                record = history.record(pod)
                slot = engine.find(record)
                if slot != NO_SLOT:
                    history.put(record, history.cluster.nodes.node(slot).metadata.name)
                elif history.random.random() < 0.3:
                    history.remove_pod()
            assert not overcommitted(history.world)

    law()


def test_no_node_is_over_committed() -> None:
    law_of_room(PROFILE)


def test_over_commitment_is_noticed() -> None:
    assert_notices(partial(law_of_room, _without("NodeResourcesFit"), UNTIL_NOTICED))
    assert_notices(partial(law_of_room, _without("NodePorts"), UNTIL_NOTICED))


# -- what is kept is what would be made anew --------------------------------------------------------------------------


def law_of_columns(make: Callable[[int], Cluster] = Cluster, how: settings = ENOUGH) -> None:
    @how
    @given(SEEDS, st.integers(1, 16), SIZES)
    def law(seed: int, steps: int, size: str) -> None:
        with limits_as_in(size):
            history = History(seed, make(seed), has_volumes=True)
            watch = Watch(history.cluster)
            for _ in range(steps):
                history.go_on()
                watch.catch_up()
            fresh = history.rebuilt()
            assert picture(watch, history.cluster) == picture(Watch(fresh), fresh)

    law()


def test_a_cluster_that_changed_is_like_one_made_at_once() -> None:
    law_of_columns()


class KeepsPorts(Cluster):
    """Broken: ports stay taken."""

    def _use_port(self, port: HostPort, slot: int, by: int) -> None:
        if by > 0:
            super()._use_port(port, slot, by)


class KeepsVolumes(Cluster):
    """Broken: claims and disks stay in use."""

    def _use_volumes(self, record: PodRecord, slot: int, by: int) -> None:
        if by > 0:
            super()._use_volumes(record, slot, by)


class KeepsLabels(Cluster):
    """Broken: a node that changed is still in the domains it was in."""

    def update_node(self, node: Node) -> None:
        with patch.object(LabelColumn, "set", lambda column, slot, value: False):
            super().update_node(node)


class LosesNodesOnly(Cluster):
    """Broken: takes a node out without its pods, as far as amounts go."""

    def remove_node(self, name: str) -> list[PodRecord]:
        free = self.nodes.free("cpu")
        slot, before = self.nodes.slot_of[name], int(free[self.nodes.slot_of[name]])
        stranded = super().remove_node(name)
        free[slot] = before if stranded else 0
        return stranded


def test_a_cluster_that_keeps_too_much_is_noticed() -> None:
    for broken in (KeepsPorts, KeepsVolumes, KeepsLabels, LosesNodesOnly):
        assert_notices(partial(law_of_columns, broken, UNTIL_NOTICED))


def test_a_cluster_that_does_not_follow_is_noticed() -> None:
    twins: tuple[tuple[type, str, Any], ...] = (
        (PodClasses, "namespaces_changed", lambda classes: None),
        (DomainCounts, "follow", lambda domain, slot, counts_here=True: UNCHANGED),
    )
    for owner, method, broken in twins:
        with patch.object(owner, method, broken):
            assert_notices(partial(law_of_columns, how=UNTIL_NOTICED))


# -- looking ahead leaves no trace ------------------------------------------------------------------------------------


class Interrupted(Exception):
    """Something went wrong while looking ahead."""


def law_of_looking_ahead(make: Callable[[int], Cluster] = Cluster, how: settings = ENOUGH) -> None:
    """Inside the block the cluster is one without, or with, the pods; afterwards it is what it was, come what may."""

    @how
    @given(SEEDS, st.integers(1, 8), st.booleans())
    def law(seed: int, steps: int, goes_wrong: bool) -> None:
        history = History(seed, make(seed), has_volumes=True)
        cluster, random = history.cluster, history.random
        for _ in range(steps):
            history.go_on()
            history.run_pod()
        watch = Watch(cluster)
        before = picture(watch, cluster)
        there = list(cluster.pods.values())
        gone = random.sample(there, random.randint(0, len(there)))
        with suppress(Interrupted), cluster.as_if_gone(gone):
            less = history.rebuilt()
            for record in gone:
                less.remove_pod(less.pods[record.key])
            assert picture(watch, cluster) == picture(Watch(less), less)
            if goes_wrong:
                raise Interrupted
        assert picture(watch, cluster) == before
        placed = [(history.record(history.pod()), slot) for slot, _ in cluster.nodes for _ in range(2)]
        with suppress(Interrupted), cluster.as_if_placed(placed):
            more = history.rebuilt()
            for record, slot in placed:
                name = cluster.nodes.node(slot).metadata.name
                more.add_pod(_record_in(more, record.pod), more.nodes.slot_of[name])
            assert picture(watch, cluster) == picture(Watch(more), more)
            if goes_wrong:
                raise Interrupted
        assert picture(watch, cluster) == before

    law()


def test_looking_ahead_leaves_no_trace() -> None:
    law_of_looking_ahead()


class BringsBackAllButOne(Cluster):
    """Broken: the first pod that was to be gone stays gone."""

    @contextmanager
    def as_if_gone(self, records: Iterable[PodRecord]) -> Iterator[None]:
        gone = list(records)
        for record in gone[:1]:
            self.remove_pod(record)
        with super().as_if_gone(gone[1:]):
            yield


class GivesUp(Cluster):
    """Broken: forgets to tidy up if something goes wrong."""

    @contextmanager
    def as_if_placed(self, records: Iterable[tuple[PodRecord, int]]) -> Iterator[None]:
        placed = list(records)
        for record, slot in placed:
            self.add_pod(record, slot)
        yield
        for record, _ in placed:
            self.remove_pod(record)


def test_traces_are_noticed() -> None:
    for broken in (BringsBackAllButOne, GivesUp):
        assert_notices(partial(law_of_looking_ahead, broken, UNTIL_NOTICED))
