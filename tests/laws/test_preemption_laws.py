"""Preemption on random clusters: nobody as important is evicted, nobody in vain, and looking leaves no trace."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.laws.random_clusters import Raw, Scene, build, change, random_pod, scenes

from moorage.columns.cluster import Cluster
from moorage.columns.priority_levels import PriorityLevels
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.cycle import NoNode, Scheduler
from moorage.schedule.diagnosis import Diagnoses, _Tally, diagnose
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.nominations import NominatedPods
from moorage.schedule.preemption.preemption import DefaultPreemption, PreemptionResult
from moorage.schedule.preemption.victim_table import VictimTable
from moorage.schedule.preemption.victims import Outcome, Selection, select_by_counting, select_by_trying

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
            result = select_by_trying(candidates, slot, budgets)
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


# -- counting ---------------------------------------------------------------------------------------------------------

Count = Callable[[Candidates, int, DisruptionBudgets], Outcome | None]
_PROFILE = default_profile(GATES)
_MANY = settings(LAW_SETTINGS, max_examples=examples(300))


def _crowded(scene: Scene, seed: int) -> tuple[Scheduler, Candidates]:
    """A scheduler with pods everywhere, some of them nominated, and what it keeps of a pod that is plain most often."""
    random = Random(seed)
    _with_priorities(scene, seed)
    plain = random.random() < 0.7
    for raw in [scene.pod, *(raw for _, raw in scene.pods)] if plain else ():
        for field in ("affinity", "topologySpreadConstraints"):
            raw["spec"].pop(field, None)
    if plain and random.random() < 0.6:
        scene.pod["spec"]["volumes"] = []
        scene.pod["spec"]["containers"][0].update(ports=[])
    cluster = build(scene)
    scheduler = Scheduler({DEFAULT_SCHEDULER: _PROFILE}, cluster)
    slots = sorted(cluster.nodes.slot_of.values())
    for index in range(random.randint(0, 2)):
        raw = random_pod(random, f"nominee{index}")
        raw["spec"]["priority"] = random.choice([0, 50, 60])
        record = cluster.record(f"default/nominee{index}", convert_view(raw, Pod))
        scheduler.nominations.add(record, random.choice(slots))
    shape = cluster.shape_of(convert_view(scene.pod, Pod))
    return scheduler, scheduler.engines[DEFAULT_SCHEDULER].candidates(shape)


def law_counting(count: Count) -> Callable[[], None]:
    """Where victims are counted, they are those that one finds by taking pods off the node and putting them back."""

    @_MANY
    @given(scenes(), st.integers(0, 2**16))
    def law(scene: Scene, seed: int) -> None:
        scheduler, candidates = _crowded(scene, seed)
        candidates.refresh()
        budgets = _budgets(seed)
        for slot, _ in scheduler.cluster.nodes:
            counted = count(candidates, slot, budgets)
            if counted is not None:
                assert _outcome(counted) == _outcome(select_by_trying(candidates, slot, budgets))
                COUNTED[isinstance(counted, Selection)] += 1

    return law


COUNTED: Counter[bool] = Counter()


def _outcome(outcome: Outcome) -> Any:
    return _of(outcome) if isinstance(outcome, Selection) else outcome


def test_counted_victims() -> None:
    COUNTED.clear()
    law_counting(select_by_counting)()
    assert min(COUNTED[True], COUNTED[False]) > 10  # nodes where it was found by counting


def test_victims_counted_without_nominated_pods_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Outcome | None:
        with monkeypatch.context() as patch:
            patch.setattr(NominatedPods, "awaited", lambda *_: [])
            return select_by_counting(candidates, slot, budgets)

    assert_notices(law_counting(careless))


def test_victims_counted_without_budgets_are_noticed() -> None:
    assert_notices(law_counting(lambda candidates, slot, _: select_by_counting(candidates, slot, DisruptionBudgets())))


@pytest.mark.parametrize("plugin", [NodePorts, NodeVolumeLimits])
def test_victims_counted_although_others_object_are_noticed(
    plugin: type[NodePorts | NodeVolumeLimits], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin, "withstands", lambda *_: True)
    assert_notices(law_counting(select_by_counting))


# -- why there is no node ---------------------------------------------------------------------------------------------


def law_tally() -> Callable[[], None]:
    """Reasons that are kept up to date where nodes changed are those that one counts on all nodes."""

    @LAW_SETTINGS
    @given(scenes(), st.integers(0, 2**16))
    def law(scene: Scene, seed: int) -> None:
        scheduler, candidates = _crowded(scene, seed)
        diagnoses, random = Diagnoses(), Random(seed)
        for _ in range(5):
            candidates.best()
            assert diagnoses.of(candidates) == diagnose(candidates)
            placed = sorted(scheduler.cluster.pods.values(), key=lambda record: record.key)
            slots = sorted(scheduler.cluster.nodes.slot_of.values())
            if random.random() < 0.2:
                change(scheduler.cluster, scene)
            elif placed and random.random() < 0.5:
                scheduler.cluster.remove_pod(random.choice(placed))
            else:
                raw = random_pod(random, f"new{random.random()}")
                record = scheduler.cluster.record(f"default/{raw['metadata']['name']}", convert_view(raw, Pod))
                scheduler.cluster.add_pod(record, random.choice(slots))

    return law


def test_tallied_reasons() -> None:
    law_tally()()


def test_reasons_that_are_kept_too_long_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Tally, "_judge", lambda *_: None)
    assert_notices(law_tally())


# -- how much work it is ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [20, 200])
def test_a_preemptor_looks_at_few_nodes(nodes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each preemptor evaluates the node that changed and the cheapest one, however many nodes there are."""
    cluster = Cluster()
    scheduler = Scheduler({DEFAULT_SCHEDULER: _PROFILE}, cluster)

    def pod(name: str, priority: int, cpu: str) -> Raw:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        return {"metadata": {"name": name}, "spec": {"priority": priority, "containers": [container]}}

    for number in range(nodes):
        status = {"allocatable": {"cpu": "4", "pods": "110"}}
        slot = scheduler.node_added(convert_view({"metadata": {"name": f"n{number}"}, "status": status}, Node), 0.0)
        for index in range(4):
            name = f"low-{number}-{index}"
            cluster.add_pod(cluster.record(f"default/{name}", convert_view(pod(name, 1, "900m"), Pod)), slot)
    runs, judged = [0], [0]
    evaluate, judge = VictimTable._evaluate, _Tally._judge

    def counted(table: VictimTable, slot: int) -> None:
        runs[0] += 1
        evaluate(table, slot)

    def judged_one(tally: _Tally, candidates: Candidates, slot: int) -> None:
        judged[0] += 1
        judge(tally, candidates, slot)

    monkeypatch.setattr(VictimTable, "_evaluate", counted)
    monkeypatch.setattr(_Tally, "_judge", judged_one)
    for number in range(10):
        record = cluster.record(f"default/high-{number}", convert_view(pod(f"high-{number}", 10, "3"), Pod))
        scheduler.add(record, 0.0)
        action = scheduler.step(0.0)
        assert isinstance(action, NoNode)
        assert len(action.victims) == 3
        for victim in action.victims:
            scheduler.pod_gone(victim.key, 0.0)
    assert runs[0] <= 20
    assert judged[0] <= 20
