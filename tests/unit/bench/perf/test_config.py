"""Reading suites: parameters, gates, labels; what is wrong, and what is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from bench.perf.config import read_suite
from bench.perf.executor import Executor
from bench.perf.operations import CreatePods, seconds
from bench.perf.problems import ConfigError
from bench.perf.selection import select
from bench.perf.twin_race import twin_kind, twins
from bench.process import ROOT
from tests.unit.bench.perf.suites import driver, measured, nodes, pods, read_workload, write_suite

from moorage.model.gates import TAINT_TOLERATION_CEL

if TYPE_CHECKING:
    from pathlib import Path


def test_parameters_are_filled_in(tmp_path: Path) -> None:
    operations = (
        {"opcode": "createNodes", "countParam": "$n"},
        {
            "opcode": "createPods",
            "countParam": "$p",
            "steadyStateParam": "$steady",
            "durationParam": "$for",
            "collectMetrics": True,
        },
        {"opcode": "createPodSets", "count": 2, "createPodsOp": {"opcode": "createPods", "countParam": "$p"}},
    )
    workload = read_workload(
        tmp_path, *operations, workload={"params": {"n": 3, "p": 4, "steady": True, "for": "1m30s"}, "labels": ["a"]}
    )
    assert workload.name == "Case/Small"
    assert workload.case == "Case"
    assert workload.nodes == 3
    assert workload.labels == {"a"}
    assert workload.operations[1] == CreatePods(count=4, steadyState=True, duration="1m30s", collectMetrics=True)
    assert workload.operations[2].createPodsOp.count == 4  # type: ignore[attr-defined]


def test_gates_of_the_workload_come_before_those_of_the_case_and_unknown_ones_change_nothing(tmp_path: Path) -> None:
    workload = read_workload(
        tmp_path,
        measured(1),
        featureGates={"TaintTolerationCEL": False, "SchedulerQueueingHints": False},
        workload={"featureGates": {"TaintTolerationCEL": True}},
    )
    assert workload.gates.enabled(TAINT_TOLERATION_CEL)


@pytest.mark.parametrize(
    ("operation", "complaint"),
    [
        ({"opcode": "createNode"}, "unknown opcode 'createNode'"),
        ({"count": 1}, "unknown opcode None"),
        ({"opcode": "createNodes", "cuont": 1}, "unknown field `cuont`"),
        ({"opcode": "createNodes", "count": "many"}, "Expected `int`"),
        ({"opcode": "createNodes", "count": -1}, "count must not be negative"),
        ({"opcode": "createNodes", "countParam": "$none"}, "parameter 'none' is undefined"),
        (measured(1, skipWaitToCompletion=True), "cannot be true at the same time"),
        (pods(1, steadyState=True, skipWaitToCompletion=True), "cannot be true at the same time"),
        (pods(1, steadyState=True), "duration must be positive"),
        ({"opcode": "sleep", "duration": "soon"}, "duration must be positive"),
        ({"opcode": "createPodSets", "createPodsOp": pods(1, steadyState=True)}, "duration must be positive"),
        ({"opcode": "churn", "mode": "stir", "templatePaths": ["pod.yaml"]}, "invalid mode 'stir'"),
        ({"opcode": "churn", "mode": "recreate", "templatePaths": ["pod.yaml"]}, "number cannot be 0"),
        ({"opcode": "churn", "mode": "create"}, "at least one file"),
        ({"opcode": "churn", "mode": "create", "templatePaths": ["none.yaml"]}, "No such file"),
        ({"opcode": "barrier", "stageRequirement": "Bound"}, "invalid stageRequirement 'Bound'"),
        ({"opcode": "createAny"}, "templatePath must be set"),
        ({"opcode": "updateAny"}, "templatePath must be set"),
        ({"opcode": "createResourceClaims", "namespace": "a"}, "templatePath must be set"),
        ({"opcode": "createResourceClaims", "templatePath": "resource-claim.yaml"}, "namespace must be set"),
        ({"opcode": "createResourceDriver", "nodes": "*"}, "driverName and nodes must be set"),
        ({"opcode": "createResourceDriver", "driverName": "d"}, "driverName and nodes must be set"),
        (driver(-1), "maxClaimsPerNode must not be negative"),
        ({"opcode": "startCollectingMetrics"}, "namespaces cannot be empty"),
    ],
)
def test_mistakes_are_named_with_file_and_workload(tmp_path: Path, operation: dict[str, Any], complaint: str) -> None:
    write_suite(tmp_path, measured(1), operation)
    with pytest.raises(ConfigError) as raised:
        read_suite(tmp_path)
    assert "performance-config.yaml: Case/Small: " in str(raised.value)
    assert complaint in str(raised.value)


def test_parameters_that_nobody_uses_and_cases_that_measure_nothing_are_mistakes(tmp_path: Path) -> None:
    write_suite(tmp_path, measured(1), workload={"params": {"typo": 1}})
    with pytest.raises(ConfigError, match="defined but unused: typo"):
        read_suite(tmp_path)
    write_suite(tmp_path, pods(1))
    with pytest.raises(ConfigError, match="no operation collects metrics"):
        read_suite(tmp_path)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (
            {"opcode": "createAny", "templatePath": "config-map.yaml"},
            "not supported: createAny of ConfigMap (v1), in config-map.yaml",
        ),
        (
            {"opcode": "churn", "mode": "create", "templatePaths": ["config-map.yaml"]},
            "not supported: churn of ConfigMap (v1), in config-map.yaml",
        ),
    ],
)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, operation: dict[str, Any], reason: str) -> None:
    workload = read_workload(tmp_path, measured(1), operation, labels=["a"])
    assert workload.refused == reason
    assert workload.labels == {"a"}


def test_the_scheduler_may_be_configured(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    head = "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
    config.write_text(head + "profiles: [{schedulerName: mine}]}", encoding="utf-8")
    workload = read_workload(tmp_path, measured(1), schedulerConfigPath="config.yaml")
    assert [profile.name for profile in workload.configuration.profiles] == ["mine"]
    config.write_text(head + "extenders: [{urlPrefix: http://x}]}", encoding="utf-8")
    workload = read_workload(tmp_path, measured(1), schedulerConfigPath="config.yaml")
    assert workload.refused.startswith("not supported: schedulerConfigPath config.yaml:1: ")
    assert "extenders" in workload.refused
    with pytest.raises(ConfigError, match=r"schedulerConfigPath none\.yaml: No such file"):
        read_workload(tmp_path, measured(1), schedulerConfigPath="none.yaml")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no performance-config\.yaml in it"):
        read_suite(tmp_path)
    file = tmp_path / "performance-config.yaml"
    with pytest.raises(ConfigError, match="No such file"):
        read_suite(file)
    for text, complaint in (("a: [", "while parsing"), ("- nome: x", "unknown field"), ("x", "Expected `array`")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigError, match=complaint):
            read_suite(file)


def test_cases_of_one_name_in_two_files_are_told_apart_by_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_suite(tmp_path / name, nodes(), measured(1))
    assert [workload.name for workload in read_suite(tmp_path)] == ["Case/Small", "two:Case/Small"]


def test_our_own_suite_can_be_read_and_run_as_a_whole() -> None:
    workloads = read_suite(ROOT / "bench" / "workloads")
    assert not [workload.name for workload in workloads if workload.refused]
    names = {workload.name for workload in workloads}
    for kind in ("Numeric", "Semver", "Cel"):
        assert {f"{kind}Tolerations/5000Nodes", f"{kind}TolerationsEqualTwin/5000Nodes"} <= names
    slow = [workload for workload in workloads if "slow" in workload.labels]
    assert [workload.name for workload in slow] == ["ScalingBasic/100000Nodes_500000Pods"]


def test_what_the_keps_add_runs_beside_a_twin_without_it() -> None:
    pairs = twins(read_suite(ROOT / "bench" / "workloads"))
    found = {workload.case: twin_kind(twin) for workload, twin in pairs if workload.name.endswith("/5000Nodes")}
    complexities = ("", "Pattern", "Semver", "Loop", "Failing", "Cold")
    assert {f"Cel{name}Tolerations": "Equal" for name in complexities}.items() <= found.items()
    assert {
        "NumericTolerations": "Equal",
        "SemverTolerations": "Equal",
        "SemverNodeAffinity": "In",
    }.items() <= found.items()
    assert {f"MatchLabelKeys{name}": "without it" for name in ("Affinity", "Spreading")}.items() <= found.items()


def test_label_keys_are_merged_into_selectors_as_the_api_server_does() -> None:
    (workload,) = select(read_suite(ROOT / "bench" / "workloads"), ["MatchLabelKeysAffinity/500Nodes"])
    operation = workload.operations[-1]
    assert isinstance(operation, CreatePods)
    pod = Executor(workload).make_pods(operation, "default")[0]
    assert pod.spec.affinity is not None
    assert pod.spec.affinity.podAffinity is not None
    (term,) = pod.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution
    assert term.labelSelector is not None
    assert [(one.key, one.operator, one.values) for one in term.labelSelector.matchExpressions] == [
        ("pod-template-hash", "In", ("5d4f",))
    ]


def test_selection(tmp_path: Path) -> None:
    workloads = read_suite(ROOT / "bench" / "workloads")
    assert [w.name for w in select(workloads, ["SchedulingBasic/5Nodes"])] == ["SchedulingBasic/5Nodes"]
    assert {w.case for w in select(workloads, ["TopologySpreading", "CelTolerations*/500Nodes"])} == {
        "TopologySpreading",
        "CelTolerations",
        "CelTolerationsEqualTwin",
    }
    short = select(workloads, [], "short,-slow")
    assert short
    assert all("short" in workload.labels for workload in short)
    with pytest.raises(ConfigError, match=r"no workload is called 'SchedulingBasics'; did you mean SchedulingBasic"):
        select(workloads, ["SchedulingBasics"])


@pytest.mark.parametrize(
    ("text", "value"), [("10s", 10), ("1m30s", 90), ("500ms", 0.5), ("1.5h", 5400), ("", 0), ("x", 0)]
)
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value
