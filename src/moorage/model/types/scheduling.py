"""The vocabulary of placement: taints, tolerations, affinity, topology spread.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST
from moorage.model.schema.named_types import (
    NodeInclusionPolicy,
    NodeSelectorOperator,
    TaintEffect,
    Time,
    TolerationOperator,
    UnsatisfiableConstraintAction,
)
from moorage.model.types.meta import LabelSelector
from moorage.model.types.view import Int32, Int64, View


class NodeSelectorRequirement(View, frozen=True, gc=False):
    key: str = ""
    operator: NodeSelectorOperator = ""
    values: tuple[str, ...] = ABSENT_LIST


class NodeSelectorTerm(View, frozen=True, gc=False):
    matchExpressions: tuple[NodeSelectorRequirement, ...] = ABSENT_LIST
    matchFields: tuple[NodeSelectorRequirement, ...] = ABSENT_LIST


class NodeSelector(View, frozen=True, gc=False):
    nodeSelectorTerms: tuple[NodeSelectorTerm, ...] = ABSENT_LIST


class PreferredSchedulingTerm(View, frozen=True, gc=False):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector | None = None
    preferredDuringSchedulingIgnoredDuringExecution: tuple[PreferredSchedulingTerm, ...] = ABSENT_LIST


class PodAffinityTerm(View, frozen=True, gc=False):
    labelSelector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ABSENT_LIST
    topologyKey: str = ""
    namespaceSelector: LabelSelector | None = None
    matchLabelKeys: tuple[str, ...] = ABSENT_LIST
    mismatchLabelKeys: tuple[str, ...] = ABSENT_LIST


class WeightedPodAffinityTerm(View, frozen=True, gc=False):
    weight: Int32 = 0
    podAffinityTerm: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: tuple[PodAffinityTerm, ...] = ABSENT_LIST
    preferredDuringSchedulingIgnoredDuringExecution: tuple[WeightedPodAffinityTerm, ...] = ABSENT_LIST


class PodAntiAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: tuple[PodAffinityTerm, ...] = ABSENT_LIST
    preferredDuringSchedulingIgnoredDuringExecution: tuple[WeightedPodAffinityTerm, ...] = ABSENT_LIST


class Affinity(View, frozen=True, gc=False):
    nodeAffinity: NodeAffinity | None = None
    podAffinity: PodAffinity | None = None
    podAntiAffinity: PodAntiAffinity | None = None


class Toleration(View, frozen=True, gc=False):
    key: str = ""
    operator: TolerationOperator = ""
    value: str = ""
    effect: TaintEffect = ""
    tolerationSeconds: Int64 | None = None
    expression: str = ""


class TopologySpreadConstraint(View, frozen=True, gc=False):
    maxSkew: Int32 = 0
    topologyKey: str = ""
    whenUnsatisfiable: UnsatisfiableConstraintAction = ""
    labelSelector: LabelSelector | None = None
    minDomains: Int32 | None = None
    nodeAffinityPolicy: NodeInclusionPolicy | None = None
    nodeTaintsPolicy: NodeInclusionPolicy | None = None
    matchLabelKeys: tuple[str, ...] = ABSENT_LIST


class Taint(View, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: TaintEffect = ""
    timeAdded: Time | None = None
