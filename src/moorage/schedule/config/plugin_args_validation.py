"""Is something wrong with a plugin's arguments? The answer is Kubernetes', word for word.

In: arguments, their path, the gates. Out: field errors in upstream's order. Kubernetes:
apis/config/validation/validation_pluginargs.go, after defaulting.
"""

from collections.abc import Sequence
from itertools import pairwise

from moorage.match.node_selector import compile_node_selector, compile_preferred_terms
from moorage.model.field_error import AsJSON, FieldError, duplicate, forbidden, invalid, not_supported, required
from moorage.model.gates import GateSet
from moorage.model.go.quoting import GoStruct
from moorage.model.names import label_key_errors
from moorage.model.schema.absent import ABSENT_LIST
from moorage.schedule.config.plugin_args import (
    LEAST_ALLOCATED,
    LIST,
    MAX_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SYSTEM,
    Args,
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
    weights_of,
)

Errors = list[FieldError]
_STRATEGIES = (LEAST_ALLOCATED, MAX_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_HIGHEST_POINT = 10


def validate_args(args: Args, path: str, gates: GateSet) -> Errors:
    """What is wrong with any plugin's arguments."""
    match args:
        case DefaultPreemptionArgs():
            return _preemption(args, path)
        case InterPodAffinityArgs():
            return _in_range(f"{path}.hardPodAffinityWeight", args.hard_weight, 0, 100)
        case NodeAffinityArgs():
            return _node_affinity(args, f"{path}.addedAffinity", gates)
        case NodeResourcesBalancedAllocationArgs():
            return _balanced_allocation(args, f"{path}.resources")
        case NodeResourcesFitArgs():
            return _fit(args, path)
        case PodTopologySpreadArgs():
            return _spread(args, path)
        case VolumeBindingArgs():
            return _volume_binding(args, path)
    return []


def _in_range(path: str, value: int, low: int, high: int) -> Errors:
    return [] if low <= value <= high else [invalid(path, value, f"not in valid range [{low}, {high}]")]


def _preemption(args: DefaultPreemptionArgs, path: str) -> Errors:
    percentage = 10 if args.minCandidateNodesPercentage is None else args.minCandidateNodesPercentage
    absolute = 100 if args.minCandidateNodesAbsolute is None else args.minCandidateNodesAbsolute
    percentage_path, absolute_path = f"{path}.minCandidateNodesPercentage", f"{path}.minCandidateNodesAbsolute"
    errors = _in_range(percentage_path, percentage, 0, 100)
    if absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == 0 and absolute == 0:
        together = "cannot be zero at the same time as"
        errors.append(invalid(percentage_path, 0, f"{together} minCandidateNodesAbsolute"))
        errors.append(invalid(absolute_path, 0, f"{together} minCandidateNodesPercentage"))
    return errors


def _node_affinity(args: NodeAffinityArgs, path: str, gates: GateSet) -> Errors:
    added = args.addedAffinity
    if added is None:
        return []
    errors: Errors = []
    required_terms = added.requiredDuringSchedulingIgnoredDuringExecution
    if required_terms is not None:
        where = f"{path}.requiredDuringSchedulingIgnoredDuringExecution"
        errors += compile_node_selector(required_terms, gates, where).errors
    where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution"
    errors += compile_preferred_terms(added.preferredDuringSchedulingIgnoredDuringExecution, gates, where).errors
    return errors


def _balanced_allocation(args: NodeResourcesBalancedAllocationArgs, path: str) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for i, (name, weight) in enumerate(weights_of(args.resources)):
        if name in seen:
            errors.append(duplicate(f"{path}[{i}].name", name))
        seen.add(name)
        if weight != 1:
            errors.append(invalid(f"{path}[{i}].weight", weight, "must be 1"))
    return errors


def _fit(args: NodeResourcesFitArgs, path: str) -> Errors:
    errors: Errors = []
    for i, resource in enumerate(args.ignoredResources):
        errors += _label_name(f"{path}.ignoredResources[{i}]", resource)
    for i, group in enumerate(args.ignoredResourceGroups):
        where = f"{path}.ignoredResourceGroups[{i}]"
        if "/" in group:
            errors.append(invalid(where, group, "resource group name can't contain '/'"))
        errors += _label_name(where, group)
    path = f"{path}.scoringStrategy"
    strategy = args.strategy
    if strategy.type not in _STRATEGIES:
        errors.append(not_supported(f"{path}.type", AsJSON(strategy.type), _STRATEGIES))
    for i, (name, weight) in enumerate(weights_of(strategy.resources)):
        if not 0 < weight <= 100:
            detail = f"resource weight of {name} not in valid range (0, 100]"
            errors.append(invalid(f"{path}.resources[{i}].weight", weight, detail))
    path = f"{path}.requestedToCapacityRatio"
    ratio = strategy.requestedToCapacityRatio
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            errors.append(forbidden(path, "must be nil when type is not RequestedToCapacityRatio"))
    elif ratio is None:
        errors.append(required(path, "must be specified when type is RequestedToCapacityRatio"))
    else:
        errors += _function_shape(ratio.shape, f"{path}.shape")
    return errors


def _label_name(path: str, name: str) -> Errors:
    return [invalid(path, name, detail) for detail in label_key_errors(name)]


def _function_shape(shape: Sequence[UtilizationShapePoint], path: str) -> Errors:
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors: Errors = []
    for i, (before, after) in enumerate(pairwise(shape), 1):
        if before.utilization >= after.utilization:
            where = f"{path}[{i}].utilization"
            errors.append(invalid(where, after.utilization, "values must be sorted in increasing order"))
            break
    for i, point in enumerate(shape):
        errors += _in_range(f"{path}[{i}].utilization", point.utilization, 0, 100)
        errors += _in_range(f"{path}[{i}].score", point.score, 0, _HIGHEST_POINT)
    return errors


def _spread(args: PodTopologySpreadArgs, path: str) -> Errors:
    errors: Errors = []
    constraints = args.defaultConstraints
    if args.defaulting not in (SYSTEM, LIST):
        errors.append(not_supported(f"{path}.defaultingType", AsJSON(args.defaulting), (SYSTEM, LIST)))
    elif args.defaulting == SYSTEM and constraints:
        detail = "when .defaultConstraints are not empty"
        errors.append(invalid(f"{path}.defaultingType", AsJSON(SYSTEM), detail))
    path = f"{path}.defaultConstraints"
    for i, constraint in enumerate(constraints):
        where = f"{path}[{i}]"
        if constraint.maxSkew <= 0:
            errors.append(invalid(f"{where}.maxSkew", constraint.maxSkew, "not in valid range (0, inf)"))
        if not constraint.topologyKey:
            errors.append(required(f"{where}.topologyKey", "can not be empty"))
        else:
            errors += _label_name(f"{where}.topologyKey", constraint.topologyKey)
        action = constraint.whenUnsatisfiable
        if not action:
            errors.append(required(f"{where}.whenUnsatisfiable", "can not be empty"))
        elif action not in _ACTIONS:
            errors.append(not_supported(f"{where}.whenUnsatisfiable", AsJSON(action), _ACTIONS))
        if constraint.labelSelector is not None:
            detail = "constraint must not define a selector, as they deduced for each pod"
            errors.append(forbidden(f"{where}.labelSelector", detail))
        pair = (constraint.topologyKey, action)
        if pair in [(other.topologyKey, other.whenUnsatisfiable) for other in constraints[:i]]:
            errors.append(duplicate(where, f"{{{constraint.topologyKey}, {action}}}"))
    return errors


def _volume_binding(args: VolumeBindingArgs, path: str) -> Errors:
    errors: Errors = []
    if args.bindTimeoutSeconds is not None and args.bindTimeoutSeconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(f"{path}.bindTimeoutSeconds", args.bindTimeoutSeconds, detail))
    if args.shape is not ABSENT_LIST:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        points = [GoStruct(Utilization=point.utilization, Score=point.score) for point in args.shape]
        errors.append(invalid(f"{path}.shape", points, detail))
    return errors
