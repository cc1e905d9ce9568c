"""`moorage plan` and `explain` with feature gates of single components."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.commands import explain, plan

CLUSTER = """
apiVersion: v1
kind: Namespace
metadata: {name: default}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
spec:
  taints: [{key: sla, value: "950", effect: NoSchedule}]
status: {capacity: {cpu: "4", memory: 8Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers: [{name: c, image: i}]
  tolerations: [{key: sla, operator: Gt, value: "900"}]
"""
GATE = "TaintTolerationComparisonOperators"


def run(tmp_path: Path, *options: str, explains: bool = False) -> Result:
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    if explains:
        return CliRunner().invoke(explain.command, ["pod/p", "-f", str(file), *options])
    return CliRunner().invoke(plan.command, [str(file), *options])


def test_a_gate_that_is_off_in_the_scheduler_alone_leaves_the_pod_pending(tmp_path: Path) -> None:
    everywhere = f"--feature-gates={GATE}=true"
    assert "1 placed" in run(tmp_path, everywhere).output
    skewed = run(tmp_path, everywhere, f"--scheduler-feature-gates={GATE}=false")
    assert "1 Pending" in skewed.output
    assert f"feature gates: half enabled: {GATE}" in skewed.output.replace("\n    ", " ")


def test_a_gate_of_the_api_server_alone_admits_the_pod(tmp_path: Path) -> None:
    assert "1 refused" in run(tmp_path).output
    assert "1 Pending" in run(tmp_path, f"--apiserver-feature-gates={GATE}=true").output


def test_explain_has_the_gates_of_components_too(tmp_path: Path) -> None:
    both = (f"--apiserver-feature-gates={GATE}=true", f"--scheduler-feature-gates={GATE}=true")
    assert "Fits: goes to n1" in run(tmp_path, *both, explains=True).output
    assert "Pending" in run(tmp_path, both[0], explains=True).output


@pytest.mark.parametrize("component", ["apiserver", "scheduler", "controller-manager", "kubelet"])
def test_an_unknown_gate_of_a_component_is_wrong_usage(tmp_path: Path, component: str) -> None:
    answer = run(tmp_path, f"--{component}-feature-gates=Nope=true")
    assert answer.exit_code == 2
    assert f"'--{component}-feature-gates'" in answer.output
    assert "unrecognized feature gate: Nope" in answer.output
