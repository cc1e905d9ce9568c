"""`--config` as a user gives it: plans follow it, and a bad file is told line by line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.forked_command import forked_moorage

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
NODE = """\
apiVersion: v1
kind: Node
metadata: {{name: {name}}}
status: {{capacity: {{cpu: "4", memory: 8Gi, pods: "20"}}}}
---
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {where}
  containers: [{{name: c, image: i, resources: {{requests: {{cpu: "1", memory: 2Gi}}}}}}]
---
"""
CLUSTER = (
    NODE.format(name="empty")
    + NODE.format(name="fuller")
    + POD.format(name="there", where="nodeName: fuller")
    + POD.format(name="new", where="schedulerName: default-scheduler")
    + POD.format(name="packed", where="schedulerName: packing")
)
PACKING = (
    HEAD
    + """\
percentageOfNodesToScore: 50
profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
"""
)
BAD = (
    HEAD
    + """\
extenders: [{urlPrefix: "http://localhost"}]
profiles:
- plugins:
    filter:
      enabled: [{name: Coscheduling}]
"""
)


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    (tmp_path / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
    return tmp_path


def moorage(directory: Path, *arguments: str, config: str | None = None) -> tuple[int, str, str]:
    if config is not None:
        (directory / "scheduler.yml.txt").write_text(config, encoding="utf-8")
        arguments = (*arguments, "--config", "scheduler.yml.txt")
    ran = forked_moorage(arguments, cwd=directory)
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran.returncode, ran.stdout, ran.stderr


def nodes_of(report: str) -> dict[str, str]:
    return {pod["name"]: pod.get("node", "") for pod in json.loads(report)["pods"]}


def test_a_plan_follows_the_configuration(cluster: Path) -> None:
    code, out, err = moorage(cluster, "plan", "cluster.yaml", "-o", "json", config=PACKING)
    assert code == 0
    assert err == (
        "moorage: scheduler.yml.txt:3: note: percentageOfNodesToScore: has no effect: Moorage looks at every node\n"
    )
    placed = nodes_of(out)
    assert placed["new"] == "empty"
    assert placed["packed"] == "fuller"


def test_without_it_nobody_places_the_pods_of_other_schedulers(cluster: Path) -> None:
    code, out, _ = moorage(cluster, "plan", "cluster.yaml", "-o", "json")
    assert code == 0
    assert nodes_of(out)["packed"] == ""


def test_an_explanation_has_the_weights_and_strategy_of_the_profile(cluster: Path) -> None:
    weighted = PACKING + "  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 7}]}}\n"
    code, out, _ = moorage(cluster, "explain", "pod/packed", "-f", "cluster.yaml", config=weighted)
    assert code == 0
    assert "NodeResourcesFit ×7" in out
    assert "goes to fuller" in out


@pytest.mark.parametrize("command", [["plan", "cluster.yaml"], ["explain", "pod/new", "-f", "cluster.yaml"]])
def test_a_bad_file_is_told_line_by_line_and_nothing_is_planned(cluster: Path, command: list[str]) -> None:
    code, out, err = moorage(cluster, *command, config=BAD)
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0].startswith(
        'moorage: scheduler.yml.txt:7: profiles[0].plugins.filter.enabled[0]: FilterPlugin "Coscheduling"'
    )
    assert lines[1] == (
        "moorage: scheduler.yml.txt:3: extenders: Moorage calls no extenders: "
        "take them out, or leave their pods to a scheduler that does"
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [("none.yaml", "moorage: none.yaml: No such file or directory\n"), (".", "moorage: .: Is a directory\n")],
)
def test_a_file_that_cannot_be_read(cluster: Path, name: str, expected: str) -> None:
    assert moorage(cluster, "plan", "cluster.yaml", "--config", name) == (2, "", expected)
