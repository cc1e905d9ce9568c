"""Workloads with devices: claims are made, allocated, written, shared and given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bench.perf.problems import ConfigError
from tests.unit.bench.perf.suites import any_of, driver, measured, nodes, pods, read_workload
from tests.unit.bench.perf.test_executor import played

if TYPE_CHECKING:
    from pathlib import Path

    from bench.perf.executor import Executor

TEMPLATE = any_of("resource-claim-template.yaml", namespace="a")
CLASS = any_of("device-class.yaml")


def devices_in_use(executor: Executor) -> list[tuple[str, str]]:
    """Return pool and device of everything that is allocated."""
    claims = executor.objects.cluster.devices.claims.values()
    results = [r for claim in claims if claim.status.allocation for r in claim.status.allocation.devices.results]
    return sorted((result.pool, result.device) for result in results)


def test_claims_from_templates_are_made_allocated_and_reserved(tmp_path: Path) -> None:
    executor, (figures,) = played(
        tmp_path, nodes(2), driver(2), CLASS, TEMPLATE, measured(5, "pod-with-template.yaml", namespace="a")
    )
    assert (figures.scheduled, figures.without_node) == (4, 1)
    assert "cannot allocate all claims" in figures.note
    assert len(set(devices_in_use(executor))) == 4
    devices = executor.objects.cluster.devices
    assert not devices.promises
    assert len(devices.claims) == 5
    for pod in executor.objects.cluster.pods.values():
        (status,) = pod.pod.status.resourceClaimStatuses
        claim = devices.claims["a", status.resourceClaimName or ""]
        assert [user.uid for user in claim.status.reservedFor] == [pod.pod.metadata.uid]


def test_pods_share_claims(tmp_path: Path) -> None:
    claims = {"opcode": "createResourceClaims", "templatePath": "resource-claim.yaml", "namespace": "a", "count": 2}
    executor, (figures,) = played(
        tmp_path, nodes(1), driver(2), CLASS, claims, measured(4, "pod-with-claim.yaml", namespace="a")
    )
    assert figures.scheduled == 4
    assert len(devices_in_use(executor)) == 2
    users = [len(claim.status.reservedFor) for claim in executor.objects.cluster.devices.claims.values()]
    assert users == [2, 2]
    for number in range(3):
        executor.objects.delete_pod(f"a/pod-{number}", 0.0, grace=False)
    assert len(devices_in_use(executor)) == 1


def test_steady_state_gives_devices_back(tmp_path: Path) -> None:
    steady = measured(2, "pod-with-template.yaml", namespace="a", steadyState=True, duration="50ms")
    executor, (figures,) = played(tmp_path, nodes(1), driver(2), CLASS, TEMPLATE, steady)
    assert figures.scheduled > 2
    assert not devices_in_use(executor)
    assert not executor.objects.cluster.devices.claims


def test_claims_are_allocated_without_pods(tmp_path: Path) -> None:
    operations: tuple[dict[str, Any], ...] = (
        nodes(3),
        driver(2),
        CLASS,
        any_of("resource-claim.yaml", 5, namespace="b"),
        any_of("resource-claim.yaml", 1, namespace="c"),
        {"opcode": "allocResourceClaims", "namespace": "b"},
    )
    executor, (figures,) = played(tmp_path, *operations, TEMPLATE, measured(2, "pod-with-template.yaml", namespace="a"))
    assert figures.scheduled == 1
    assert len(set(devices_in_use(executor))) == 6


def test_claims_that_fit_nowhere_are_named(tmp_path: Path) -> None:
    allocate = {"opcode": "allocResourceClaims"}
    claim = any_of("resource-claim.yaml", namespace="b")
    with pytest.raises(ConfigError, match="no node has the devices of claim b/claim-0"):
        played(tmp_path, nodes(1), CLASS, claim, allocate, measured(1))


def test_slices_of_all_nodes_and_churn_of_them(tmp_path: Path) -> None:
    churn = {"opcode": "churn", "mode": "recreate", "number": 1, "templatePaths": ["shared-slice.yaml"]}
    executor, (figures,) = played(
        tmp_path,
        nodes(2),
        CLASS,
        TEMPLATE,
        any_of("shared-slice.yaml", 3),
        measured(3, "pod-with-template.yaml", namespace="a"),
        {**churn, "intervalMilliseconds": 1000},
        {"opcode": "sleep", "duration": "2500ms"},
        pods(1),
    )
    assert figures.scheduled == 3
    assert [pool for pool, _ in devices_in_use(executor)] == ["shared-0", "shared-1", "shared-2"]


@pytest.mark.parametrize(("gates", "scheduled"), [({}, 1), ({"DRADeviceTaintRules": True}, 0)])
def test_taint_rules_count_where_their_gate_is_on(tmp_path: Path, gates: dict[str, bool], scheduled: int) -> None:
    _, (figures,) = played(
        tmp_path,
        nodes(1),
        any_of("taint-rule.yaml"),
        driver(1),
        CLASS,
        TEMPLATE,
        measured(1, "pod-with-template.yaml", namespace="a"),
        featureGates=gates,
    )
    assert figures.scheduled == scheduled


def test_publishing_slices_is_measured(tmp_path: Path) -> None:
    start = {"opcode": "startCollectingMetrics", "namespaces": ["default"]}
    _, (figures,) = played(tmp_path, nodes(3), start, driver(2), {"opcode": "stopCollectingMetrics"})
    assert figures.note.startswith("3 ResourceSlices known to the scheduler after ")
    assert figures.cpu_seconds > 0


def test_nothing_of_devices_is_refused(tmp_path: Path) -> None:
    workload = read_workload(tmp_path, nodes(), driver(1), CLASS, TEMPLATE, measured(1))
    assert not workload.refused
