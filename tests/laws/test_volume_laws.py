"""Storage kept up to date is storage made anew; mask, slot and explanation agree; no volume is given away twice."""

from collections import Counter
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_storage import EBS, NAMES, World, random_pod
from tests.unit.schedule.clusters import alone, place_best

from moorage.columns.cluster import Cluster
from moorage.columns.storage import Storage, VolumeDecision
from moorage.match.volumes.claims import ClaimKey, ClaimUse, facts_key
from moorage.match.volumes.volume_matching import ClaimMatcher
from moorage.model.gates import default_gates
from moorage.schedule.candidates import Candidates, Engine
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.framework.plugin import Plugin, Profile
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

DRIVERS = ("disk.example.com", EBS)
Law = Callable[[], None]


def cluster_with(storage: type[Storage]) -> Cluster:
    cluster = Cluster()
    cluster.storage = storage(cluster.nodes)
    return cluster


# -- incremental is fresh ---------------------------------------------------------------------------------------------


def known(cluster: Cluster) -> dict[str, Any]:
    """All that plugins read, by names."""
    storage, random = cluster.storage, Random(0)
    host = {slot: one.metadata.name for slot, one in cluster.nodes}
    asked = random_pod(random, "p")
    return {
        "counts": {(d, host[s]): int(storage.attachments.counts(d)[s]) for d in DRIVERS for s in host},
        "limits": {(d, host[s]): int(storage.attachments.limits(d)[s]) for d in DRIVERS for s in host},
        "users": {key: {host[s]: pods for s, pods in users.items()} for key, users in storage.users.items()},
        "classes": {name: sorted(storage.in_class(name)) for name in ("slow", "made")},
        "facts": [facts_key(storage.claim_facts(asked, ClaimUse(name, False))) for name in NAMES],
    }


def incremental_law(storage: type[Storage]) -> Law:
    @LAW_SETTINGS
    @given(st.integers(0, 10**9), st.integers(1, 40))
    def law(seed: int, steps: int) -> None:
        world = World(Random(seed), cluster_with(storage))
        for _ in range(steps):
            world.step()
        assert known(world.cluster) == known(world.rebuilt())

    return law


class CountsOnce(Storage):
    """Broken: what a claim is counted as never changes."""

    def _count_again(self, keys: Iterable[ClaimKey]) -> None:
        pass


class ForgetsNodes(Storage):
    """Broken: a node's slot keeps what was known of the node."""

    def node_leaves(self, name: str) -> None:
        pass


def test_incremental_storage_equals_fresh() -> None:
    incremental_law(Storage)()


@pytest.mark.parametrize("broken", [CountsOnce, ForgetsNodes])
def test_incremental_law_can_fail(broken: type[Storage]) -> None:
    assert_notices(incremental_law(broken))


# -- what is kept does not go stale -----------------------------------------------------------------------------------


def kept_law(plugin: Plugin[Any]) -> Law:
    @LAW_SETTINGS
    @given(st.integers(0, 10**9))
    def law(seed: int) -> None:
        world = World(Random(seed))
        engine = Engine(default_profile(default_gates()), world.cluster)
        asked = random_pod(world.random, "asked")
        kept = alone(plugin, world.cluster, asked)
        if kept.rejection is not None:
            return
        for _ in range(8):
            check_against_fresh(plugin, kept, world.cluster)
            if world.random.random() < 0.5:
                place_best(engine, world.record())
            else:
                world.step()

    return law


def check_against_fresh(plugin: Plugin[Any], kept: Candidates, cluster: Cluster) -> None:
    feasible = kept.feasible()
    fresh = Candidates(Profile("alone", (plugin,), ()), kept.shape, cluster).feasible()
    for slot, _ in cluster.nodes:
        assert bool(feasible[slot]) is bool(fresh[slot])
        for item in kept.filters:
            verdict = item.plugin.explain(item.prepared.want, cluster, slot)
            assert bool(feasible[slot]) is (verdict is None)
            assert item.plugin.filter_slot(item.prepared.want, cluster, slot) is bool(feasible[slot])
    for item in kept.filters:
        refused = np.flatnonzero(cluster.nodes.alive & ~feasible)
        verdicts = (item.plugin.explain(item.prepared.want, cluster, slot) for slot in refused.tolist())
        said = Counter(reason for verdict in verdicts if verdict is not None for reason in verdict.reasons)
        assert item.plugin.reasons(item.prepared.want, cluster, refused) == said


class Deaf(VolumeBinding):
    """Broken: never learns that volumes were taken."""

    def epoch(self, want: Any, cluster: Cluster) -> tuple[int, int]:
        return 0, 0


class Kind(NodeVolumeLimits):
    """Broken: for a single slot, there is always room."""

    def filter_slot(self, want: Any, cluster: Cluster, slot: int) -> bool:
        return True


@pytest.mark.parametrize(
    "plugin", [VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(default_gates()), VolumeZone()]
)
def test_what_plugins_keep_does_not_go_stale(plugin: Plugin[Any]) -> None:
    kept_law(plugin)()


@pytest.mark.parametrize("plugin", [Deaf(default_gates()), Kind()])
def test_staleness_law_can_fail(plugin: Plugin[Any]) -> None:
    assert_notices(kept_law(plugin))


# -- a shape stands for all its pods ----------------------------------------------------------------------------------


def stand_in_law(storage: type[Storage]) -> Law:
    @LAW_SETTINGS
    @given(st.integers(0, 10**9))
    def law(seed: int) -> None:
        world = World(Random(seed), cluster_with(storage))
        cluster = world.cluster
        for _ in range(12):
            world.step()
            record = world.record()
            shared, exact = (cluster.shape_of(record.pod, by_name=by_name) for by_name in (False, True))
            kept = Candidates(VOLUMES, shared, cluster)
            assert (kept.rejection is None) is ((anew := Candidates(VOLUMES, exact, cluster)).rejection is None)
            assert not ((kept.feasible() ^ anew.feasible()) & cluster.nodes.alive).any()

    return law


VOLUMES = Profile(
    "volumes", (VolumeRestrictions(), NodeVolumeLimits(), VolumeBinding(default_gates()), VolumeZone()), ()
)


class Careless(Storage):
    """Broken: it never matters who uses a claim."""

    def _is_contested(self, *of_what: Any) -> bool:
        return False


def test_pods_of_one_shape_cannot_be_told_apart() -> None:
    stand_in_law(Storage)()


def test_stand_in_law_can_fail() -> None:
    assert_notices(stand_in_law(Careless))


# -- promises ---------------------------------------------------------------------------------------------------------


def promises_law(storage: type[Storage]) -> Law:
    @LAW_SETTINGS
    @given(st.integers(0, 10**9))
    def law(seed: int) -> None:
        world = World(Random(seed), cluster_with(storage))
        cluster = world.cluster
        engine = Engine(default_profile(default_gates()), cluster)
        placed = []
        for _ in range(10):
            record = world.record()
            volumes = dict(cluster.storage.volumes)
            slot = place_best(engine, record)
            if slot >= 0:
                placed.append(record)
            for decision in cluster.storage.decisions.get(record.key, ()):
                matcher = ClaimMatcher(cluster.storage.claims[decision.claim])
                taken = volumes.get(decision.volume)
                assert taken is None or matcher.free(taken) or matcher.reserved(taken)
                assert cluster.nodes.node(slot).metadata.name == decision.node
            one_claim_per_volume(cluster.storage)
            if placed and world.random.random() < 0.3:
                back = placed.pop(world.random.randrange(len(placed)))
                cluster.remove_pod(back)
                engine.unreserve(back)
                one_claim_per_volume(cluster.storage)

    return law


def one_claim_per_volume(storage: Storage) -> None:
    """No two claims have one volume, no claim has two, and every volume knows its claim."""
    claim_of: dict[str, ClaimKey] = {}
    volume_of: dict[ClaimKey, str] = {}
    for decision in (decision for decisions in storage.decisions.values() for decision in decisions):
        assert volume_of.setdefault(decision.claim, decision.volume) == decision.volume
        if decision.volume:
            assert claim_of.setdefault(decision.volume, decision.claim) == decision.claim
            reference = storage.volumes[decision.volume].spec.claimRef
            assert reference is not None
            assert (reference.namespace, reference.name) == decision.claim


class Generous(Storage):
    """Broken: promises everything to everybody."""

    def promise(self, pod: str, decisions: tuple[VolumeDecision, ...]) -> None:
        self.decisions[pod] = decisions


class Hasty(Storage):
    """Broken: gives back what another pod relies on."""

    def _forget(self, pod: str) -> tuple[VolumeDecision, ...]:
        decisions = super()._forget(pod)
        self._relied_on.clear()
        return decisions


def test_no_volume_is_given_away_twice() -> None:
    promises_law(Storage)()


@pytest.mark.parametrize("broken", [Generous, Hasty])
def test_promises_law_can_fail(broken: type[Storage]) -> None:
    assert_notices(promises_law(broken))
