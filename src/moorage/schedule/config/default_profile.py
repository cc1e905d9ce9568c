"""List Moorage's own plugins, in the order in which they run unless a configuration says otherwise.

The order matters twice: the first plugin to refuse a node gives the reason that is counted in the event, and cheap
filters whose refusals are final come before expensive ones.
Kubernetes: apis/config/v1/default_plugins.go and framework/plugins/registry.go. Differs: pod groups are not supported.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from moorage.match.evaluation.accounts import Evaluations
from moorage.match.tolerations import ProgramCache
from moorage.model.gates import (
    DYNAMIC_RESOURCE_ALLOCATION,
    NODE_DECLARED_FEATURES,
    STORAGE_CAPACITY_SCORING,
    TAINT_TOLERATION_CEL,
    Gate,
    GateSet,
)
from moorage.schedule.config import plugin_args
from moorage.schedule.config.configuration_views import Point
from moorage.schedule.framework.plugin import Plugin, PreFilterOnly, Profile
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.devices.sliced_searches import SlicedSearches
from moorage.schedule.plugins.image_locality import ImageLocality
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.node_declared_features import NodeDeclaredFeatures
from moorage.schedule.plugins.node_name import NodeName
from moorage.schedule.plugins.node_ports import NodePorts
from moorage.schedule.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from moorage.schedule.plugins.node_resources_fit import (
    NodeResourcesFit,
    Strategy,
    least_allocated,
    most_allocated,
    requested_to_capacity_ratio,
)
from moorage.schedule.plugins.node_unschedulable import NodeUnschedulable
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread
from moorage.schedule.plugins.spread_domains import DefaultSelectors
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.plugins.volumes.node_volume_limits import NodeVolumeLimits
from moorage.schedule.plugins.volumes.volume_binding import DEFAULT_SHAPE, VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

DEFAULT_SCHEDULER = "default-scheduler"


class Shared(msgspec.Struct, frozen=True):
    """What the plugins of all profiles share.

    `programs` caches compiled expressions; `selectors` are those of Services and controllers, for default spreading;
    `sliced` carries out long searches for devices in slices, and `evaluations` evaluates expensive expressions.
    """

    gates: GateSet
    programs: ProgramCache | None = None
    selectors: DefaultSelectors | None = None
    sliced: SlicedSearches | None = None
    evaluations: Evaluations | None = None


# Makes a plugin of its arguments, which are of the row's type, and of what is shared.
Make = Callable[[Any, Any], Plugin[Any]]


class Row(msgspec.Struct, frozen=True):
    """A plugin: where it is asked, its weight if it scores, how to make it, and the type of its arguments.

    Without `make` it is a part of the queue, the cycle or the binder. `origin` names another package's entry point;
    a plugin does nothing while its `gate` is off, and scores nothing while its `score_gate` is.
    """

    name: str
    points: frozenset[Point]
    make: Make | None = None
    weight: int = 0
    args: type[Any] | None = None
    origin: str = ""
    gate: Gate | None = None
    score_gate: Gate | None = None


class PluginOrder(msgspec.Struct, frozen=True):
    """Plugins by what they do, in run order. `before_filters` may reject a pod or narrow the search only."""

    filters: tuple[str, ...]
    scores: tuple[tuple[str, int], ...]
    before_filters: tuple[str, ...] = ()
    respects_scheduling_gates: bool = True
    preempts: bool = True


def _points(*points: Point) -> frozenset[Point]:
    return frozenset(points)


_FILTERS = _points(Point.FILTER)
_PREPARES_AND_FILTERS = _points(Point.PRE_FILTER, Point.FILTER)
_SCORES = _points(Point.PRE_SCORE, Point.SCORE)

DEFAULT_PLUGINS: tuple[Row, ...] = (
    # Before anything else: is it the pod's turn at all, and whose turn is it? Both are asked by the queue.
    Row("SchedulingGates", _points(Point.PRE_ENQUEUE)),
    Row("PrioritySort", _points(Point.QUEUE_SORT)),
    # Cordoned nodes are out for nearly every pod, and one comparison tells.
    Row("NodeUnschedulable", _FILTERS, lambda _, shared: NodeUnschedulable(shared.gates, shared.programs)),
    # A pod that names its node has nothing more to choose.
    Row("NodeName", _FILTERS, lambda _, shared: NodeName()),
    # Taints keep whole pools of nodes away, and no eviction changes that. A soft taint weighs most of all scores:
    # it is there to keep pods off.
    Row("TaintToleration", _FILTERS | _SCORES, lambda _, shared: TaintToleration(shared.gates, shared.programs), 3),
    # Labels, too, are final. What users prefer counts twice what the scheduler thinks of by itself.
    Row(
        "NodeAffinity",
        _PREPARES_AND_FILTERS | _SCORES,
        lambda args, shared: NodeAffinity(shared.gates, args.addedAffinity),
        2,
        plugin_args.NodeAffinityArgs,
    ),
    # From here on eviction may help. Ports are a look-up.
    Row("NodePorts", _PREPARES_AND_FILTERS, lambda _, shared: NodePorts()),
    # The commonest reason of all; a node refused for resources is not asked about volumes or domains.
    Row(
        "NodeResourcesFit",
        _PREPARES_AND_FILTERS | _SCORES,
        lambda args, shared: _node_resources_fit(args),
        1,
        plugin_args.NodeResourcesFitArgs,
    ),
    # Volumes: first what other pods use and how many there are, which eviction may change; then where they can be
    # reached from, which it does not.
    Row("VolumeRestrictions", _PREPARES_AND_FILTERS, lambda _, shared: VolumeRestrictions()),
    Row("NodeVolumeLimits", _PREPARES_AND_FILTERS, lambda _, shared: NodeVolumeLimits()),
    Row(
        "VolumeBinding",
        _PREPARES_AND_FILTERS | _SCORES | {Point.RESERVE, Point.PRE_BIND},
        lambda args, shared: VolumeBinding(
            shared.gates, tuple((point.utilization, point.score) for point in args.shape) or DEFAULT_SHAPE
        ),
        1,
        plugin_args.VolumeBindingArgs,
        score_gate=STORAGE_CAPACITY_SCORING,
    ),
    Row("VolumeZone", _PREPARES_AND_FILTERS, lambda _, shared: VolumeZone()),
    # What depends on pods elsewhere comes last, because it is the dearest; spreading is a count per domain, ...
    Row(
        "PodTopologySpread",
        _PREPARES_AND_FILTERS | _SCORES,
        lambda args, shared: PodTopologySpread(
            shared.gates,
            shared.programs,
            shared.selectors,
            args.defaultConstraints if args.defaulting == plugin_args.LIST else None,
        ),
        2,
        plugin_args.PodTopologySpreadArgs,
    ),
    # ... and affinity several of them.
    Row(
        "InterPodAffinity",
        _PREPARES_AND_FILTERS | _SCORES,
        lambda args, shared: InterPodAffinity(args.hard_weight, args.ignorePreferredTermsOfExistingPods),
        2,
        plugin_args.InterPodAffinityArgs,
    ),
    # Devices are searched for only where everything else will do.
    Row(
        "DynamicResources",
        _PREPARES_AND_FILTERS | {Point.PRE_ENQUEUE, Point.POST_FILTER, Point.SCORE, Point.RESERVE, Point.PRE_BIND},
        lambda _, shared: DynamicResources(shared.gates, shared.sliced, shared.evaluations),
        2,
        plugin_args.DynamicResourcesArgs,
        gate=DYNAMIC_RESOURCE_ALLOCATION,
    ),
    # No node is left: the cycle looks for pods to evict.
    Row("DefaultPreemption", _points(Point.PRE_ENQUEUE, Point.POST_FILTER), args=plugin_args.DefaultPreemptionArgs),
    # Scores only, after everything that filters: how evenly resources would be used, ...
    Row(
        "NodeResourcesBalancedAllocation",
        _SCORES,
        lambda args, shared: NodeResourcesBalancedAllocation(
            [name for name, _ in plugin_args.weights_of(args.resources)]
        ),
        1,
        plugin_args.NodeResourcesBalancedAllocationArgs,
    ),
    # ... and whether the image is there, which saves a download and nothing else.
    Row("ImageLocality", _points(Point.SCORE), lambda _, shared: ImageLocality(), 1),
    # And then the pod gets its node.
    Row("DefaultBinder", _points(Point.BIND)),
    # Kubernetes appends plugins of newer gates: hardly any pod needs a feature that not every node has.
    Row(
        "NodeDeclaredFeatures",
        _PREPARES_AND_FILTERS,
        lambda _, shared: NodeDeclaredFeatures(),
        gate=NODE_DECLARED_FEATURES,
    ),
)
PLUGINS: Mapping[str, Row] = {row.name: row for row in DEFAULT_PLUGINS}

DEFAULT_ORDER = PluginOrder(
    tuple(row.name for row in DEFAULT_PLUGINS if Point.FILTER in row.points),
    tuple((row.name, row.weight) for row in DEFAULT_PLUGINS if row.weight),
)


def _node_resources_fit(args: plugin_args.NodeResourcesFitArgs) -> NodeResourcesFit:
    return NodeResourcesFit(
        _strategy(args.strategy),
        plugin_args.weights_of(args.strategy.resources),
        frozenset(args.ignoredResources),
        frozenset(args.ignoredResourceGroups),
    )


def _strategy(strategy: plugin_args.ScoringStrategy) -> Strategy:
    if strategy.type == plugin_args.MOST_ALLOCATED:
        return most_allocated()
    ratio = strategy.requestedToCapacityRatio
    if strategy.type == plugin_args.REQUESTED_TO_CAPACITY_RATIO and ratio is not None:
        return requested_to_capacity_ratio([(point.utilization, point.score) for point in ratio.shape])
    return least_allocated()


def default_profile(
    gates: GateSet, name: str = DEFAULT_SCHEDULER, selectors: DefaultSelectors | None = None
) -> Profile:
    return make_profile(name, Shared(gates, program_cache(gates), selectors))


def default_args(row: Row) -> Any:
    return row.args() if row.args is not None else None


def make_profile(
    name: str,
    shared: Shared,
    order: PluginOrder = DEFAULT_ORDER,
    args: Mapping[str, Any] | None = None,
    third_party: Mapping[str, Row] | None = None,
) -> Profile:
    """Make a profile of plugins by name, each plugin once. `args` has the arguments that were given."""
    given = args or {}
    rows = {**PLUGINS, **(third_party or {})}
    plugins: dict[str, Plugin[Any]] = {}
    for plugin in (*order.filters, *order.before_filters, *(scoring for scoring, _ in order.scores)):
        row = rows[plugin]
        is_off = row.gate is not None and not shared.gates.enabled(row.gate)
        if plugin not in plugins and row.make is not None and not is_off:
            plugins[plugin] = row.make(given[plugin] if plugin in given else default_args(row), shared)
    before = (PreFilterOnly(plugins[plugin]) for plugin in order.before_filters if plugin in plugins)
    return Profile(
        name,
        (*before, *(plugins[plugin] for plugin in order.filters if plugin in plugins)),
        tuple(
            (plugins[plugin], weight)
            for plugin, weight in order.scores
            if plugin in plugins and scores_with(rows[plugin], shared.gates)
        ),
        order.respects_scheduling_gates,
    )


def scores_with(row: Row, gates: GateSet) -> bool:
    """Return whether a plugin that can score does so with these gates."""
    return row.score_gate is None or gates.enabled(row.score_gate)


def program_cache(gates: GateSet, evaluations: Evaluations | None = None) -> ProgramCache | None:
    """Return a cache of compiled expressions, with what evaluates expensive ones; None where the gate is off."""
    return ProgramCache(evaluations=evaluations) if gates.enabled(TAINT_TOLERATION_CEL) else None
