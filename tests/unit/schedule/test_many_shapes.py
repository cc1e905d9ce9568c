"""Many shapes in turn: for each, many slots changed since its last pod, and only these are asked about again."""

from random import Random
from typing import Any

import numpy as np
import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, place_best, requests

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates, Engine
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.local_answers import LocalAnswers
from moorage.schedule.standings import Standings

NODES, SHAPES, ROUNDS = 800, 50, 4


def cluster() -> Cluster:
    random = Random(1)
    nodes = []
    for number in range(NODES):
        labels = {"kubernetes.io/hostname": f"n{number}", "zone": random.choice("abc")}
        allocatable = {"cpu": random.choice(["1", "4"]), "memory": random.choice(["2Gi", "8Gi"]), "pods": "3"}
        nodes.append(node(f"n{number}", labels, {"allocatable": allocatable}))
    return cluster_of(*nodes)


def record(there: Cluster, shape: int, number: int, kind: str) -> PodRecord:
    labels = {"app": f"a{shape}"}
    own: Raw = {"labelSelector": {"matchLabels": labels}}
    spec: Raw = {"containers": requests(cpu=f"{100 + 7 * shape}m", memory=f"{100 + 3 * shape}Mi")}
    if kind == "spread":
        spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", **own}
        spec["topologySpreadConstraints"] = [spread]
    elif kind == "avoid":
        term = {"topologyKey": "kubernetes.io/hostname", **own}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif kind == "port":
        spec["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
    raw = {"metadata": {"name": f"p{number}", "namespace": "default", "labels": labels}, "spec": spec}
    return there.record(f"default/p{number}", convert_view(raw, Pod))


def play_in_turn(kind: str) -> None:
    """Place pods of all shapes in turn; each is to get the node that a fresh search finds."""
    there = cluster()
    engine = Engine(default_profile(default_gates()), there)
    for turn in range(ROUNDS):
        for shape in range(SHAPES):
            one = record(there, shape, turn * SHAPES + shape, kind)
            best = Candidates(engine.profile, one.shape, there).best() if turn and shape % 5 == 0 else None
            found = place_best(engine, one)
            assert best is None or found == best


@pytest.mark.parametrize("kind", ["plain", "spread", "avoid", "port"])
def test_pods_of_shapes_in_turn_get_the_best_node(kind: str) -> None:
    play_in_turn(kind)


def test_a_slot_that_keeps_its_old_key_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    put_many = Standings.put_many

    def careless(self: Standings, slots: Any, feasible: Any, keys: Any) -> Any:
        return put_many(self, slots[1:], feasible[1:], keys[1:])

    monkeypatch.setattr(Standings, "put_many", careless)
    with pytest.raises(AssertionError):
        play_in_turn("plain")


def test_all_slots_are_asked_about_once_for_each_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"all": 0, "some": 0}
    rebuild, repair_many = LocalAnswers._rebuild, LocalAnswers._repair_many

    def count_all(self: LocalAnswers) -> None:
        asked["all"] += 1
        rebuild(self)

    def count_some(self: LocalAnswers, slots: Any) -> None:
        asked["some"] += len(slots)
        repair_many(self, slots)

    monkeypatch.setattr(LocalAnswers, "_rebuild", count_all)
    monkeypatch.setattr(LocalAnswers, "_repair_many", count_some)
    there = cluster()
    engine = Engine(default_profile(default_gates()), there)
    for number in range(ROUNDS * SHAPES):
        place_best(engine, record(there, number % SHAPES, number, "plain"))
    assert asked["all"] == SHAPES
    assert 0 < asked["some"] <= (ROUNDS - 1) * SHAPES * SHAPES


def test_standings_after_many_changes() -> None:
    standings = Standings()
    keys = np.array([5, 9, 7, 3], np.int64)
    standings.rebuild(np.array([True, True, True, False]), keys, [np.zeros(4, np.int64)])
    assert standings.front(0) == 1
    slots = np.array([1, 2, 3], np.int64)
    new = standings.put_many(slots, np.array([True, False, True]), np.array([4, 7, 8], np.int64))
    assert new.tolist() == [3]
    standings.put(3, 8, (0,))
    standings.settle()
    assert (standings.front(0), standings.tops.tolist(), standings.sizes.tolist()) == (3, [8], [3])
    standings.put(3, 1, (0,))
    standings.settle()
    assert standings.front(0) == 0
