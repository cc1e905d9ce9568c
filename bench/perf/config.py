"""scheduler_perf's files: a folder, or one performance-config.yaml → workloads that can be run or are refused by name.

In: `performance-config.yaml` files as Kubernetes has them. Out: `Workload`s called `TestCase/Workload`, each with its
typed operations, gates and labels; one that needs what Moorage lacks carries the reason instead.
Kubernetes: getTestCases and validateTestCases in scheduler_perf.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from bench.perf.objects import KINDS_MADE
from bench.perf.operations import (
    Churn,
    CreateAny,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    CreateResourceClaims,
    Operation,
    StopCollectingMetrics,
    UpdateAny,
    compile_operation,
)
from bench.perf.problems import ConfigError, NotSupported
from bench.perf.templates import Template
from moorage.model.gates import GATES, GateSet, gates_from
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "performance-config.yaml"
_KNOWN_GATES = frozenset({gate.name for gate in GATES} | {"AllAlpha", "AllBeta"})


class _RawWorkload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    params: dict[str, Any] = {}
    labels: tuple[str, ...] = ()
    featureGates: dict[str, bool] = {}
    threshold: Any = None
    thresholdMetricSelector: Any = None


class _RawTestCase(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    workloadTemplate: tuple[dict[str, Any], ...]
    workloads: tuple[_RawWorkload, ...]
    featureGates: dict[str, bool] = {}
    labels: tuple[str, ...] = ()
    defaultPodTemplatePath: str = ""
    schedulerConfigPath: str = ""
    metricsCollectorConfig: Any = None
    defaultThresholdMetricSelector: Any = None


class Workload(msgspec.Struct, frozen=True):
    """One workload: what to do, or why it cannot be done (`refused`)."""

    name: str
    file: Path
    labels: frozenset[str] = frozenset()
    operations: tuple[Operation, ...] = ()
    gates: GateSet = GateSet(frozenset())
    default_pod_template: str = ""
    configuration: Configuration = DEFAULT_CONFIGURATION
    refused: str = ""

    @property
    def nodes(self) -> int:
        """How many nodes it makes."""
        return sum(operation.count for operation in self.operations if isinstance(operation, CreateNodes))

    @property
    def case(self) -> str:
        """The test case's name; workloads' names may contain slashes, those of test cases do not."""
        return self.name.partition("/")[0]


def read_suite(suite: Path) -> list[Workload]:
    """All workloads of a file, or of all files below a folder, in the order of the files."""
    files = sorted(suite.rglob(FILE_NAME)) if suite.is_dir() else [suite]
    if not files:
        raise ConfigError(f"{suite}: no {FILE_NAME} in it")
    found: dict[str, Workload] = {}
    for file in files:
        for workload in _read_file(file):
            if workload.name in found:  # two files may have test cases of one name
                folder = file.parent.name
                workload = msgspec.structs.replace(workload, name=f"{folder}:{workload.name}")
            if workload.name in found:
                raise ConfigError(f"{file}: workload {workload.name} is not unique")
            found[workload.name] = workload
    return list(found.values())


def _read_file(file: Path) -> Iterator[Workload]:
    try:
        raw = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)
        cases = msgspec.convert(raw, tuple[_RawTestCase, ...])
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise ConfigError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    for case in cases:
        for workload in case.workloads:
            name = f"{case.name}/{workload.name}"
            try:
                yield _compile(file, case, workload, name)
            except NotSupported as refusal:
                labels = frozenset({*case.labels, *workload.labels})
                yield Workload(name, file, labels, refused=str(refusal))
            except ConfigError as error:
                raise ConfigError(f"{file}: {name}: {error}") from None


def _compile(file: Path, case: _RawTestCase, workload: _RawWorkload, name: str) -> Workload:
    used: set[str] = set()
    operations = tuple(compile_operation(raw, workload.params, used) for raw in case.workloadTemplate)
    unused = sorted(set(workload.params) - used)
    if unused:
        raise ConfigError(f"parameters defined but unused: {', '.join(unused)}")
    if not any(_collects(operation) for operation in operations):
        raise ConfigError("no operation collects metrics")
    for operation in operations:
        _check_templates(operation, file.parent)
    settings = {**case.featureGates, **workload.featureGates}
    # Other gates switch parts of kube-scheduler that have no counterpart here.
    gates = gates_from(_with_dependents({gate: on for gate, on in settings.items() if gate in _KNOWN_GATES}))
    labels = frozenset({*case.labels, *workload.labels})
    configuration = _configuration(file.parent, case.schedulerConfigPath, gates)
    return Workload(name, file, labels, operations, gates, case.defaultPodTemplatePath, configuration)


def _with_dependents(settings: dict[str, bool]) -> dict[str, bool]:
    """Turn off, too, what depends on a gate that is off: of kubelets and others, of which the files say nothing."""
    off = {gate for gate, on in settings.items() if not on}
    return {**{gate.name: False for gate in GATES if off.intersection(gate.needs)}, **settings}


def _configuration(folder: Path, path: str, gates: GateSet) -> Configuration:
    if not path:
        return DEFAULT_CONFIGURATION
    try:
        return load_configuration((folder / path).read_bytes(), path, gates)
    except OSError as error:
        raise ConfigError(f"schedulerConfigPath {path}: {error.strerror}") from None
    except ConfigurationError as error:
        raise NotSupported(f"schedulerConfigPath {error.problems[0]}") from None


def _collects(operation: Operation) -> bool:
    match operation:
        case CreatePods(collectMetrics=True) | StopCollectingMetrics():
            return True
        case CreatePodSets():
            return operation.createPodsOp.collectMetrics
    return False


def _check_templates(operation: Operation, folder: Path) -> None:
    """Refuse kinds that Moorage does not have before anything is run."""
    paths: tuple[str, ...] = ()
    match operation:
        case CreateAny() | UpdateAny() | CreateResourceClaims():
            paths = (operation.templatePath,)
        case Churn():
            paths = operation.templatePaths
    for path in paths:
        raw = Template(folder / path).document()
        kind = raw["kind"]
        if kind not in KINDS_MADE:
            opcode = type(operation).__struct_config__.tag
            raise NotSupported(f"{opcode} of {kind} ({raw.get('apiVersion', '')}), in {path}")
