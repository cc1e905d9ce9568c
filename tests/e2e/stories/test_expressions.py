"""Expressions in tolerations: the stories of KEP-5500, gate on."""

import pytest
from tests.e2e.running_cluster import Cluster
from tests.e2e.stories.stage import NOT_HELPFUL, Stage, node, pod

UP_OPTIONS = ("--feature-gates=TaintTolerationCEL=true",)
KERNEL = "node.example.com/kernel-version"


def test_one_toleration_for_every_environment(stage: Stage) -> None:
    stage.nodes("environment-taints-by-prefix")
    pods = stage.play("environment-taints-by-prefix", "log-collector.yaml", replicas=4)
    assert set(stage.lands(*pods)) == {"node-1", "node-2"}
    stage.kubectl("cordon node-1 node-2")
    stage.create(pod("late", {"expression": "taint.key.startsWith('env.example.com/')"}))
    assert stage.why_pending("late") == (
        "0/3 nodes are available: 1 node(s) had untolerated taint {team.example.com/payments: }, "
        "2 node(s) were unschedulable. " + NOT_HELPFUL.format(3)
    )


def test_kernel_versions(stage: Stage, cluster: Cluster) -> None:
    stage.nodes("kernel-version-by-cel")
    stage.play("kernel-version-by-cel", "my-app.yaml")
    at_least, newer = stage.lands("my-app", "my-app-strictly-newer")
    assert at_least in {"kernel-5-15", "kernel-6-8"}
    assert newer == "kernel-6-8"
    # An evaluation that fails is no match: logged, counted, and the pod waits.
    stage.kubectl(f"taint nodes --all {KERNEL}=v5-old:NoSchedule --overwrite")
    failed = stage.metric("scheduler_cel_evaluation_errors_total")
    stage.create(pod("late", {"expression": f"taint.key == '{KERNEL}' && semver(taint.value).major() > 4"}))
    assert stage.why_pending("late") == (
        f"0/3 nodes are available: 3 node(s) had untolerated taint {{{KERNEL}: v5-old}} (the expression failed: No "
        "Major.Minor.Patch elements found). " + NOT_HELPFUL.format(3)
    )
    assert stage.metric("scheduler_cel_evaluation_errors_total") > failed
    assert "semver(taint.value).major() > 4" in (cluster.home / "moorage.log").read_text()
    hits, misses = (stage.metric(f"scheduler_cel_cache_{what}_total") for what in ("hits", "misses"))
    assert hits > 0
    assert misses >= 3


def test_zones_by_pattern(stage: Stage) -> None:
    stage.nodes("zones-by-regex")
    pods = stage.play("zones-by-regex", "my-app.yaml", replicas=4)
    assert set(stage.lands(*pods)) == {"a1-03", "a2-15"}


def test_a_soft_taint_only_makes_a_node_less_welcome(stage: Stage) -> None:
    stage.create(node("a", "zone-a:PreferNoSchedule"), node("b", "zone-b:PreferNoSchedule"))
    stage.create(*[pod(f"one-{number}", {"expression": "taint.key == 'zone-b'"}) for number in range(3)])
    assert set(stage.lands("one-0", "one-1", "one-2")) == {"b"}


def test_an_expression_may_stand_beside_seconds_and_the_default_ones_are_still_added(stage: Stage) -> None:
    stage.create(node("a", "gone=soon:NoExecute"))
    stage.create(pod("one", {"expression": "taint.value == 'soon'", "tolerationSeconds": 3600}))
    assert stage.lands("one") == ["a"]
    assert stage.object("pod one")["spec"]["tolerations"] == [
        {"expression": "taint.value == 'soon'", "tolerationSeconds": 3600},
        {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
        {
            "effect": "NoExecute",
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "tolerationSeconds": 300,
        },
    ]


def test_an_expression_also_tolerates_a_cordoned_node(stage: Stage) -> None:
    stage.create(node("a"))
    stage.kubectl("cordon a")
    stage.create(pod("one", {"expression": "taint.key == 'node.kubernetes.io/unschedulable'"}))
    assert stage.lands("one") == ["a"]


def test_what_is_no_expression_is_refused(stage: Stage) -> None:
    assert stage.refused(pod("example", {"expression": "taint.key == '" + "a" * 10240 + "'"})) == (
        'The Pod "example" is invalid: spec.tolerations[0].expression: Too long: may not be more than 10240 bytes'
    )
    prefix = "taint.key.startsWith('node.example/')"
    assert stage.refused(pod("compatible-workload", {"expression": prefix, "key": "node.example"})) == (
        f'The Pod "compatible-workload" is invalid: spec.tolerations[0].expression: Invalid value: "{prefix}": '
        "expression cannot be used with key, value, operator, or effect fields"
    )
    complex_one = ".".join(["'a'", *["replace('a', 'aaaaaaaaaa')"] * 9]) + ".matches('a')"
    assert stage.refused(pod("example", {"expression": complex_one})) == (
        'The Pod "example" is invalid: spec.tolerations[0].expression: Forbidden: too complex, exceeds cost limit'
    )


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("taint.key ==", "ERROR: <input>:1:13: Syntax error"),
        ("taint.color == 'red'", "ERROR: <input>:1:6: undefined field 'color'"),
        ("node.key == 'red'", "ERROR: <input>:1:1: undeclared reference to 'node'"),
        ("taint.key + 1", "ERROR: <input>:1:11: found no matching overload for '_+_'"),
        ("taint.key", "must evaluate to bool"),
    ],
)
def test_an_expression_is_checked_with_line_and_column(stage: Stage, expression: str, said: str) -> None:
    refused = stage.refused(pod("example", {"expression": expression}))
    assert refused.startswith('The Pod "example" is invalid: spec.tolerations[0].expression: Invalid value: ')
    assert said in refused
