"""The queries that the documents print, as they print them, and the metrics that they name."""

import subprocess

import pytest
from tests.e2e.stories.stage import Raw, Stage, node, pod

UP_OPTIONS = ("--feature-gates=AllAlpha=true",)
SLA = "node.kubernetes.io/sla"
TOLERATIONS = """kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.name}{": "}\
{.spec.tolerations[?(@.operator=="%s")]}{"\\n"}{end}' | grep -v "^[^:]*: *$" """
AFFINITIES = """kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.name}{": "}\
{.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[*].\
matchExpressions[?(@.operator=="%s")]}{"\\n"}{end}' | grep -v "^[^:]*: *$" """
EXPRESSIONS = """kubectl get pods -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.metadata.name}: \
{.spec.tolerations[?(@.expression)]}{"\\n"}{end}' | grep -v ": \\[\\]$" """
NODES = """kubectl get nodes -o jsonpath='{range .items[*]}{.spec.taints[?(@.key=="node.kubernetes.io/sla")]}\
{"\\n"}{end}' | wc -l"""


def shell(stage: Stage, line: str) -> str:
    """A line as one types it: pipes, quotes and all."""
    program, *_ = stage.kubectl.command("")
    ran = subprocess.run(
        ["sh", "-c", line.replace("kubectl ", f"{program} ", 1)],
        capture_output=True,
        text=True,
        env=stage.kubectl.environment(),
    )
    assert ran.stderr == ""
    return ran.stdout


def with_affinity(name: str, operator: str) -> Raw:
    term = {"matchExpressions": [{"key": "version", "operator": operator, "values": ["1.2.3"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return pod(name, affinity={"nodeAffinity": required})


@pytest.mark.parametrize("operator", ["Gt", "SemverGt", "SemverLt", "SemverEq"])
def test_who_uses_an_operator(stage: Stage, operator: str) -> None:
    stage.create(pod("user", {"key": "k", "operator": operator, "value": "1"}), pod("other"))
    said = shell(stage, TOLERATIONS % operator)
    assert said == f'user: {{"key":"k","operator":"{operator}","value":"1"}}\n'
    if operator == "Gt":
        return
    stage.create(with_affinity("wants", operator))
    said = shell(stage, AFFINITIES % operator)
    assert said == f'wants: {{"key":"version","operator":"{operator}","values":["1.2.3"]}}\n'


def test_who_uses_an_expression(stage: Stage) -> None:
    stage.create(pod("user", {"expression": "taint.key == 'k'"}))
    namespace = stage.kubectl.namespace
    assert shell(stage, EXPRESSIONS) == f'{namespace}/user: {{"expression":"taint.key == \'k\'"}}\n'


def test_how_many_nodes_have_an_sla(stage: Stage) -> None:
    stage.create(node("a", f"{SLA}=900:NoSchedule"), node("b", f"{SLA}=950:NoSchedule"))
    assert shell(stage, NODES).strip() == "2"


def test_pending_pods_and_failed_ones_by_field(stage: Stage) -> None:
    stage.create(node("a", f"{SLA}=900:NoSchedule"))
    stage.create(pod("waits"), pod("turned-away", nodeName="a", nodeSelector={"size": "big"}))
    stage.kubectl("wait --for=jsonpath={.status.phase}=Failed pod/turned-away --timeout=120s")
    assert stage.kubectl("get pods --field-selector status.phase=Pending -o name").lines == ["pod/waits"]
    assert stage.kubectl("get pods --field-selector spec.nodeName=a -o name").lines == ["pod/turned-away"]
    assert "had untolerated taint {node.kubernetes.io/sla: 900}" in stage.why_pending("waits")
    # What the documents tell people to do about pods that are stuck.
    stage.kubectl("delete pod waits --force --grace-period=0")
    assert stage.kubectl("get pods -o name").lines == ["pod/turned-away"]


def test_the_metrics_that_the_documents_name(stage: Stage) -> None:
    plugin = 'plugin="TaintToleration"'
    stage.create(node("a", f"{SLA}=900:NoSchedule"))
    stage.create(pod("fits", {"key": SLA, "operator": "Gt", "value": "850"}), pod("waits"))
    stage.lands("fits")
    stage.why_pending("waits")
    stage.refused(pod("odd", {"key": SLA, "operator": "Gt", "value": "odd"}))
    assert stage.metric("scheduler_numeric_tolerations_total") > 0
    assert stage.metric("scheduler_numeric_taint_evaluations_total") > 0
    assert stage.metric("scheduler_plugin_evaluation_total", plugin, 'status="Success"') > 0
    assert stage.metric("scheduler_plugin_evaluation_total", plugin, 'status="UnschedulableAndUnresolvable"') > 0
    assert stage.metric("scheduler_unschedulable_pods", plugin) == 1
    assert stage.metric("scheduler_pending_pods", 'queue="unschedulable"') == 1
    for result in ("scheduled", "unschedulable"):
        assert stage.metric("scheduler_schedule_attempts_total", f'result="{result}"') > 0
        assert stage.metric("scheduler_scheduling_attempts_total", f'result="{result}"') > 0
        assert stage.metric("scheduler_scheduling_attempt_duration_seconds_count", f'result="{result}"') > 0
    assert stage.metric("scheduler_scheduling_duration_seconds_count") > 0
    assert stage.metric("scheduler_framework_extension_point_duration_seconds_count", 'extension_point="Filter"') > 0
    assert stage.metric("scheduler_plugin_execution_duration_seconds_count", plugin) > 0
    assert stage.metric("apiserver_request_total", 'resource="pods"', 'verb="POST"', 'code="422"') > 0
