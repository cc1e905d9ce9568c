"""What is counted, and what is told in the log."""

import io

from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import run_virtual, running, settle

from moorage.model.gates import gates_from
from moorage.telemetry import logs
from moorage.telemetry.metrics import Metrics

GATES = gates_from({"AllAlpha": True})


def story(api: FakeApi) -> dict[str, float]:
    """Run until nothing is left to do; the metrics by name and labels."""
    metrics = Metrics()

    async def whole() -> None:
        async with running(api, gates=GATES, metrics=metrics):
            await settle(1)

    run_virtual(whole())
    text = metrics.render()[0].decode()
    return {
        line.rpartition(" ")[0]: float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if not line.startswith("#")
    }


def test_attempts_and_what_came_of_them() -> None:
    api = FakeApi()
    api.node("n1", cpu="2")
    api.pod("fits")
    api.pod("big", cpu="8")
    api.pod("gated", schedulingGates=[{"name": "wait"}])
    found = story(api)
    profile = 'profile="default-scheduler"'
    assert found[f'scheduler_schedule_attempts_total{{result="scheduled",{profile}}}'] == 1
    assert found[f'scheduler_schedule_attempts_total{{result="unschedulable",{profile}}}'] == 1
    assert found[f'scheduler_scheduling_attempts{{result="scheduled",{profile}}}'] == 1
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == 1
    assert found['scheduler_pending_pods{queue="gated"}'] == 1
    assert found['scheduler_pending_pods{queue="active"}'] == 0
    assert found[f'scheduler_unschedulable_pods{{plugin="NodeResourcesFit",{profile}}}'] == 1
    labels = f'plugin="NodeResourcesFit",extension_point="Filter",{profile}'
    assert found[f'scheduler_plugin_evaluation_total{{{labels},status="Success"}}'] == 1
    assert found[f'scheduler_plugin_evaluation_total{{{labels},status="Unschedulable"}}'] == 1
    assert found['scheduler_cache_size{type="nodes"}'] == 1
    assert found['scheduler_cache_size{type="pods"}'] == 1
    assert found['scheduler_cache_size{type="assumed_pods"}'] == 0
    assert found['scheduler_queue_incoming_pods_total{queue="active",event="UnschedulablePodAdd"}'] == 2
    assert found['scheduler_queue_incoming_pods_total{queue="gated",event="UnschedulablePodAdd"}'] == 1
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}'] == 1
    assert found[f'scheduler_scheduling_attempt_duration_seconds_count{{result="scheduled",{profile}}}'] == 1
    points = f'extension_point="Filter",status="Success",{profile}'
    assert found[f"scheduler_framework_extension_point_duration_seconds_count{{{points}}}"] == 1


def test_toleration_comparisons_are_counted_and_unreadable_taints_logged_once() -> None:
    api = FakeApi()
    api.node("good", taints=[{"key": "sla", "value": "950", "effect": "NoSchedule"}])
    api.node("bad", taints=[{"key": "sla", "value": "high", "effect": "NoSchedule"}])
    api.node("old", taints=[{"key": "kernel", "value": "5.x", "effect": "NoSchedule"}])
    numeric = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoSchedule"}
    api.pod("a", tolerations=[numeric])
    api.pod("b", tolerations=[numeric])
    api.pod("c", tolerations=[{"key": "kernel", "operator": "SemverGt", "value": "5.4.0"}])
    api.pod("d", tolerations=[{"expression": "int(taint.value) > 900"}])
    stream = io.StringIO()
    logs.configure(stream=stream)
    try:
        found = story(api)
    finally:
        logs.configure()
    assert api.nodes_of_pods() == {"a": "good", "b": "good", "c": "", "d": "good"}
    profile = 'profile="default-scheduler"'
    assert found[f"scheduler_numeric_tolerations_total{{{profile}}}"] == 2
    evaluations = "scheduler_numeric_taint_evaluations_total"
    assert found[f'{evaluations}{{{profile},operator="Gt",result="match"}}'] == 1
    assert found[f'{evaluations}{{{profile},operator="Gt",result="unreadable"}}'] == 1
    assert found[f"scheduler_cel_evaluation_errors_total{{{profile}}}"] >= 1
    assert found["scheduler_cel_cache_misses_total"] == 1
    assert found["scheduler_cel_cache_evictions_total"] == 0
    lines = stream.getvalue().splitlines()
    warnings = [line for line in lines if line.startswith("W")]
    assert len(warnings) == 1
    for fact in ('node="bad"', 'taint="sla=high:NoSchedule"', 'pod="default/a"', "high"):
        assert fact in warnings[0]
    errors = [line for line in lines if line.startswith("E") and "as semantic version" in line]
    assert len(errors) == 1
    assert 'node="old"' in errors[0]
    assert [line for line in lines if line.startswith("E") and "expression" in line]


def test_plugin_metrics_serve_the_queries_of_the_keps() -> None:
    api = FakeApi()
    api.node("n1", cpu="64", taints=[{"key": "sla", "value": "950", "effect": "NoSchedule"}])
    tolerations = [{"key": "sla", "operator": "Gt", "value": "900", "effect": "NoSchedule"}]
    for number in range(21):
        api.pod(f"p{number}", tolerations=tolerations)
    found = story(api)
    labels = 'plugin="TaintToleration",extension_point="Filter",status="Success"'
    # All nodes for the new shape, and the chosen one of each tenth attempt.
    assert found[f"scheduler_plugin_execution_duration_seconds_count{{{labels}}}"] == 1 + 3
    labels = 'extension_point="Filter",status="Success",profile="default-scheduler",plugin="TaintToleration"'
    name = "scheduler_framework_extension_point_duration_seconds_count"
    assert found[f"{name}{{{labels}}}"] == 1 + 3
    assert found[f'{name}{{extension_point="Filter",status="Success",profile="default-scheduler"}}'] == 21
    labels = 'plugin="TaintToleration",extension_point="PreFilter",status="Success"'
    assert found[f"scheduler_plugin_execution_duration_seconds_count{{{labels}}}"] == 1
    labels = 'plugin="NodeResourcesFit",extension_point="Score",status="Success"'
    assert found[f"scheduler_plugin_execution_duration_seconds_count{{{labels}}}"] == 1 + 3


def test_a_plugin_that_refuses_every_node_is_measured_with_its_status() -> None:
    api = FakeApi()
    api.node("n1", taints=[{"key": "sla", "value": "950", "effect": "NoSchedule"}])
    api.pod("refused")
    found = story(api)
    labels = 'plugin="TaintToleration",extension_point="Filter",status="UnschedulableAndUnresolvable"'
    assert found[f"scheduler_plugin_execution_duration_seconds_count{{{labels}}}"] == 2
