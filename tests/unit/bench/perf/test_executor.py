"""Each opcode on a cluster of a few nodes: what happened is asserted, how long it took is not."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from bench.perf.executor import Executor, run
from bench.perf.problems import ConfigError
from tests.unit.bench.perf.suites import measured, nodes, pods, read_workload

if TYPE_CHECKING:
    from pathlib import Path

    from bench.perf.figures import Figures


def played(folder: Path, *operations: dict[str, Any], **case: Any) -> tuple[Executor, list[Figures]]:
    """All operations, and a last one that measures, so that the case is one; each look at the clock takes 1 µs."""
    workload = read_workload(folder, *operations, **case)
    assert not workload.refused
    looks = count()
    executor = Executor(workload, timer=lambda: next(looks) / 1_000_000)
    for index, operation in enumerate(workload.operations):
        executor.run(operation, index)
    return executor, executor.figures


def test_pods_are_created_and_measured(tmp_path: Path) -> None:
    executor, (figures,) = played(tmp_path, nodes(3), pods(1), measured(4))
    assert (figures.workload, figures.nodes) == ("Case/Small", 3)
    assert (figures.scheduled, figures.without_node, figures.failed_attempts) == (4, 0, 0)
    assert figures.pods_per_second > 0
    assert 0 < figures.p50_us <= figures.p99_us
    assert figures.peak_bytes > 1_000_000
    assert len(executor.objects.cluster.pods) == 5
    assert {record.pod.metadata.namespace for record in executor.objects.cluster.pods.values()} == {
        "namespace-1",
        "namespace-2",
    }


def test_run_is_all_of_it(tmp_path: Path) -> None:
    (figures,) = run(read_workload(tmp_path, nodes(1), measured(2)))
    assert figures.scheduled == 2


def test_templates_may_be_left_out(tmp_path: Path) -> None:
    executor, (figures,) = played(
        tmp_path, {"opcode": "createNodes", "count": 2}, {"opcode": "createPods", "count": 3, "collectMetrics": True}
    )
    assert figures.scheduled == 3
    assert all(name.startswith("node-0-") for name in executor.objects.cluster.nodes.slot_of)


def test_the_default_template_is_the_cases(tmp_path: Path) -> None:
    executor, _ = played(
        tmp_path,
        nodes(),
        {"opcode": "createPods", "count": 1, "collectMetrics": True},
        defaultPodTemplatePath="large-pod.yaml",
    )
    assert list(executor.objects.cluster.pods) == ["namespace-1/large-0"]


def test_pods_that_do_not_fit_are_counted_with_the_reason(tmp_path: Path) -> None:
    _, (figures,) = played(tmp_path, nodes(1), measured(3))
    assert (figures.scheduled, figures.without_node) == (2, 1)
    assert figures.failed_attempts > 0
    assert figures.note.startswith("1 pods found no node: 0/1 nodes are available: 1 Insufficient cpu.")


def test_node_strategies(tmp_path: Path) -> None:
    executor, _ = played(
        tmp_path,
        nodes(4, labelNodePrepareStrategy={"labelKey": "zone", "labelValues": ["a", "b"]}),
        nodes(2, uniqueNodeLabelStrategy={"labelKey": "serial"}),
        nodes(
            1,
            nodeAllocatableStrategy={
                "nodeAllocatable": {"example.com/x": "7"},
                "csiNodeAllocatable": {"d.example": {"count": 3}},
                "migratedPlugins": ["kubernetes.io/aws-ebs"],
            },
        ),
        measured(1),
    )
    made = [node for _, node in executor.objects.cluster.nodes]
    assert sorted(node.metadata.labels["zone"] for node in made if "zone" in node.metadata.labels) == list("aabb")
    assert len({node.metadata.labels["serial"] for node in made if "serial" in node.metadata.labels}) == 2
    assert [str(n.status.allocatable["example.com/x"]) for n in made if "example.com/x" in n.status.allocatable] == [
        "7"
    ]
    assert all(node.metadata.labels["kubernetes.io/hostname"] == node.metadata.name for node in made)


def test_namespaces_and_pod_sets(tmp_path: Path) -> None:
    executor, (figures,) = played(
        tmp_path,
        nodes(4),
        {"opcode": "createNamespaces", "prefix": "ns", "count": 2, "namespaceTemplatePath": "namespace.yaml"},
        {"opcode": "createPodSets", "count": 2, "namespacePrefix": "ns", "createPodsOp": pods(2)},
        measured(1, namespace="ns-1"),
    )
    cluster = executor.objects.cluster
    assert cluster.namespaces["ns-0"] == {"team": "t", "kubernetes.io/metadata.name": "ns-0"}
    assert len(cluster.pods) == 5
    assert figures.scheduled == 1


def test_steady_state_replaces_pods_for_a_while(tmp_path: Path) -> None:
    executor, (figures,) = played(tmp_path, nodes(2), measured(2, steadyState=True, duration="20ms"))
    assert figures.scheduled >= 2
    assert not executor.objects.cluster.pods


def test_volumes_come_with_their_claims(tmp_path: Path) -> None:
    for template in ("volume.yaml", "disk.yaml"):
        executor, (figures,) = played(
            tmp_path,
            nodes(1),
            measured(2, persistentVolumeTemplatePath=template, persistentVolumeClaimTemplatePath="claim.yaml"),
        )
        storage = executor.objects.cluster.storage
        assert figures.scheduled == 2
        assert sorted(storage.claims) == [("namespace-1", "pvc-0"), ("namespace-1", "pvc-1")]
        assert storage.claims["namespace-1", "pvc-1"].spec.volumeName == "namespace-1-vol-1"
        assert set(storage.volumes) == {"namespace-1-vol-0", "namespace-1-vol-1"}


def test_pods_with_a_node_are_there_at_once(tmp_path: Path) -> None:
    executor, _ = played(tmp_path, nodes(1, "named-node.yaml"), pods(1, "placed-pod.yaml"), nodes(1), measured(1))
    assert executor.objects.cluster.pods["namespace-1/placed-0"].slot == 0


def test_barriers_wait_for_attempts_or_for_nodes(tmp_path: Path) -> None:
    executor, (figures,) = played(
        tmp_path,
        nodes(1),
        pods(2, "huge-pod.yaml", skipWaitToCompletion=True, namespace="a"),
        pods(1, "gated-pod.yaml", skipWaitToCompletion=True, namespace="a"),
        {"opcode": "barrier", "stageRequirement": "Attempted"},
        nodes(2, "named-node.yaml"),
        {"opcode": "barrier", "labelSelector": {"app": "huge"}, "namespaces": ["a"]},
        measured(1),
    )
    assert executor.objects.attempted == {"a/huge-0", "a/huge-1"}
    assert {key for key in executor.objects.cluster.pods if key.startswith("a/")} == {"a/huge-0", "a/huge-1"}
    assert figures.scheduled == 1


def test_collecting_is_started_and_stopped(tmp_path: Path) -> None:
    start = {"opcode": "startCollectingMetrics", "name": "those", "namespaces": ["a"], "labelSelector": {"app": "a"}}
    stop = {"opcode": "stopCollectingMetrics"}
    _, (figures,) = played(tmp_path, nodes(3), start, pods(2, namespace="a"), pods(2, namespace="b"), stop)
    assert (figures.workload, figures.scheduled) == ("Case/Small/those", 2)
    with pytest.raises(ConfigError, match="overlapping"):
        played(tmp_path, nodes(1), start, start, stop)
    with pytest.raises(ConfigError, match="without startCollectingMetrics"):
        played(tmp_path, nodes(1), stop)


def test_pods_are_deleted_at_once_or_in_turns(tmp_path: Path) -> None:
    delete = {"opcode": "deletePods", "namespace": "a"}
    executor, _ = played(tmp_path, nodes(2), pods(3, namespace="a"), delete, measured(4))
    assert len(executor.objects.cluster.pods) == 4
    executor, _ = played(
        tmp_path, nodes(2), pods(3, namespace="a"), {**delete, "deletePodsPerSecond": 100}, measured(4)
    )
    assert len(executor.objects.cluster.pods) == 4
    in_the_background = {**delete, "deletePodsPerSecond": 10, "skipWaitToCompletion": True}
    executor, (figures,) = played(tmp_path, nodes(2), pods(4, namespace="a"), in_the_background, measured(2))
    assert figures.scheduled == 2  # there was room only after two had gone


def test_finalizers_and_grace_keep_pods(tmp_path: Path) -> None:
    delete = {"opcode": "deletePods", "namespace": "a"}
    executor, _ = played(tmp_path, nodes(2), pods(1, "kept-pod.yaml", namespace="a"), delete, measured(1))
    (kept,) = (r for k, r in executor.objects.cluster.pods.items() if k.startswith("a/"))
    assert kept.pod.metadata.deletionTimestamp is not None
    waiting = pods(1, "kept-pod.yaml", namespace="a", skipWaitToCompletion=True)
    executor, _ = played(tmp_path, waiting, delete, nodes(1), measured(1))
    assert [key for key in executor.objects.cluster.pods if key.startswith("a/")] == []


def test_preemption_evicts_and_nominates(tmp_path: Path) -> None:
    executor, (figures,) = played(tmp_path, nodes(1), pods(2), measured(1, "large-pod.yaml"))
    assert (figures.scheduled, figures.failed_attempts) == (1, 1)
    assert list(executor.objects.cluster.pods) == ["namespace-2/large-0"]


def test_churn_creates_as_time_goes_by(tmp_path: Path) -> None:
    churn = {"opcode": "churn", "mode": "create", "number": 3, "intervalMilliseconds": 10, "namespace": "c"}
    executor, _ = played(
        tmp_path,
        nodes(1),
        {**churn, "templatePaths": ["pod.yaml", "service.yaml"]},
        {"opcode": "sleep", "duration": "1s"},
        nodes(1),
        measured(1),
    )
    objects = executor.objects
    assert sum(key.startswith("c/") for key in (*objects.cluster.pods, *objects.pending)) == 3


def test_churn_recreates(tmp_path: Path) -> None:
    paths = ["node.yaml", "pod.yaml", "service.yaml", "budget.yaml"]
    churn = {"opcode": "churn", "mode": "recreate", "number": 1, "templatePaths": paths, "namespace": "c"}
    for turns, there in ((1, 1), (2, 0), (3, 1)):
        executor, _ = played(
            tmp_path,
            nodes(2),
            {**churn, "intervalMilliseconds": 1000},
            {"opcode": "sleep", "duration": f"{turns}.5s"},
            measured(1),
        )
        objects = executor.objects
        assert len(objects.cluster.nodes) == 2 + there
        assert sum(key.startswith("c/") for key in (*objects.cluster.pods, *objects.pending)) == there


def test_any_object_can_be_created(tmp_path: Path) -> None:
    def any_of(template: str, **fields: Any) -> dict[str, Any]:
        return {"opcode": "createAny", "templatePath": template, **fields}

    executor, _ = played(
        tmp_path,
        any_of("named-node.yaml", count=2),
        any_of("large-pod.yaml", namespace="a"),
        any_of("service.yaml", namespace="a"),
        any_of("budget.yaml", namespace="a"),
        any_of("claim.yaml", namespace="a"),
        measured(1, namespace="a"),
    )
    cluster = executor.objects.cluster
    assert set(cluster.nodes.slot_of) == {"node-0", "node-1"}
    assert "a" in cluster.namespaces
    assert "a/large-0" in executor.objects.cluster.pods


def test_nodes_and_waiting_pods_are_updated(tmp_path: Path) -> None:
    def update(template: str, **fields: Any) -> dict[str, Any]:
        return {"opcode": "updateAny", "templatePath": template, **fields}

    tiny = tmp_path / "tiny-node.yaml"
    tiny.write_text('{kind: Node, apiVersion: v1, metadata: {name: node-0}, status: {capacity: {pods: "0"}}}')
    executor, (figures,) = played(
        tmp_path,
        {"opcode": "createAny", "templatePath": "tiny-node.yaml"},
        pods(1, "huge-pod.yaml", namespace="a", skipWaitToCompletion=True),
        {"opcode": "barrier", "stageRequirement": "Attempted"},
        update("named-node.yaml", count=1, updatePerSecond=100),
        {"opcode": "barrier"},
        update("huge-pod.yaml", namespace="a"),
        update("large-pod.yaml", namespace="nowhere"),
        measured(1),
    )
    assert "a/huge-0" in executor.objects.cluster.pods
    assert figures.scheduled == 1


def test_a_pod_on_a_node_is_resized(tmp_path: Path) -> None:
    executor, (figures,) = played(
        tmp_path,
        nodes(1, "named-node.yaml"),
        pods(1, "placed-pod.yaml", namespace="a"),
        {"opcode": "updateAny", "templatePath": "resized-pod.yaml", "namespace": "a", "subresources": ["resize"]},
        measured(2),
    )
    assert figures.scheduled == 2
    assert executor.objects.cluster.pods["a/placed-0"].pod.spec.nodeName == "node-0"


def test_fields_are_found_by_any_case_of_their_name(tmp_path: Path) -> None:
    (tmp_path / "odd.yaml").write_text(
        "{kind: Pod, apiVersion: v1, metadata: {name: odd}, spec: {NodeName: node-0, Containers: [{Name: c}]}}"
    )
    executor, _ = played(tmp_path, nodes(1, "named-node.yaml"), pods(1, "odd.yaml", namespace="a"), measured(1))
    assert executor.objects.cluster.pods["a/odd"].pod.spec.containers[0].name == "c"


def test_a_template_that_is_no_object_of_its_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("{kind: Pod, apiVersion: v1, spec: {priority: high}}")
    with pytest.raises(ConfigError, match=r"bad\.yaml: .*priority"):
        played(tmp_path, nodes(1), measured(1, "bad.yaml"))
