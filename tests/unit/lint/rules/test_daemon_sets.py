"""DaemonSets that none of the given nodes would run, by the rule of their controller."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, stream, workload

from moorage.lint.finding import Finding

TAINT = "{key: dedicated, value: gpu, effect: NoSchedule}"
LINUX = "{kubernetes.io/os: linux, disk: hdd}"
WINDOWS = (
    "      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [windows]}]}]}}}\n"
)


def found(*documents: str) -> list[Finding]:
    return [finding for finding in lint(stream(*documents)) if finding.rule == "daemonset-runs-nowhere"]


def daemons(spec: str = "") -> str:
    return workload("DaemonSet", spec)


@pytest.mark.parametrize(
    ("nodes", "spec", "said", "hint", "path"),
    [
        (
            [node("a", TAINT)],
            "",
            "the node of the input should not run a pod, so that DESIRED is 0 and no event says why; "
            "node a: taint dedicated=gpu is not tolerated: no toleration is for its key and effect",
            "tolerate the taint dedicated=gpu:NoSchedule",
            "spec.template.spec.tolerations",
        ),
        (
            [
                node("a", "{key: fp, value: '30', effect: NoExecute}"),
                node("b", "{key: fp, value: '9', effect: NoSchedule}"),
            ],
            "      tolerations: [{key: fp, operator: Lt, value: '5'}]\n",
            "none of the 2 nodes of the input should run a pod, so that DESIRED is 0 and no event says why; "
            "2 nodes, such as a: taint fp=30 is not tolerated: 30 < 5 is false (toleration Lt 5)",
            "tolerate the taint fp=30:NoExecute",
            "spec.template.spec.tolerations",
        ),
        (
            [node("a", labels="{disk: hdd}"), node("b", TAINT, labels="{disk: sata}")],
            "      nodeSelector: {disk: ssd}\n",
            "node a: label disk=hdd: hdd = ssd is false; node b: label disk=sata: sata = ssd is false; "
            "taint dedicated=gpu is not tolerated: no toleration is for its key and effect",
            "nodes have disk: hdd, sata",
            "spec.template.spec.nodeSelector",
        ),
        (
            [node("a", labels="{agent: 'true'}")],
            "      nodeSelector: {agnet: 'true'}\n",
            "node a: label agnet is missing, agnet=true is required",
            "did you mean agent?",
            "spec.template.spec.nodeSelector",
        ),
        (
            [node("a")],
            "      nodeName: other\n",
            "node a: the template asks for node other",
            "",
            "spec.template.spec.nodeName",
        ),
    ],
)
def test_a_daemon_set_that_no_node_would_run(nodes: list[str], spec: str, said: str, hint: str, path: str) -> None:
    (finding,) = found(*nodes, daemons(spec))
    assert said in finding.message
    assert finding.hint.startswith(hint)
    assert finding.place.path == path


@pytest.mark.parametrize(
    ("nodes", "spec"),
    [
        ([], "      nodeSelector: {disk: ssd}\n"),
        ([node("a", TAINT), node("b")], ""),
        ([node("a", TAINT)], "      tolerations: [{operator: Exists}]\n"),
        ([node("a", spec="  unschedulable: true\n")], ""),
        ([node("a", "{key: node.kubernetes.io/not-ready, effect: NoExecute}")], ""),
        ([node("a", "{key: spot, effect: PreferNoSchedule}")], ""),
        ([node("a", labels=LINUX)], "      nodeSelector: {kubernetes.io/os: windows}\n"),
        ([node("a", labels=LINUX)], WINDOWS),
        ([node("a", labels=LINUX)], "      nodeSelector: {kubernetes.io/arch: arm64}\n"),
        ([node("a", labels=LINUX)], "      nodeSelector: {non-existing: 'true'}\n"),
        ([node("a", labels=LINUX)], "      nodeSelector: {nvidia.com/gpu.deploy.driver: 'true'}\n"),
    ],
)
def test_daemon_sets_that_run_or_are_parked(nodes: list[str], spec: str) -> None:
    assert not found(*nodes, daemons(spec))


def test_many_reasons_are_cut() -> None:
    nodes = [node(f"n{i}", f"{{key: k{i}, effect: NoSchedule}}") for i in range(9)]
    (finding,) = found(*nodes, daemons())
    assert finding.message.endswith("; 5 nodes for 5 other reasons")
    assert not [one for one in lint(stream(*nodes, workload("Deployment", ""))) if one.rule == "daemonset-runs-nowhere"]
