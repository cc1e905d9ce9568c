"""Laws of differences on random clusters: nothing changes for no reason, and every pod is accounted for once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import CPU, NODES, changed, clusters, scalable
from tests.unit.plan.planning import Plan, Raw, node, workload, written

from moorage.model.gates import gates_from
from moorage.plan import what_if
from moorage.plan.difference import comparison, counterfactual
from moorage.plan.difference.comparison import NO_CHANGES
from moorage.plan.difference.counterfactual import Counterfactual
from moorage.plan.difference.difference import Difference
from moorage.plan.input import reading
from moorage.plan.node_changes import LabelChange, ScaleChange
from moorage.plan.outcome import outcome_of
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import PodLine
from moorage.plan.report.plain import difference_data
from moorage.plan.simulation import drain
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

pytestmark = pytest.mark.usefixtures("_gives_up_early")

GATES = {"AllAlpha": True, "AllBeta": True}
Scene = tuple[list[Raw], Changes, list[Raw]]


@st.composite
def generated_into(draw: st.DrawFn) -> list[Raw]:
    """Objects into which the API server or a controller writes what their manifests do not have."""
    job = workload("Job", "once", draw(CPU), parallelism=draw(st.integers(1, 2)))
    modes, size = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}, {"storage": "1Gi"}
    claim = named("PersistentVolumeClaim", {**modes, "resources": {"requests": size}})
    volume = named("PersistentVolume", {**modes, "capacity": size, "hostPath": {"path": "/x"}})
    service = named("Service", {"type": "NodePort", "ports": [{"port": 80}]})
    return [one for one in (job, claim, volume, service) if draw(st.booleans())]


def named(kind: str, spec: Raw, version: str = "v1") -> Raw:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}


@st.composite
def idle_changes(draw: st.DrawFn) -> Scene:
    """A cluster, changes that change nothing in it, and manifests among them that it has already."""
    documents = [*draw(clusters()), *draw(generated_into())]
    labels = [LabelChange(draw(st.sampled_from(NODES)), "unused", "x")]
    names = scalable(documents)
    replicas = {f"{one['kind'].lower()}/{one['metadata']['name']}": one["spec"].get("replicas", 1) for one in documents}
    scales = [ScaleChange(name, replicas[name]) for name in names if draw(st.booleans())]
    again = [one for one in documents if "uid" not in one["metadata"] and draw(st.booleans())]
    return documents, Changes(labels=tuple(labels), scales=tuple(scales)), again


def answered(
    documents: list[Raw], changes: Changes, until: float | None = None, applied: Iterable[Raw] = ()
) -> tuple[Difference, Simulation]:
    planner = Planner(Settings(gates_from(GATES)))
    planner.load(written(*documents))
    simulation = planner.build(lives=until is not None)
    sources = written(*applied) if applied else []
    _, difference, _ = planner.answer(simulation, changes, sources, until=until)
    assert difference is not None
    return difference, simulation


def law_of_idle_changes(until: float | None = None) -> None:
    @LAW_SETTINGS
    @given(idle_changes())
    def law(scene: Scene) -> None:
        documents, changes, again = scene
        difference, simulation = answered(documents, changes, until, again)
        if simulation.stopped:
            return
        assert difference.is_empty
        assert not difference.is_worse
        assert difference.sentence.startswith(NO_CHANGES)
        assert difference.before.count() == difference.after.count()

    law()


@pytest.mark.parametrize("until", [None, 400.0])
def test_changes_without_effect_make_no_difference(until: float | None) -> None:
    law_of_idle_changes(until)


def test_evictions_that_happen_anyway_would_be_noticed_in_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counterfactual, "at", lambda *_: None)
    assert_notices(law_of_idle_changes)


def test_a_manifest_that_replaces_what_was_generated_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (reading, what_if):
        monkeypatch.setattr(module, "keep_generated", lambda kind, spec, current: spec)
    assert_notices(law_of_idle_changes)


def law_of_blocked_drains() -> None:
    """A drain that a budget blocks ends, also while taints evict other pods again and again."""

    @LAW_SETTINGS
    @given(clusters(), st.integers(1, 3), st.integers(1, 3), st.sampled_from([20, 30, 60]))
    def law(documents: list[Raw], replicas: int, least: int, seconds: int) -> None:
        lasting = {"key": "risk", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        scene = [
            node("kept"),
            node("spot", taints=[{"key": "risk", "value": "3", "effect": "NoExecute"}]),
            workload("Deployment", "web", pods=pinned("kept"), replicas=replicas),
            workload("Deployment", "loop", pods=pinned("spot") | {"tolerations": [lasting]}),
            named(
                "PodDisruptionBudget", {"minAvailable": least, "selector": {"matchLabels": {"app": "web"}}}, "policy/v1"
            ),
        ]
        plan = Plan(*documents, *scene, gates=GATES)
        if plan.simulation.stopped:
            return
        difference = plan.what_if(Changes(drains=("kept",)))
        assert sum(line.workload == "Deployment default/loop" for line in difference.after.pods) < 40

    law()


def pinned(name: str) -> Raw:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def test_a_blocked_drain_ends() -> None:
    law_of_blocked_drains()


def test_a_drain_that_waits_for_loops_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "_is_looping", lambda *_: False)
    monkeypatch.setattr(drain, "_MAX_TRIES", 1000)
    assert_notices(law_of_blocked_drains)


def law_of_accounts() -> None:
    """Every line of both plans belongs to one pair, and every departure to the changes or not."""

    @LAW_SETTINGS
    @given(changed())
    def law(scene: tuple[list[Raw], Changes]) -> None:
        documents, changes = scene
        if not changes:
            return
        difference = Plan(*documents, gates=GATES).what_if(changes)
        old, new = difference.before.pods, difference.after.pods
        equal = [one for one, other in zip(old, new, strict=False) if one == other]
        pairs = difference.comparison.pairs
        first = [line for pair in pairs for line in (pair.before, pair.left_before) if line is not None]
        second = [line for pair in pairs for line in (pair.after, pair.left) if line is not None]
        assert counted(equal + first) == counted(old)
        assert counted(equal + second) == counted(new)
        present = Counter(line.workload for line in new if line.is_present)
        present.subtract(line.workload for line in old if line.is_present)
        for pair in pairs:  # places that come and go explain how many pods there are
            if pair.before is not None and pair.before.is_present and pair.after is None:
                present[pair.workload] += 1
            if pair.after is not None and pair.after.is_present and pair.before is None:
                present[pair.workload] -= 1
        assert not any(present.values())
        left = [(one.pod, one.after_seconds) for one in (*difference.departures, *difference.anyway)]
        assert len(left) == len(difference.departures) + len(difference.anyway)
        evicted = [line for line in new if line.evicted_after_seconds is not None and not line.is_present]
        since = {(line.key, line.evicted_after_seconds) for line in difference.before.pods if not line.is_present}
        assert {(line.key, line.evicted_after_seconds) for line in evicted} <= set(left) | since

    law()


def counted(lines: Iterable[PodLine]) -> Counter[str]:
    return Counter(map(repr, lines))


def test_every_pod_is_accounted_for_once() -> None:
    law_of_accounts()


def test_a_pod_that_is_forgotten_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_others", lambda *_: iter(()))
    monkeypatch.setattr(comparison, "_taken", lambda *_: None)
    assert_notices(law_of_accounts)


def law_of_the_world_without(most: int = examples(80)) -> None:
    """The plan without the changes is that of a cluster that never hears of them."""

    @settings(LAW_SETTINGS, max_examples=most)
    @given(changed())
    def law(scene: tuple[list[Raw], Changes]) -> None:
        documents, changes = scene
        if not changes:
            return
        difference, simulation = answered(documents, changes)
        planner = Planner(Settings(gates_from(GATES)))
        planner.load(written(*documents))
        alone = planner.build()
        alone.settle()
        alone.history.start = alone.clock.now
        alone.run_until(max(simulation.clock.now, alone.clock.now))
        if simulation.stopped or alone.stopped:
            return
        assert where(difference.before.pods) == where(outcome_of(alone, planner.inventory).pods)

    law()


def where(lines: Iterable[PodLine]) -> list[tuple[str, str, str]]:
    return [(line.key, line.state, line.node) for line in lines]


def test_the_plan_without_changes_never_hears_of_them() -> None:
    law_of_the_world_without()


def test_a_plan_without_changes_that_stands_still_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counterfactual, "at", lambda *_: None)
    assert_notices(lambda: law_of_the_world_without(300))


def law_of_copies(until: float | None, most: int = examples(30)) -> None:
    """Where a process cannot be copied, the input that is planned once more gives the same difference."""

    @settings(LAW_SETTINGS, max_examples=most)
    @given(changed())
    def law(scene: tuple[list[Raw], Changes]) -> None:
        documents, changes = scene
        if not changes:
            return
        found = []
        for can_fork in (True, False):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(counterfactual, "_can_fork", lambda can_fork=can_fork: can_fork)
                found.append(difference_data(answered(documents, changes, until)[0]))
        assert found[0] == found[1]

    law()


@pytest.mark.parametrize("until", [None, 60.0])
def test_a_copy_and_a_second_plan_say_the_same(until: float | None) -> None:
    law_of_copies(until)


def test_a_second_plan_with_other_names_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Planner, "_rebuilding", _with_another_seed)
    assert_notices(lambda: law_of_copies(None, 300))


def _with_another_seed(planner: Planner, simulation: Simulation) -> object:
    from moorage.plan.what_if import WhatIf

    inventory = planner.inventory.copy(with_notes=True)

    def rebuild() -> WhatIf:
        again = planner.build(inventory, lives=simulation.lives)
        again.random.seed(99)
        again.settle()
        return WhatIf(again, inventory)

    return rebuild
