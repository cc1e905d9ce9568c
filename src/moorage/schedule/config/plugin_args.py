"""The arguments of plugins, field for field those of Kubernetes, and what holds where a field is not given.

In: `args` of a profile's `pluginConfig`. Out: frozen views; their methods give what is to be used, defaults included.
Kubernetes: types_pluginargs.go and defaults.go of kubescheduler.config.k8s.io/v1. DefaultPreemption's are in
`preemption`. Differs: without arguments, DefaultPreemption looks at every node.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from collections.abc import Sequence

from moorage.columns.resources import CPU, MEMORY
from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.types.meta import TypeMeta
from moorage.model.types.scheduling import NodeAffinity, TopologySpreadConstraint
from moorage.model.types.view import Int32, Int64, View

SYSTEM, LIST = "System", "List"
LEAST_ALLOCATED, MAX_ALLOCATED = "LeastAllocated", "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"
Weights = tuple[tuple[str, int], ...]


class Args(TypeMeta, frozen=True, gc=False):
    """What all arguments have: they may say what they are."""


class DefaultPreemptionArgs(Args, frozen=True, gc=False):
    minCandidateNodesPercentage: Int32 | None = None
    minCandidateNodesAbsolute: Int32 | None = None


class InterPodAffinityArgs(Args, frozen=True, gc=False):
    hardPodAffinityWeight: Int32 | None = None
    ignorePreferredTermsOfExistingPods: bool = False

    @property
    def hard_weight(self) -> int:
        return 1 if self.hardPodAffinityWeight is None else self.hardPodAffinityWeight


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


class NodeResourcesBalancedAllocationArgs(Args, frozen=True, gc=False):
    resources: tuple[ResourceSpec, ...] = ABSENT_LIST


class PodTopologySpreadArgs(Args, frozen=True, gc=False):
    defaultConstraints: tuple[TopologySpreadConstraint, ...] = ABSENT_LIST
    defaultingType: str = ""

    @property
    def defaulting(self) -> str:
        return self.defaultingType or SYSTEM


class VolumeBindingArgs(Args, frozen=True, gc=False):
    """`bindTimeoutSeconds` is for whoever binds: nothing is waited for offline."""

    bindTimeoutSeconds: Int64 | None = None
    shape: tuple[UtilizationShapePoint, ...] = ABSENT_LIST


class NodeAffinityArgs(Args, frozen=True, gc=False):
    addedAffinity: NodeAffinity | None = None


def weights_of(resources: Sequence[ResourceSpec]) -> Weights:
    """Resources with their weights: CPU and memory if none are named, and 1 where no weight is."""
    return tuple((spec.name, spec.weight or 1) for spec in resources) or ((CPU, 1), (MEMORY, 1))
