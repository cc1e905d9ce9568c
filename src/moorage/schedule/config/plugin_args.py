"""Define the arguments of plugins, field for field those of Kubernetes: views, defaults and validation.

Kubernetes: types_pluginargs.go and defaults.go of kubescheduler.config.k8s.io/v1, and validation_pluginargs.go.
Differs: without arguments, DefaultPreemption looks at every node.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from collections.abc import Iterator, Sequence
from itertools import pairwise

from moorage.columns.resources import CPU, MEMORY
from moorage.match.node_selector import compile_node_selector, compile_preferred_terms
from moorage.model.field_error import AsJSON, FieldError, duplicate, forbidden, invalid, not_supported, required
from moorage.model.gates import (
    DRA_DEVICE_BINDING_CONDITIONS,
    DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    DRA_SCHEDULER_FILTER_TIMEOUT,
    STORAGE_CAPACITY_SCORING,
    GateSet,
)
from moorage.model.go.quoting import GoStruct
from moorage.model.go.times import DurationError, duration_text, parse_duration
from moorage.model.names import label_key_errors
from moorage.model.types.meta import TypeMeta
from moorage.model.types.pod import NodeAffinity, TopologySpreadConstraint
from moorage.model.types.view import ABSENT_LIST, Int32, Int64, View

DEFAULT_BINDING_SECONDS = 600.0
_SECOND = 1_000_000_000
SYSTEM, LIST = "System", "List"
LEAST_ALLOCATED, MOST_ALLOCATED = "LeastAllocated", "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
Weights = tuple[tuple[str, int], ...]
Errors = Iterator[FieldError]
_STRATEGIES = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_HIGHEST_POINT = 10


class Args(TypeMeta, frozen=True, gc=False):
    """The base of all arguments, which may give their apiVersion and kind."""

    def validate(self, path: str, gates: GateSet) -> Errors:
        """Yield Kubernetes' field errors, in its order."""
        yield from ()

    def decoding_problems(self) -> list[tuple[str, str]]:
        """Return the fields whose text cannot be parsed, with Go's error text."""
        return []


class DefaultPreemptionArgs(Args, frozen=True, gc=False):
    """How many candidates are enough: a part of the nodes where it may help, but at least a number. None: all."""

    minCandidateNodesPercentage: Int32 | None = None
    minCandidateNodesAbsolute: Int32 | None = None

    @property
    def looks_everywhere(self) -> bool:
        return self.minCandidateNodesPercentage is None and self.minCandidateNodesAbsolute is None

    def enough(self, nodes: int) -> int:
        percentage, absolute = self._limits
        return min(nodes, max(nodes * percentage // 100, absolute))

    @property
    def _limits(self) -> tuple[int, int]:
        percentage, absolute = self.minCandidateNodesPercentage, self.minCandidateNodesAbsolute
        return 10 if percentage is None else percentage, 100 if absolute is None else absolute

    def validate(self, path: str, gates: GateSet) -> Errors:
        percentage, absolute = self._limits
        percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
        yield from _in_range(percentage_path, percentage, 0, 100)
        if absolute < 0:
            yield invalid(absolute_path, absolute, "not in valid range [0, inf)")
        if percentage == 0 and absolute == 0:
            together = "cannot be zero at the same time as"
            yield invalid(percentage_path, 0, f"{together} minCandidateNodesAbsolute")
            yield invalid(absolute_path, 0, f"{together} minCandidateNodesPercentage")


class InterPodAffinityArgs(Args, frozen=True, gc=False):
    hardPodAffinityWeight: Int32 | None = None
    ignorePreferredTermsOfExistingPods: bool = False

    @property
    def hard_weight(self) -> int:
        return 1 if self.hardPodAffinityWeight is None else self.hardPodAffinityWeight

    def validate(self, path: str, gates: GateSet) -> Errors:
        yield from _in_range(f"{path}.hardPodAffinityWeight", self.hard_weight, 0, 100)


class ResourceSpec(View, frozen=True, gc=False):
    name: str = ""
    weight: Int64 = 0


class UtilizationShapePoint(View, frozen=True, gc=False):
    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(View, frozen=True, gc=False):
    shape: tuple[UtilizationShapePoint, ...] = ABSENT_LIST


class ScoringStrategy(View, frozen=True, gc=False):
    type: str = ""
    resources: tuple[ResourceSpec, ...] = ABSENT_LIST
    requestedToCapacityRatio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(Args, frozen=True, gc=False):
    ignoredResources: tuple[str, ...] = ABSENT_LIST
    ignoredResourceGroups: tuple[str, ...] = ABSENT_LIST
    scoringStrategy: ScoringStrategy | None = None

    @property
    def strategy(self) -> ScoringStrategy:
        return self.scoringStrategy or ScoringStrategy(LEAST_ALLOCATED)

    def validate(self, path: str, gates: GateSet) -> Errors:
        for i, resource in enumerate(self.ignoredResources):
            yield from _label_name(f"{path}.ignoredResources[{i}]", resource)
        for i, group in enumerate(self.ignoredResourceGroups):
            where = f"{path}.ignoredResourceGroups[{i}]"
            if "/" in group:
                yield invalid(where, group, "resource group name can't contain '/'")
            yield from _label_name(where, group)
        path = f"{path}.scoringStrategy"
        strategy = self.strategy
        if strategy.type not in _STRATEGIES:
            yield not_supported(f"{path}.type", AsJSON(strategy.type), _STRATEGIES)
        for i, (name, weight) in enumerate(weights_of(strategy.resources)):
            if not 0 < weight <= 100:
                detail = f"resource weight of {name} not in valid range (0, 100]"
                yield invalid(f"{path}.resources[{i}].weight", weight, detail)
        path = f"{path}.requestedToCapacityRatio"
        ratio = strategy.requestedToCapacityRatio
        if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
            if ratio is not None:
                yield forbidden(path, "must be nil when type is not RequestedToCapacityRatio")
        elif ratio is None:
            yield required(path, "must be specified when type is RequestedToCapacityRatio")
        else:
            yield from _function_shape(ratio.shape, f"{path}.shape")


class NodeResourcesBalancedAllocationArgs(Args, frozen=True, gc=False):
    resources: tuple[ResourceSpec, ...] = ABSENT_LIST

    def validate(self, path: str, gates: GateSet) -> Errors:
        path = f"{path}.resources"
        seen: set[str] = set()
        for i, (name, weight) in enumerate(weights_of(self.resources)):
            if name in seen:
                yield duplicate(f"{path}[{i}].name", name)
            seen.add(name)
            if weight != 1:
                yield invalid(f"{path}[{i}].weight", weight, "must be 1")


class PodTopologySpreadArgs(Args, frozen=True, gc=False):
    defaultConstraints: tuple[TopologySpreadConstraint, ...] = ABSENT_LIST
    defaultingType: str = ""

    @property
    def defaulting(self) -> str:
        return self.defaultingType or SYSTEM

    def validate(self, path: str, gates: GateSet) -> Errors:
        constraints = self.defaultConstraints
        if self.defaulting not in (SYSTEM, LIST):
            yield not_supported(f"{path}.defaultingType", AsJSON(self.defaulting), (SYSTEM, LIST))
        elif self.defaulting == SYSTEM and constraints:
            detail = "when .defaultConstraints are not empty"
            yield invalid(f"{path}.defaultingType", AsJSON(SYSTEM), detail)
        path = f"{path}.defaultConstraints"
        for i, constraint in enumerate(constraints):
            where = f"{path}[{i}]"
            if constraint.maxSkew <= 0:
                yield invalid(f"{where}.maxSkew", constraint.maxSkew, "not in valid range (0, inf)")
            if not constraint.topologyKey:
                yield required(f"{where}.topologyKey", "can not be empty")
            else:
                yield from _label_name(f"{where}.topologyKey", constraint.topologyKey)
            action = constraint.whenUnsatisfiable
            if not action:
                yield required(f"{where}.whenUnsatisfiable", "can not be empty")
            elif action not in _ACTIONS:
                yield not_supported(f"{where}.whenUnsatisfiable", AsJSON(action), _ACTIONS)
            if constraint.labelSelector is not None:
                detail = "constraint must not define a selector, as they deduced for each pod"
                yield forbidden(f"{where}.labelSelector", detail)
            pair = (constraint.topologyKey, action)
            if pair in [(other.topologyKey, other.whenUnsatisfiable) for other in constraints[:i]]:
                yield duplicate(where, f"{{{constraint.topologyKey}, {action}}}")


class VolumeBindingArgs(Args, frozen=True, gc=False):
    """`bindTimeoutSeconds` is read by the live binder only."""

    bindTimeoutSeconds: Int64 | None = None
    shape: tuple[UtilizationShapePoint, ...] = ABSENT_LIST

    def validate(self, path: str, gates: GateSet) -> Errors:
        if self.bindTimeoutSeconds is not None and self.bindTimeoutSeconds < 0:
            detail = "invalid BindTimeoutSeconds, should not be a negative value"
            yield invalid(f"{path}.bindTimeoutSeconds", self.bindTimeoutSeconds, detail)
        if gates.enabled(STORAGE_CAPACITY_SCORING):
            if self.shape:  # without one the default is used
                yield from _function_shape(self.shape, f"{path}.shape")
        elif self.shape is not ABSENT_LIST:
            detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
            points = [GoStruct(Utilization=point.utilization, Score=point.score) for point in self.shape]
            yield invalid(f"{path}.shape", points, detail)


class DynamicResourcesArgs(Args, frozen=True, gc=False):
    """`bindingTimeout` is read by the live binder only; `filterTimeout` by nothing: a search is bounded by steps."""

    filterTimeout: str | None = None
    bindingTimeout: str | None = None

    @property
    def binding_seconds(self) -> float:
        return DEFAULT_BINDING_SECONDS if self.bindingTimeout is None else parse_duration(self.bindingTimeout) / _SECOND

    def decoding_problems(self) -> list[tuple[str, str]]:
        problems = []
        for name in ("filterTimeout", "bindingTimeout"):
            try:
                parse_duration(getattr(self, name) or "0")
            except DurationError as error:
                problems.append((name, str(error)))
        return problems

    def validate(self, path: str, gates: GateSet) -> Errors:
        if self.filterTimeout is not None:
            where, duration = f"{path}.filterTimeout", parse_duration(self.filterTimeout)
            if not gates.enabled(DRA_SCHEDULER_FILTER_TIMEOUT):
                yield forbidden(where, "DRASchedulingFilterTimeout feature gate is disabled")
            elif duration < 0:
                yield invalid(where, duration_text(duration), "must be zero or positive")
        if self.bindingTimeout is not None:
            where, duration = f"{path}.bindingTimeout", parse_duration(self.bindingTimeout)
            needed = (DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS)
            if not all(map(gates.enabled, needed)):
                detail = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
                yield forbidden(where, detail)
            elif duration < _SECOND:
                yield invalid(where, duration_text(duration), "must be at least 1 second")


class NodeAffinityArgs(Args, frozen=True, gc=False):
    addedAffinity: NodeAffinity | None = None

    def validate(self, path: str, gates: GateSet) -> Errors:
        path = f"{path}.addedAffinity"
        added = self.addedAffinity
        if added is None:
            return
        required_terms = added.requiredDuringSchedulingIgnoredDuringExecution
        if required_terms is not None:
            where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
            yield from compile_node_selector(required_terms, gates, where).errors
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
        yield from compile_preferred_terms(added.preferredDuringSchedulingIgnoredDuringExecution, gates, where).errors


def weights_of(resources: Sequence[ResourceSpec]) -> Weights:
    """Return resources with their weights: CPU and memory if none are named, and 1 where no weight is given."""
    return tuple((spec.name, spec.weight or 1) for spec in resources) or ((CPU, 1), (MEMORY, 1))


def _in_range(path: str, value: int, low: int, high: int) -> Errors:
    if not low <= value <= high:
        yield invalid(path, value, f"not in valid range [{low}, {high}]")


def _label_name(path: str, name: str) -> Errors:
    return (invalid(path, name, detail) for detail in label_key_errors(name))


def _function_shape(shape: Sequence[UtilizationShapePoint], path: str) -> Errors:
    if not shape:
        yield required(path, "at least one point must be specified")
        return
    for i, (before, after) in enumerate(pairwise(shape), 1):
        if before.utilization >= after.utilization:
            where = f"{path}[{i}].utilization"
            yield invalid(where, after.utilization, "values must be sorted in increasing order")
            break
    for i, point in enumerate(shape):
        yield from _in_range(f"{path}[{i}].utilization", point.utilization, 0, 100)
        yield from _in_range(f"{path}[{i}].score", point.score, 0, _HIGHEST_POINT)
