"""HorizontalPodAutoscalers in plans: what they scale and when, loads as changes, what is not known."""

from typing import Any

import msgspec
import pytest
from tests.unit.plan.planning import Plan, Raw, node, workload, written

from moorage.model.gates import gates_from
from moorage.plan.autoscalers import AutoscalerLine
from moorage.plan.difference.difference import Difference
from moorage.plan.node_changes import ChangeError, parse_load
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import State
from moorage.plan.report.markdown import MarkdownReport
from moorage.plan.report.plain import plain
from moorage.plan.report.text import TextReport
from moorage.plan.what_if import Changes

NODES = [node("on-demand-1", "4", pool="on-demand"), node("spot-1", "8", pool="spot")]


def web(replicas: int = 2, **annotations: str) -> Raw:
    made = workload("Deployment", "web", replicas=replicas)
    made["metadata"]["annotations"] = {f"simulate.moorage.dev/{key}": text for key, text in annotations.items()}
    return made


def autoscaler(target: Raw | None = None, **spec: Any) -> Raw:
    metric = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    reference = target or {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metrics = [{"type": "Resource", "resource": metric}]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": reference, "maxReplicas": 10, "metrics": metrics, **spec},
    }


def at(seconds: float | None, *documents: Raw, changes: Changes | None = None) -> tuple[Outcome, Difference | None]:
    planner = Planner(Settings(gates_from({})))
    planner.load(written(*documents))
    simulation = planner.build(lives=seconds is not None)
    outcome, difference, _ = planner.answer(simulation, changes or Changes(), [], "", seconds)
    return outcome, difference


def line_of(outcome: Outcome) -> AutoscalerLine:
    [line] = outcome.autoscalers
    return line


def scalings(outcome: Outcome) -> list[tuple[float, int, int]]:
    return [(one.after_seconds, one.before, one.after) for one in line_of(outcome).scalings]


def test_plan_ends_when_the_autoscaler_has_what_it_asks_for() -> None:
    plan = Plan(*NODES, web(load="cpu=4"), autoscaler())
    assert scalings(plan.outcome) == [(15, 2, 4), (30, 4, 8)]
    assert len(plan.nodes_of("web")) == 8
    line = line_of(plan.outcome)
    assert (line.replicas, line.min_replicas, line.max_replicas, line.targets) == (8, 1, 10, "cpu: 50%/50%")
    assert line.problem == ""


def test_plan_waits_until_the_load_that_went_has_taken_its_pods_along() -> None:
    plan = Plan(*NODES, web(6, load="cpu=1"), autoscaler())
    assert scalings(plan.outcome) == [(330, 6, 2)]
    assert plan.outcome.count()[State.DELETED] == 4


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (60, []),
        (620, [(600, 2, 4)]),
        (640, [(600, 2, 4)]),
        (3600, [(600, 2, 4), (2100, 4, 2)]),
    ],
)
def test_load_that_doubles_for_twenty_minutes(seconds: float, expected: list[tuple[float, int, int]]) -> None:
    outcome, _ = at(seconds, *NODES, web(load="cpu=pulse(1, 2, 10m, 20m)"), autoscaler())
    assert scalings(outcome) == expected


def test_load_is_a_change_whose_times_begin_with_it() -> None:
    changes = Changes(loads=(parse_load("deployment/web=cpu=pulse(1, 2, 1m, 20m)"),))
    outcome, difference = at(600, *NODES, web(load="cpu=1"), autoscaler(), changes=changes)
    assert difference is not None
    assert difference.changes == ("load deployment/web with cpu=pulse(1, 2, 1m, 20m)",)
    assert [(before, after) for _, before, after in scalings(outcome)] == [(2, 4)]
    assert len(difference.placed) == 2
    assert all(pod.node for pod in difference.placed)


def test_usage_that_is_not_stated_is_not_known() -> None:
    plan = Plan(*NODES, web(2), autoscaler(minReplicas=3))
    line = line_of(plan.outcome)
    assert scalings(plan.outcome) == [(15, 2, 3)]
    assert (line.replicas, line.targets) == (3, "cpu: <unknown>/50%")
    assert line.problem.startswith("the HPA was unable to compute the replica count: failed to get cpu utilization")


def test_custom_kinds_are_not_scaled() -> None:
    plan = Plan(*NODES, autoscaler({"apiVersion": "example.com/v1", "kind": "Boat", "name": "ship"}))
    assert 'no matches for kind "Boat" in group "example.com"' in line_of(plan.outcome).problem


def test_external_metrics_and_traces_come_from_config_maps_of_the_input() -> None:
    about = {"name": "outside", "labels": {"simulate.moorage.dev/external-metrics": "true"}}
    data = {"series": "jobs trace(day/jobs.csv)"}
    outside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": data}
    csv = {"jobs.csv": "seconds,jobs\n0,10\n300,60\n"}
    day = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "day"}, "data": csv}
    jobs = {"metric": {"name": "jobs"}, "target": {"type": "AverageValue", "averageValue": "20"}}
    hpa = autoscaler(metrics=[{"type": "External", "external": jobs}])
    outcome, _ = at(400, *NODES, outside, day, web(1), hpa)
    assert scalings(outcome) == [(300, 1, 3)]


def test_annotation_that_cannot_be_read_is_noted_at_its_workload() -> None:
    plan = Plan(*NODES, web(load="cpu=lots"), autoscaler())
    text = 'has an annotation simulate.moorage.dev/load that is not read: cpu: "lots" is not an amount'
    assert [note for note in plan.notes if f"Deployment default/web: {text}" in note]


def test_reports_have_the_scalings() -> None:
    plan = Plan(*NODES, web(load="cpu=4"), autoscaler())
    text = "\n".join(TextReport(width=120).lines(plan.outcome))
    assert "Deployment default/web  8 replicas (1 to 10), cpu: 50%/50%\n    15s: 2 → 4, 30s: 4 → 8" in text
    markdown = "\n".join(MarkdownReport().lines(plan.outcome))
    assert "| Deployment default/web | 8 (1 to 10) | cpu: 50%/50% | 15s: 2 → 4, 30s: 4 → 8 |" in markdown
    data = plain(plan.outcome)["autoscalers"]
    assert data == msgspec.to_builtins(plan.outcome.autoscalers) or data[0]["scalings"][0]["afterSeconds"] == 15


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("deployment/web", "not of the form"),
        ("deployment/web=4", "NAME=AMOUNT"),
        ("deployment/web=cpu=pulse(1)", "cpu: it is written pulse(BASE, PEAK, START, LENGTH)"),
    ],
)
def test_load_that_cannot_be_read(text: str, why: str) -> None:
    with pytest.raises(ChangeError) as refused:
        parse_load(text)
    assert why in str(refused.value)
