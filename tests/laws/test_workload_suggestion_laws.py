"""Every suggestion, made the way it is told, leaves fewer pods of the workload Pending, and names who is worse off.

Workloads of every kind, in clusters with taints, thresholds, spreading, quotas, volumes and classes. A patch is applied
as `plan --change` applies its manifest; what cannot be patched is recreated from its manifest.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_shortages import shortages
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, written

from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.plan.explain import suggesting
from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.remedies.trials import Suggestion, best_of
from moorage.plan.explain.remedies.workload.trials import WorkloadTrials
from moorage.plan.explain.target import TargetError
from moorage.plan.outcome import Outcome, wanted_pods
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import State
from moorage.plan.rollout import kind_of_workload
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

GATES = {"AllAlpha": True}
STAYING = (State.BOUND, State.PLACED)


class World:
    """A plan of documents, of which `web` is the workload that is asked about."""

    def __init__(self, documents: list[Raw]) -> None:
        self.documents, self.kind = documents, documents[-1]["kind"]
        self.planner = Planner(Settings(gates_from(GATES)))
        self.planner.load(written(*documents))
        self.simulation: Simulation = self.planner.build()
        self.outcome: Outcome = self.planner.plan(self.simulation)

    def is_web(self, name: str, workload: str) -> bool:
        return name == "web" if self.kind == "Pod" else workload == f"{self.kind} default/web"

    @property
    def lacking(self) -> int:
        """How many pods of `web` wait or are missing."""
        mine = [pod for pod in self.outcome.pods if self.is_web(pod.name, pod.workload)]
        running = sum(pod.state in STAYING for pod in mine)
        if self.kind == "Pod":
            return int(not running)
        owner = self.simulation.world.get(kind_of_workload(self.kind), "default/web")
        wanted = wanted_pods(owner) if owner is not None else 0
        return max(sum(pod.state is State.PENDING for pod in mine), wanted - running)

    @property
    def others(self) -> int:
        """How many pods of others are on a node to stay."""
        return sum(pod.state in STAYING and not self.is_web(pod.name, pod.workload) for pod in self.outcome.pods)

    def change(self, changes: Changes, *manifests: str) -> None:
        sources = written(*manifests) if manifests else []
        self.outcome, _, _ = self.planner.what_if(self.simulation, self.outcome, changes, sources)

    def delete_waiting(self) -> None:
        """Delete the pods of `web` that wait, until none is recreated that waits or none is left."""
        for _ in range(9):
            waiting = [
                pod
                for pod in self.simulation.world.in_namespace(KINDS.POD, "default")
                if not pod.view.spec.nodeName and pod.view.metadata.labels.get("app") == "web"
            ]
            for pod in waiting if self.lacking else ():
                self.simulation.api.delete(KINDS.POD, pod.name, pod.namespace, grace_seconds=0)
            self.simulation.work()
            self.simulation.controllers.retry_refused()  # the quota has room again
            self.outcome = self.planner.plan(self.simulation)

    def recreate(self, document: Raw) -> None:
        """Delete an object and create it from a manifest; pods of a StatefulSet stay, its claims that wait go."""
        api, kind = self.simulation.api, KINDS[document["apiVersion"], document["kind"]]
        if kind is KINDS.STATEFUL_SET:
            api.delete(kind, "web", "default", propagation="Orphan")
        else:
            api.delete(kind, document["metadata"]["name"], "default", grace_seconds=0)
        self.simulation.controllers.work()
        api.create(kind, document, "default")
        self.outcome = self.planner.plan(self.simulation)

    def evict(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        self.simulation.api.evict(namespace, name)
        self.outcome = self.planner.plan(self.simulation)


def changed(documents: list[Raw], suggestion: Suggestion) -> World | None:
    """Return the world after a suggestion; None if its remedy has to be carried out by hand."""
    remedy, change = suggestion.remedy, suggestion.change
    assert remedy is not None
    world = World(documents)
    if change.added is not None:
        world.change(Changes(adds=(change.added,)))
    elif change.gone:
        world.evict(change.gone)
    elif remedy.manifest and remedy.verb != "patch":
        world.recreate(yaml.safe_load(remedy.manifest))
    elif remedy.manifest:
        world.change(Changes(("change",)), remedy.manifest)
    else:
        return None
    if suggestion.deletes_pending:
        world.delete_waiting()
    return world


def explanation_of(documents: list[Raw]) -> Explanation | None:
    kind = documents[-1]["kind"]
    try:
        return explained(*documents, pod=f"{kind.lower()}/web", gates=GATES)
    except TargetError:
        return None


def check(documents: list[Raw]) -> None:
    told = explanation_of(documents)
    before = World(documents)
    if told is None or not told.suggestions or not before.lacking:
        return
    for one in told.suggestions:
        after = changed(documents, one)
        if after is None:
            continue
        assert after.lacking < before.lacking, one.change.summary
        assert one.worse_off or after.others >= before.others, one.change.summary
        assert not (one.change.gone and before.is_web(one.change.gone.partition("/")[2], "")), one.change.summary


def law() -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(120))
    @given(shortages())
    def holds(documents: list[Raw]) -> None:
        check(documents)

    return holds


def test_every_suggestion_leaves_fewer_pods_pending() -> None:
    law()()


@pytest.mark.slow
def test_suggestions_that_are_tried_on_one_pod_only_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggesting, "helping", lambda worked, trials: best_of(worked))
    assert_notices(law())


@pytest.mark.slow
def test_a_suggestion_that_names_no_one_who_is_worse_off_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = WorkloadTrials.try_changes

    def silent(self: WorkloadTrials, *changes: object) -> object:
        effect = original(self, *changes)  # type: ignore[arg-type]
        if effect is not None:
            effect.worse.clear()
        return effect

    monkeypatch.setattr(WorkloadTrials, "try_changes", silent)
    assert_notices(law())
