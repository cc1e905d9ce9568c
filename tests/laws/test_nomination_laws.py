"""Nominated pods on random clusters: a node must do with them and without them, however one asks."""

from collections.abc import Callable
from functools import partial
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_clusters import Scene, build, change, random_pod, scenes

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Scheduler
from moorage.schedule.diagnosis import diagnose
from moorage.schedule.preemption.nominations import NominatedPods, Nominations

SCHEDULER = "default-scheduler"
PROFILE = default_profile(gates_from({"AllAlpha": True}))
Nominate = Callable[[Nominations, Cluster, Random], None]


def _nominate(nominations: Nominations, cluster: Cluster, random: Random) -> None:
    """Some pods are nominated for some nodes; one that was may not be any more."""
    for index in range(random.randint(0, 3)):
        raw = random_pod(random, f"nominee{index}")
        raw["spec"]["priority"] = random.choice([0, 10, 20])
        record = cluster.record(f"default/nominee{index}", convert_view(raw, Pod))
        nominations.add(record, random.choice(sorted(cluster.nodes.slot_of.values())))
    if random.random() < 0.3:
        nominations.remove("default/nominee0")


def _will_do(plain: Candidates, nominations: Nominations, slot: int) -> bool:
    """The definition, word by word."""
    if not plain.passes(slot):
        return False
    important = [r for r in nominations.at(slot).values() if r.priority >= plain.shape.priority]
    with plain.cluster.as_if_placed([(record, slot) for record in important]):
        return plain.passes(slot)


def law_of_nominations(nominate: Nominate) -> None:
    @LAW_SETTINGS
    @given(scenes(), st.integers(0, 2**16))
    def law(scene: Scene, seed: int) -> None:
        random = Random(seed)
        cluster = build(scene)
        scheduler = Scheduler({SCHEDULER: PROFILE}, cluster)
        scene.pod["spec"].pop("nodeName", None)
        shape = cluster.shape_of(convert_view(scene.pod, Pod))
        kept = scheduler.engines[SCHEDULER].candidates(shape)
        for _ in range(3):
            nominate(scheduler.nominations, cluster, random)
            feasible = kept.feasible()
            best = kept.best()
            assert best < 0 or feasible[best]
            plain = Candidates(PROFILE, shape, cluster)
            for slot, _node in cluster.nodes:
                assert bool(feasible[slot]) is kept.passes(slot) is _will_do(plain, scheduler.nominations, slot)
                refusals = (f.plugin.explain(f.prepared.want, cluster, slot) for f in kept.filters)
                if kept.rejection is None and kept.is_considered(slot):
                    assert bool(feasible[slot]) is all(verdict is None for verdict in refusals)
            if kept.rejection is None:
                refused = len(cluster.nodes) - int(feasible.sum())
                assert sum(diagnose(kept).reasons.values()) >= refused
            change(cluster, scene)

    law()


def test_law_of_nominations() -> None:
    law_of_nominations(_nominate)


def test_nominations_that_nobody_hears_of_are_noticed() -> None:
    def silently(nominations: Nominations, cluster: Cluster, random: Random) -> None:
        position = cluster.nodes.changes.position
        _nominate(nominations, cluster, random)
        cluster.nodes.changes.rewind(position)

    assert_notices(partial(law_of_nominations, silently))


def test_every_profile_respects_nominations() -> None:
    scheduler = Scheduler({SCHEDULER: PROFILE}, Cluster())
    assert isinstance(scheduler.engines[SCHEDULER].profile.filters[-1], NominatedPods)
