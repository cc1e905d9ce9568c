"""Operations against a real server, on clusters of a few nodes: what happened is asserted, how long it took is not."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest
import uvloop
from bench.e2e.problems import RunFailed
from bench.e2e.run import Settings, refusal, run
from bench.e2e.server import Server
from tests.unit.bench.perf.suites import measured, nodes, pods, read_workload

if TYPE_CHECKING:
    from pathlib import Path

    from bench.e2e.figures import Figures

PATIENCE = 120.0


def played(
    folder: Path,
    *operations: dict[str, Any],
    restart: bool = False,
    patience: float = PATIENCE,
    up_options: tuple[str, ...] = (),
    **case: Any,
) -> tuple[list[Figures], list[str]]:
    """The figures of the operations, and what was said meanwhile."""
    workload = read_workload(folder, *operations, **case)
    assert not refusal(workload)
    said: list[str] = []
    settings = Settings(
        connections=4, patience=patience, restart=restart, folder=folder / "data", up_options=up_options
    )
    figures = uvloop.run(run(workload, settings, said.append))
    assert list((folder / "data").iterdir()) == [], "nothing is left behind"
    return figures, said


def test_pods_are_created_bound_and_watched(tmp_path: Path) -> None:
    (figures,), said = played(tmp_path, nodes(3), pods(1), measured(4), restart=True)
    assert (figures.workload, figures.nodes) == ("Case/Small", 3)
    assert (figures.scheduled, figures.without_node, figures.note) == (4, 0, "")
    assert figures.pods_per_second > 0
    assert 0 < figures.create.p50_ms <= figures.create.p99_ms
    assert 0 <= figures.bind.p50_ms <= figures.bind.p99_ms
    assert 0 < figures.memory_bytes <= figures.peak_bytes
    assert figures.startup_seconds > 0
    assert figures.restart_seconds is not None
    assert figures.restart_seconds > 0
    assert [line.partition(":")[0] for line in said] == [
        "started",
        "createNodes 3",
        "createPods 1",
        "createPods 4",
        "started again",
    ]


def test_what_else_happens_meanwhile(tmp_path: Path) -> None:
    """Most opcodes on one server: it takes longer to start one than to use it."""
    (steady, collected), said = played(
        tmp_path,
        nodes(4, labelNodePrepareStrategy={"labelKey": "zone", "labelValues": ["a", "b"]}),
        {"opcode": "createNamespaces", "prefix": "space", "count": 2, "namespaceTemplatePath": "namespace.yaml"},
        {"opcode": "createAny", "templatePath": "budget.yaml", "namespace": "space-0"},
        {
            "opcode": "churn",
            "mode": "recreate",
            "number": 1,
            "intervalMilliseconds": 5,
            "templatePaths": ["node.yaml", "service.yaml", "large-pod.yaml"],
        },
        {"opcode": "churn", "mode": "create", "number": 2, "intervalMilliseconds": 5, "templatePaths": ["node.yaml"]},
        pods(1, "gated-pod.yaml", namespace="gated", skipWaitToCompletion=True),
        {"opcode": "barrier", "stageRequirement": "Attempted"},
        pods(4, namespace="leaving"),
        {"opcode": "deletePods", "namespace": "leaving", "deletePodsPerSecond": 100, "labelSelector": {"app": "a"}},
        {"opcode": "createPodSets", "count": 2, "namespacePrefix": "set", "createPodsOp": pods(1)},
        {"opcode": "sleep", "duration": "5ms"},
        measured(2, namespace="space-0", steadyState=True, duration="50ms"),
        {"opcode": "startCollectingMetrics", "name": "late", "namespaces": ["space-1"], "labelSelector": {"app": "a"}},
        pods(2, namespace="space-1", skipWaitToCompletion=True),
        {"opcode": "barrier", "namespaces": ["space-1"]},
        {"opcode": "stopCollectingMetrics"},
        {"opcode": "deletePods", "namespace": "space-1"},
    )
    assert steady.workload == "Case/Small"
    assert steady.scheduled >= 2
    assert steady.without_node == 0
    assert (collected.workload, collected.scheduled, collected.without_node) == ("Case/Small/late", 2, 0)
    assert not [line for line in said if "found no node" in line]


def test_pods_with_volumes_priorities_and_updates(tmp_path: Path) -> None:
    volumes = {"persistentVolumeTemplatePath": "volume.yaml", "persistentVolumeClaimTemplatePath": "claim.yaml"}
    limits = {"csiNodeAllocatable": {"d.example": {"count": 2}}}
    (figures,), _ = played(
        tmp_path,
        nodes(2, nodeAllocatableStrategy=limits),
        pods(1, "large-pod.yaml", namespace="large"),
        {"opcode": "updateAny", "templatePath": "large-pod.yaml", "namespace": "large", "updatePerSecond": 100},
        {"opcode": "createNodes", "count": 1, "nodeTemplatePath": "named-node.yaml"},
        {"opcode": "updateAny", "templatePath": "named-node.yaml"},
        measured(3, **volumes),
    )
    assert (figures.scheduled, figures.nodes) == (3, 3)


def test_pods_that_find_no_node_are_reported(tmp_path: Path) -> None:
    (figures,), said = played(
        tmp_path,
        nodes(1),
        pods(1, "huge-pod.yaml", namespace="huge"),
        measured(1, "huge-pod.yaml"),
        patience=0.5,
    )
    assert (figures.scheduled, figures.without_node, figures.note) == (0, 1, "1 pods found no node")
    assert "1 pods found no node" in said


def test_what_the_server_refuses_ends_the_run_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"POST .*/pods: 409: pods \"large-0\" already exists.*still runs"):
        played(
            tmp_path, nodes(1), pods(1, "large-pod.yaml", namespace="a"), measured(1, "large-pod.yaml", namespace="a")
        )


def test_the_configuration_and_the_gates_reach_the_server(tmp_path: Path) -> None:
    (tmp_path / "scheduler.yaml").write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n", encoding="utf-8"
    )
    gates = {"TaintTolerationCEL": True, "SchedulerQueueingHints": True}
    (figures,), _ = played(tmp_path, nodes(1), measured(1), schedulerConfigPath="scheduler.yaml", featureGates=gates)
    assert figures.scheduled == 1


def test_options_of_up_reach_the_server(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="'Unknown' is not one of TaintNodesByCondition"):
        played(tmp_path, nodes(1), measured(1), up_options=("--enable-admission-plugins=Unknown",))


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    server = Server(tmp_path, ["--bind-address", "192.0.2.1"])
    with pytest.raises(RunFailed, match="the server ended with status 1; the end of its log:\\n    "):
        uvloop.run(server.start())


def test_a_server_that_is_killed_is_reported_with_its_log(tmp_path: Path) -> None:
    async def start_and_kill() -> str:
        server = Server(tmp_path)
        await server.start()
        os.kill(server.pid, signal.SIGKILL)
        fate = await server.fate()
        server.stop()
        return fate

    assert uvloop.run(start_and_kill()).startswith("the server was killed by signal 9; ")


def test_subresources_are_refused_by_name(tmp_path: Path) -> None:
    resize = {"opcode": "updateAny", "templatePath": "resized-pod.yaml", "subresources": ["resize"]}
    workload = read_workload(tmp_path, nodes(1), resize, measured(1))
    assert refusal(workload) == "not supported: updateAny of subresources resize"
