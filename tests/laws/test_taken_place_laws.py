"""Laws of the places that a pod waits for: without the pods that are named it would fit there, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_worlds import Dimension, World, worlds
from tests.unit.plan.planning import workload

from moorage.plan import taken_places
from moorage.plan.explain.remedies.trials import passing
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import planned_pods, record_of, why_kept_out
from moorage.plan.taken_places import Owner, places_taken

DIMENSIONS = frozenset({Dimension.PRIORITIES, Dimension.RUNNING_PODS, Dimension.NODE_NAMES})


HOST, ZONE = "kubernetes.io/hostname", "zone"


@st.composite
def crowded_worlds(draw: st.DrawFn) -> World:
    """Draw a world with two more workloads whose pods may not be beside each other, because of rules or host ports."""
    world = draw(worlds(DIMENSIONS))
    for document in world.documents:
        if document["kind"] == "Node":
            labels = {HOST: document["metadata"]["name"], ZONE: draw(st.sampled_from("ab"))}
            document["metadata"].setdefault("labels", {}).update(labels)
    for name in ("one", "two"):
        selector = {"matchLabels": {"app": draw(st.sampled_from(["one", "two"]))}}
        term = {"topologyKey": draw(st.sampled_from([HOST, ZONE])), "labelSelector": selector}
        rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        pods = {"affinity": rule} if draw(st.booleans()) else {}
        made = workload("Deployment", name, "100m", pods, replicas=draw(st.integers(1, 4)))
        if draw(st.booleans()):
            made["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        world.documents.append(made)
    return world


def law_of_places() -> None:
    @LAW_SETTINGS
    @given(crowded_worlds())
    def law(world: World) -> None:
        planner = Planner(Settings(world.gates, others=world.others))
        planner.load_objects(world.documents)
        simulation = planner.build()
        simulation.settle()
        cluster = simulation.cluster
        for pod in planned_pods(simulation):
            if pod.node or why_kept_out(simulation, pod.pod) is not None or pod.reason == "NotCreated":
                continue
            taken = places_taken(simulation, pod.key, pod.pod, (), lambda record: Owner(record.key))
            names = {one.workload for one in taken.by}
            record = record_of(simulation, pod.key, pod.pod)
            engine = simulation.scheduler.engines[pod.pod.spec.schedulerName]
            with cluster.as_if_gone([one for one in list(cluster.pods.values()) if one.key in names and one.slot >= 0]):
                fits = passing(engine.candidates(cluster.refresh(record)))
                assert {name for name, slot in cluster.nodes.slot_of.items() if fits[slot]} == set(taken.nodes)

    law()


def test_without_the_named_pods_the_waiting_one_would_fit_there_and_only_there() -> None:
    law_of_places()


def test_law_notices_occupants_that_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken_places, "_MAX_TRIALS", 1)
    assert_notices(law_of_places)
