"""Shapes that need the same share what local plugins answer, and each still gets the node that it would get alone.

The pods of a world differ in labels, namespace, priority and terms about other pods; some need the same. Pods are
nominated, come and go, and nodes change between the questions.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.laws.random_clusters import NAMESPACES, Raw, build, change, random_pod, random_scene
from tests.unit.schedule.clusters import cluster_of, node, place_best, requests

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape, needs_key
from moorage.model.gates import default_gates, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule import candidates
from moorage.schedule.candidates import NO_SLOT, Candidates, Engine
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Scheduler
from moorage.schedule.framework.plugin import Plugin, Prepared
from moorage.schedule.local_answers import LocalAnswers
from moorage.schedule.preemption.nominations import NominatedPods

PROFILE = default_profile(gates_from({"AllAlpha": True}))
SETTINGS = settings(LAW_SETTINGS, max_examples=examples(60))
KINDS = 3  # of needs
PODS = 12


def pod_like(random: Random, needs: Raw, name: str) -> Raw:
    """A pod that needs what `needs` does, and is otherwise like any."""
    other = random_pod(random, name)
    spec = {**needs["spec"], "priority": random.choice([0, 5])}
    affinity = {key: value for key, value in spec.get("affinity", {}).items() if key == "nodeAffinity"}
    if random.random() < 0.4:
        affinity |= {k: v for k, v in other["spec"].get("affinity", {}).items() if k != "nodeAffinity"}
    spec["affinity"] = affinity
    spec["topologySpreadConstraints"] = []
    if random.random() < 0.3:
        spec["topologySpreadConstraints"] = other["spec"].get("topologySpreadConstraints", [])
    return {"metadata": {**other["metadata"], "namespace": random.choice(sorted(NAMESPACES))}, "spec": spec}


def every_shape_gets_its_node(seed: int, nodes: int) -> None:
    scene, random = random_scene(seed, nodes, 4), Random(seed + 1)
    cluster = build(scene)
    scheduler = Scheduler({"default-scheduler": PROFILE}, cluster)
    engine, nominations = scheduler.engines["default-scheduler"], scheduler.nominations
    kinds = [random_pod(random, f"kind{number}") for number in range(KINDS)]
    records: list[PodRecord] = []
    for number in range(PODS):
        raw = pod_like(random, random.choice(kinds), f"like{number}")
        records.append(cluster.record(f"like{number}", convert_view(raw, Pod)))
    for turn in range(2):
        for record in records:
            compare(engine, cluster, record)
            slot = engine.find(record)
            if record.slot < 0 and slot != NO_SLOT and not record.claims and not record.shape.devices:
                cluster.add_pod(record, slot)
            elif record.slot < 0 and random.random() < 0.5:
                nominations.add(record, random.choice(sorted(cluster.nodes.slot_of.values())))
        for record in random.sample(records, 4):
            if record.slot >= 0:
                cluster.remove_pod(record)
            nominations.forget(record.key)
        if not turn:
            change(cluster, scene)
        for record in records:
            compare(engine, cluster, record)


def compare(engine: Engine, cluster: Cluster, record: PodRecord) -> None:
    shape = cluster.refresh(record)
    alone = Candidates(engine.profile, shape, cluster)
    kept = engine.candidates(shape)
    assert kept.best() == alone.best()
    assert (kept.feasible() & cluster.nodes.alive).tolist() == (alone.feasible() & cluster.nodes.alive).tolist()


def law(how: settings = SETTINGS) -> Callable[[], None]:
    return how(given(st.integers(0, 2**32), st.integers(1, 5))(every_shape_gets_its_node))


test_every_shape_gets_its_node = law()


def by_images(shape: Shape) -> bytes | None:
    return str(shape.images).encode() if needs_key(shape) is not None else None


def test_a_key_that_leaves_out_needs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "needs_key", by_images)
    assert_notices(law(UNTIL_NOTICED))


def test_a_ranking_that_is_shared_in_spite_of_nominations_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NominatedPods, "is_idle", lambda *_: True)
    assert_notices(law(UNTIL_NOTICED))


# -- what it costs ----------------------------------------------------------------------------------------------------


def asked_about_all(monkeypatch: pytest.MonkeyPatch, spec: Raw) -> int:
    """How often all slots are asked about for 120 pods of 60 shapes with two kinds of needs."""
    asked = 0
    rebuild = LocalAnswers._rebuild

    def count(self: LocalAnswers) -> None:
        nonlocal asked
        asked += 1
        rebuild(self)

    there = cluster_of(*(node(f"n{number}", {}, {"allocatable": {"cpu": "9", "pods": "9"}}) for number in range(20)))
    engine = Engine(default_profile(default_gates()), there)
    with monkeypatch.context() as patch:
        patch.setattr(LocalAnswers, "_rebuild", count)
        for number in range(120):
            labels = {"job-name": f"j{number % 60}"}
            own: Raw = {**spec, "containers": requests(cpu=f"{number % 2 + 1}m")}
            raw = {"metadata": {"name": f"p{number}", "namespace": "default", "labels": labels}, "spec": own}
            assert place_best(engine, there.record(f"default/p{number}", convert_view(raw, Pod))) != NO_SLOT
    assert len({shape.number for shape in there.shapes}) == 60
    return asked


SPREAD: Raw = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"job-name": "j1"}},
        }
    ]
}


@pytest.mark.parametrize("spec", [{}, SPREAD])
def test_all_slots_are_asked_about_once_for_each_kind_of_needs(monkeypatch: pytest.MonkeyPatch, spec: Raw) -> None:
    assert asked_about_all(monkeypatch, spec) == 2


def test_answers_that_are_not_shared_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "needs_key", lambda shape: str(shape.number).encode())
    assert asked_about_all(monkeypatch, {}) >= 60


def test_a_plugin_that_does_not_answer_by_needs_is_asked_for_each_shape() -> None:
    class Vip(Plugin[str]):
        name = "Vip"

        def prepare(self, shape: Shape, cluster: Cluster) -> Any:
            return Prepared(shape.labels.get("on", ""), scores=False)

        def filter_slot(self, want: str, cluster: Cluster, slot: int) -> bool:
            return cluster.nodes.node(slot).metadata.name == want

    there = cluster_of(*(node(f"n{number}", {}, {"allocatable": {"cpu": "9", "pods": "9"}}) for number in range(3)))
    usual = default_profile(default_gates())
    profile = type(usual)(usual.name, (*usual.filters, Vip()), usual.scores)
    engine = Engine(profile, there)
    for name in ("n2", "n0", "n1", "n0"):
        raw = {"metadata": {"name": f"p-{name}", "namespace": "default", "labels": {"on": name}}}
        raw["spec"] = {"containers": requests(cpu="1")}  # type: ignore[dict-item]
        record = there.record(f"default/p-{name}", convert_view(raw, Pod))
        assert engine.find(record) == there.nodes.slot_of[name]
    assert engine.answers_kept == 1


def test_retired_shapes_leave_no_answers() -> None:
    there = cluster_of(node("n", {}, {"allocatable": {"cpu": "9", "pods": "9"}}))
    engine = Engine(default_profile(default_gates()), there)
    records = []
    for number in range(4):
        raw: Raw = {"metadata": {"name": f"p{number}"}, "spec": {"containers": requests(cpu=f"{number + 1}m")}}
        records.append(there.record(f"default/p{number}", convert_view(raw, Pod)))
        engine.find(records[-1])
    assert engine.answers_kept == 4
    engine.retire(there.retire_shapes([records[0].shape]))
    assert engine.answers_kept == 1
