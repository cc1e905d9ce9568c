"""Preemption on random clusters: nobody as important is evicted, nobody in vain, and looking leaves no trace."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.laws.random_clusters import Raw, Scene, build, change, scenes

from moorage.columns.cluster import Cluster
from moorage.columns.priority_levels import PriorityLevels
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.preemption.preemption import DefaultPreemption, PreemptionResult
from moorage.schedule.preemption.victim_table import DisruptionBudgets, Selection, VictimTable, select_victims

GATES = gates_from({"AllAlpha": True})
Preempt = Callable[[Candidates, DisruptionBudgets], PreemptionResult]


def _preempt(candidates: Candidates, budgets: DisruptionBudgets) -> PreemptionResult:
    return DefaultPreemption(candidates.cluster, budgets).preempt(candidates)


def _with_priorities(scene: Scene, seed: int) -> Scene:
    """Priorities and start times all over the place, and a pod that is more important than most."""
    random = Random(seed)
    for _, raw in scene.pods:
        raw["spec"]["priority"] = random.choice([0, 5, 10, 60])
        raw["status"] = {"startTime": f"2026-01-0{random.randint(1, 9)}T00:00:00Z"} if random.random() < 0.8 else {}
    scene.pod["spec"]["priority"] = 50
    scene.pod["spec"].pop("nodeName", None)
    return scene


def _budgets(seed: int) -> DisruptionBudgets:
    random = Random(seed)
    budgets = DisruptionBudgets()
    for app in ("web", "db"):
        spec: Raw = {"selector": {"matchLabels": {"app": app}}, random.choice(["minAvailable", "maxUnavailable"]): 1}
        status: Raw = random.choice([{}, {"disruptionsAllowed": random.randint(0, 1), "currentHealthy": 1}])
        raw = {"metadata": {"name": app, "namespace": "default"}, "spec": spec, "status": status}
        if random.random() < 0.6:
            budgets.set(convert_view(raw, PodDisruptionBudget))
    return budgets


def _candidates(cluster: Cluster, raw: Raw) -> Candidates:
    pod = convert_view(raw, Pod)
    return Candidates(default_profile(GATES), cluster.shape_of(pod), cluster)


def _picture(cluster: Cluster) -> Any:
    nodes = cluster.nodes
    free = {resource: nodes.free(resource).tolist() for resource in ("cpu", "memory", "pods", "example.com/gpu")}
    return free, [sorted(there) for there in cluster.pods_on], sorted(cluster.pods), sorted(cluster.port_users)


def law_victims(preempt: Preempt, often: settings = LAW_SETTINGS) -> None:
    """Victims are less important, evicting them makes room, and of those that block the pod nobody could be spared."""

    @often
    @given(scenes(), st.integers(0, 2**16))
    def law(scene: Scene, seed: int) -> None:
        cluster = build(_with_priorities(scene, seed))
        candidates = _candidates(cluster, scene.pod)
        if candidates.best() != NO_SLOT:
            return
        before = _picture(cluster)
        selection = preempt(candidates, _budgets(seed)).selection
        assert _picture(cluster) == before
        if selection is None:
            return
        assert selection.victims
        assert all(victim.priority < candidates.shape.priority for victim in selection.victims)
        with cluster.as_if_gone(selection.victims):
            assert candidates.passes(selection.slot)
            assert candidates.feasible()[selection.slot]
        if all(item.plugin.local for item in candidates.deciding):
            for victim in selection.victims:
                with cluster.as_if_gone(v for v in selection.victims if v is not victim):
                    assert not candidates.passes(selection.slot)

    law()


def test_victims() -> None:
    law_victims(_preempt)


def _evict_everybody(candidates: Candidates, budgets: DisruptionBudgets) -> PreemptionResult:
    """Broken: does not let anybody come back."""
    outcome = _preempt(candidates, budgets)
    if outcome.selection is None:
        return outcome
    slot = outcome.selection.slot
    there = candidates.cluster.pods_on[slot].values()
    return PreemptionResult(Selection(slot, tuple(r for r in there if r.priority < candidates.shape.priority), 0))


def _evict_anybody(candidates: Candidates, budgets: DisruptionBudgets) -> PreemptionResult:
    """Broken: does not look at priorities."""
    outcome = _preempt(candidates, budgets)
    if outcome.selection is None:
        return outcome
    slot = outcome.selection.slot
    return PreemptionResult(Selection(slot, tuple(candidates.cluster.pods_on[slot].values()), 0))


def test_victims_that_could_be_spared_are_noticed() -> None:
    assert_notices(partial(law_victims, _evict_everybody, UNTIL_NOTICED))


def test_important_victims_are_noticed() -> None:
    assert_notices(partial(law_victims, _evict_anybody, UNTIL_NOTICED))


# -- the table --------------------------------------------------------------------------------------------------------

Cheapest = Callable[[VictimTable], Selection | None]


def _of(selection: Selection | None) -> Any:
    return None if selection is None else (selection.slot, [v.key for v in selection.victims], selection.violations)


def _naive(candidates: Candidates, budgets: DisruptionBudgets) -> Any:
    """Look at every node, one after the other."""
    cluster = candidates.cluster
    found = []
    for slot, _ in cluster.nodes:
        first = next(
            (
                verdict
                for item in candidates.filters
                if (verdict := item.plugin.explain(item.prepared.want, cluster, slot)) is not None
            ),
            None,
        )
        lower = any(r.priority < candidates.shape.priority for r in cluster.pods_on[slot].values())
        if candidates.is_considered(slot) and first is not None and first.code == "Unschedulable" and lower:
            result = select_victims(candidates, slot, budgets)
            if isinstance(result, Selection) and result.victims:
                found.append(result)
    return _of(min(found, key=lambda s: _price(s, cluster), default=None))


def _price(selection: Selection, cluster: Cluster) -> Any:
    victims = selection.victims
    return (
        selection.violations,
        max(v.priority for v in victims),
        sum(v.priority + 2**31 for v in victims),
        len(victims),
        -selection.earliest_start,
        -int(cluster.nodes.tie[selection.slot]),
    )


def law_table(cheapest: Cheapest, often: settings = LAW_SETTINGS) -> None:
    """What is kept while the cluster changes is what one finds when one looks everywhere."""

    @often
    @given(scenes(), st.integers(0, 2**16))
    def law(scene: Scene, seed: int) -> None:
        cluster = build(_with_priorities(scene, seed))
        budgets = _budgets(seed)
        candidates = _candidates(cluster, scene.pod)
        if candidates.rejection is not None:
            return
        table = VictimTable(candidates, budgets, PriorityLevels(cluster))
        for index in range(4):
            selection = cheapest(table)
            assert _of(selection) == _naive(candidates, budgets)
            fresh = _candidates(cluster, scene.pod)
            assert (candidates.feasible() == fresh.feasible()).all()
            assert candidates.best() == fresh.best()
            if selection is None:
                change(cluster, scene)
                continue
            for victim in selection.victims:
                cluster.remove_pod(victim)
            cluster.add_pod(cluster.record(f"preemptor {index}", convert_view(scene.pod, Pod)), selection.slot)

    law()


def test_table() -> None:
    law_table(lambda table: table.cheapest())


def test_a_table_that_is_not_kept_up_to_date_is_noticed() -> None:
    kept: dict[VictimTable, Selection | None] = {}
    assert_notices(partial(law_table, lambda table: kept.setdefault(table, table.cheapest()), UNTIL_NOTICED))
