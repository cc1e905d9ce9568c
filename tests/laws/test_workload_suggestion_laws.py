"""Every suggestion for a Deployment, applied as `plan --change` applies it, leaves fewer of its pods Pending."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, workload, written

from moorage.model.gates import gates_from
from moorage.plan.explain.remedies.workload import choosing
from moorage.plan.explain.target import TargetError
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.what_if import Changes

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_APART = {
    "podAntiAffinity": {
        _REQUIRED: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]
    }
}


@st.composite
def worlds(draw: st.DrawFn) -> list[Raw]:
    """One to three nodes, a Deployment that may fill them, and `web`, which asks for much."""
    number = draw(st.integers(1, 3))
    nodes = [
        node(f"n{index}", draw(st.sampled_from(["2", "4"])), disk=draw(st.sampled_from(["ssd", "hdd"])))
        for index in range(number)
    ]
    pods: Raw = {}
    if draw(st.booleans()):
        pods["affinity"] = _APART
    if draw(st.booleans()):
        pods["nodeSelector"] = {"disk": "ssd"}
    web = workload("Deployment", "web", draw(st.sampled_from(["1", "3"])), pods=pods, replicas=draw(st.integers(1, 4)))
    other = workload("Deployment", "other", draw(st.sampled_from(["1", "2"])), replicas=draw(st.integers(0, 2)))
    return [*nodes, other, web]


def pending(outcome: Outcome) -> int:
    return sum(pod.workload == "Deployment default/web" for pod in outcome.pending)


def after(documents: list[Raw], manifest: str) -> tuple[int, int]:
    """Return how many pods of `web` are Pending before and after the manifest is applied."""
    planner = Planner(Settings(gates_from({})))
    planner.load(written(*documents))
    simulation = planner.build()
    before = planner.plan(simulation)
    outcome, _, _ = planner.what_if(simulation, before, Changes(("change",)), written(manifest))
    return pending(before), pending(outcome)


def law() -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(40))
    @given(worlds())
    def holds(documents: list[Raw]) -> None:
        try:
            told = explained(*documents, pod="deployment/web")
        except TargetError:
            return
        for suggestion in told.suggestions:
            remedy = suggestion.remedy
            if remedy is not None and remedy.verb == "patch" and remedy.manifest and suggestion.lacked:
                was, now = after(documents, remedy.manifest)
                assert now < was, suggestion.change.summary

    return holds


def test_every_suggestion_leaves_fewer_pods_pending() -> None:
    law()()


@pytest.mark.slow
def test_a_suggestion_that_was_not_tried_on_the_workload_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_is_less", lambda effect, trials: effect is not None)
    assert_notices(law())
