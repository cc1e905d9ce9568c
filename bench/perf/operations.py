"""The opcodes of scheduler_perf: raw operation and parameters → one typed operation.

A field `xParam: $name` stands for `x` with the workload's parameter of that name. Unknown opcodes and fields are
errors. Kubernetes: test/integration/scheduler_perf/operations.go and dra.go.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from bench.perf.problems import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class Operation(msgspec.Struct, frozen=True, tag_field="opcode", forbid_unknown_fields=True):
    """One step of a workload; its fields are named as in the format."""


class LabelStrategy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes get one of the values in turn."""

    labelKey: str
    labelValues: tuple[str, ...]


class UniqueLabelStrategy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every node gets a value of its own."""

    labelKey: str


class AllocatableStrategy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What nodes can hold besides what the template says, and which drivers run there."""

    nodeAllocatable: dict[str, str | int] = {}
    csiNodeAllocatable: dict[str, dict[str, int]] = {}
    migratedPlugins: tuple[str, ...] = ()


class CreateNodes(Operation, frozen=True, tag="createNodes"):
    count: int = 0
    nodeTemplatePath: str = ""
    nodeAllocatableStrategy: AllocatableStrategy | None = None
    labelNodePrepareStrategy: LabelStrategy | None = None
    uniqueNodeLabelStrategy: UniqueLabelStrategy | None = None


class CreateNamespaces(Operation, frozen=True, tag="createNamespaces"):
    prefix: str = ""
    count: int = 0
    namespaceTemplatePath: str = ""


class CreatePods(Operation, frozen=True, tag="createPods"):
    count: int = 0
    steadyState: bool = False
    duration: str = ""
    collectMetrics: bool = False
    namespace: str = ""
    podTemplatePath: str = ""
    skipWaitToCompletion: bool = False
    persistentVolumeTemplatePath: str = ""
    persistentVolumeClaimTemplatePath: str = ""


class CreatePodSets(Operation, frozen=True, tag="createPodSets"):
    createPodsOp: CreatePods
    count: int = 0
    namespacePrefix: str = ""


class DeletePods(Operation, frozen=True, tag="deletePods"):
    namespace: str = ""
    labelSelector: dict[str, str] = {}
    skipWaitToCompletion: bool = False
    deletePodsPerSecond: int = 0


class Churn(Operation, frozen=True, tag="churn"):
    mode: str = ""
    number: int = 0
    intervalMilliseconds: int = 0
    namespace: str = ""
    templatePaths: tuple[str, ...] = ()


class Barrier(Operation, frozen=True, tag="barrier"):
    namespaces: tuple[str, ...] = ()
    labelSelector: dict[str, str] = {}
    stageRequirement: str = "Scheduled"


class Sleep(Operation, frozen=True, tag="sleep"):
    duration: str = ""


class CreateAny(Operation, frozen=True, tag="createAny"):
    templatePath: str = ""
    namespace: str = ""
    count: int = 1


class UpdateAny(Operation, frozen=True, tag="updateAny"):
    templatePath: str = ""
    namespace: str = ""
    count: int = 1
    updatePerSecond: int = 0
    subresources: tuple[str, ...] = ()


class CreateResourceClaims(Operation, frozen=True, tag="createResourceClaims"):
    templatePath: str = ""
    namespace: str = ""
    count: int = 0


class CreateResourceDriver(Operation, frozen=True, tag="createResourceDriver"):
    driverName: str = ""
    maxClaimsPerNode: int = 0
    nodes: str = ""


class AllocResourceClaims(Operation, frozen=True, tag="allocResourceClaims"):
    namespace: str = ""


class StartCollectingMetrics(Operation, frozen=True, tag="startCollectingMetrics"):
    namespaces: tuple[str, ...] = ()
    name: str = ""
    labelSelector: dict[str, str] = {}


class StopCollectingMetrics(Operation, frozen=True, tag="stopCollectingMetrics"):
    pass


_TYPES: tuple[type[Operation], ...] = (
    CreateNodes,
    CreateNamespaces,
    CreatePods,
    CreatePodSets,
    DeletePods,
    Churn,
    Barrier,
    Sleep,
    CreateAny,
    UpdateAny,
    CreateResourceClaims,
    CreateResourceDriver,
    AllocResourceClaims,
    StartCollectingMetrics,
    StopCollectingMetrics,
)
OPCODES: dict[str, type[Operation]] = {str(made.__struct_config__.tag): made for made in _TYPES}


def compile_operation(raw: Any, params: Mapping[str, Any], used: set[str]) -> Operation:
    """The operation with its parameters filled in; notes in `used` which those were."""
    opcode = raw.get("opcode") if isinstance(raw, dict) else None
    made = OPCODES.get(opcode) if isinstance(opcode, str) else None
    if made is None:
        raise ConfigError(f"unknown opcode {opcode!r} (known: {', '.join(OPCODES)})")
    try:
        operation = msgspec.convert(_substituted(raw, params, used), made)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{opcode}: {error}") from None
    problem = _problem(operation)
    if problem:
        raise ConfigError(f"{opcode}: {problem}")
    return operation


def _substituted(raw: Mapping[str, Any], params: Mapping[str, Any], used: set[str]) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for field, value in raw.items():
        if isinstance(value, dict) and "opcode" in value:
            filled[field] = _substituted(value, params, used)
        elif not field.endswith("Param"):
            filled.setdefault(field, value)
        elif value:
            name = str(value).removeprefix("$")
            if name not in params:
                raise ConfigError(f"parameter {name!r} is undefined")
            used.add(name)
            filled[field.removesuffix("Param")] = params[name]
    return filled


def _problem(operation: Operation) -> str:
    """What is wrong although the types are right."""
    if getattr(operation, "count", 0) < 0:
        return "count must not be negative"
    match operation:
        case CreatePods(collectMetrics=True, skipWaitToCompletion=True):
            return "collectMetrics and skipWaitToCompletion cannot be true at the same time"
        case CreatePods(steadyState=True, skipWaitToCompletion=True):
            return "skipWaitToCompletion and steadyState cannot be true at the same time"
        case CreatePods(steadyState=True) | Sleep() if seconds(operation.duration) <= 0:
            return "duration must be positive"
        case CreatePodSets():
            return _problem(operation.createPodsOp)
        case Churn(mode=mode) if mode not in ("create", "recreate"):
            return f"invalid mode {mode!r}: must be create or recreate"
        case Churn(mode="recreate", number=0):
            return "number cannot be 0 when mode is recreate"
        case Churn(templatePaths=()):
            return "templatePaths must name at least one file"
        case Barrier(stageRequirement=stage) if stage not in ("", "Scheduled", "Attempted"):
            return f"invalid stageRequirement {stage!r}: must be Scheduled or Attempted"
        case CreateAny(templatePath="") | UpdateAny(templatePath="") | CreateResourceClaims(templatePath=""):
            return "templatePath must be set"
        case CreateResourceClaims(namespace=""):
            return "namespace must be set"
        case CreateResourceDriver(driverName="") | CreateResourceDriver(nodes=""):
            return "driverName and nodes must be set"
        case CreateResourceDriver(maxClaimsPerNode=devices) if devices < 0:
            return "maxClaimsPerNode must not be negative"
        case StartCollectingMetrics(namespaces=()):
            return "namespaces cannot be empty"
    return ""


def seconds(duration: str) -> float:
    """Go's durations: `10s`, `1m30s`, `500ms`; 0 for what is none."""
    parts = _DURATION.findall(duration)
    if "".join(number + unit for number, unit in parts) != duration:
        return 0.0
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)
