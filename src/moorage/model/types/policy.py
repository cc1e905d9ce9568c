"""Views of the kinds that rank, protect and limit: priorities, budgets, quotas, limits, runtime classes, roles.

Kubernetes: k8s.io/api/scheduling/v1, policy/v1, core/v1, node/v1 and rbac/v1.
"""

from moorage.model.schema.named_types import (
    LimitType,
    PreemptionPolicy,
    ResourceList,
    ResourceQuotaScope,
    ScopeSelectorOperator,
    Time,
    UnhealthyPodEvictionPolicyType,
)
from moorage.model.types.meta import ApiObject, Condition, LabelSelector
from moorage.model.types.pod import Toleration
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, PolicyView, RbacView, View


class PriorityClass(ApiObject, frozen=True, gc=False):
    value: Int32 = 0
    globalDefault: bool = False
    description: str = ""
    preemptionPolicy: PreemptionPolicy | None = None


class PodDisruptionBudgetSpec(PolicyView, frozen=True, gc=False):
    minAvailable: Int32 | str | None = None
    selector: LabelSelector | None = None
    maxUnavailable: Int32 | str | None = None
    unhealthyPodEvictionPolicy: UnhealthyPodEvictionPolicyType | None = None


class PodDisruptionBudgetStatus(PolicyView, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    disruptedPods: dict[str, Time | None] = ABSENT_MAP
    disruptionsAllowed: Int32 = 0
    currentHealthy: Int32 = 0
    desiredHealthy: Int32 = 0
    expectedPods: Int32 = 0
    conditions: tuple[Condition, ...] = ABSENT_LIST


class PodDisruptionBudget(ApiObject, frozen=True, gc=False):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class LimitRangeItem(View, frozen=True, gc=False):
    type: LimitType = ""
    max: ResourceList = ABSENT_MAP
    min: ResourceList = ABSENT_MAP
    default: ResourceList = ABSENT_MAP
    defaultRequest: ResourceList = ABSENT_MAP
    maxLimitRequestRatio: ResourceList = ABSENT_MAP


class LimitRangeSpec(View, frozen=True, gc=False):
    limits: tuple[LimitRangeItem, ...] = ABSENT_LIST


class LimitRange(ApiObject, frozen=True, gc=False):
    spec: LimitRangeSpec = LimitRangeSpec()


class ScopedResourceSelectorRequirement(View, frozen=True, gc=False):
    scopeName: ResourceQuotaScope = ""
    operator: ScopeSelectorOperator = ""
    values: tuple[str, ...] = ABSENT_LIST


class ScopeSelector(View, frozen=True, gc=False):
    matchExpressions: tuple[ScopedResourceSelectorRequirement, ...] = ABSENT_LIST


class ResourceQuotaSpec(View, frozen=True, gc=False):
    hard: ResourceList = ABSENT_MAP
    scopes: tuple[ResourceQuotaScope, ...] = ABSENT_LIST
    scopeSelector: ScopeSelector | None = None


class ResourceQuotaStatus(View, frozen=True, gc=False):
    hard: ResourceList = ABSENT_MAP
    used: ResourceList = ABSENT_MAP


class ResourceQuota(ApiObject, frozen=True, gc=False):
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class Overhead(View, frozen=True, gc=False):
    package = "io.k8s.api.node.v1"
    podFixed: ResourceList = ABSENT_MAP


class Scheduling(View, frozen=True, gc=False):
    package = "io.k8s.api.node.v1"
    nodeSelector: dict[str, str] = ABSENT_MAP
    tolerations: tuple[Toleration, ...] = ABSENT_LIST


class RuntimeClass(ApiObject, frozen=True, gc=False):
    handler: str = ""
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None


class PolicyRule(RbacView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ABSENT_LIST
    apiGroups: tuple[str, ...] = ABSENT_LIST
    resources: tuple[str, ...] = ABSENT_LIST
    resourceNames: tuple[str, ...] = ABSENT_LIST
    nonResourceURLs: tuple[str, ...] = ABSENT_LIST


class Subject(RbacView, frozen=True, gc=False):
    kind: str = ""
    apiGroup: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(RbacView, frozen=True, gc=False):
    apiGroup: str = ""
    kind: str = ""
    name: str = ""


class AggregationRule(RbacView, frozen=True, gc=False):
    clusterRoleSelectors: tuple[LabelSelector, ...] = ABSENT_LIST


class Role(ApiObject, frozen=True, gc=False):
    rules: tuple[PolicyRule, ...] = ()


class ClusterRole(ApiObject, frozen=True, gc=False):
    rules: tuple[PolicyRule, ...] = ()
    aggregationRule: AggregationRule | None = None


class RoleBinding(ApiObject, frozen=True, gc=False):
    subjects: tuple[Subject, ...] = ABSENT_LIST
    roleRef: RoleRef = RoleRef()


class ClusterRoleBinding(ApiObject, frozen=True, gc=False):
    subjects: tuple[Subject, ...] = ABSENT_LIST
    roleRef: RoleRef = RoleRef()
