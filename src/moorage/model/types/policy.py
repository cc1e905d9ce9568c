"""PriorityClasses and PodDisruptionBudgets.

Kubernetes: k8s.io/api/scheduling/v1 and k8s.io/api/policy/v1.
"""

from moorage.model.schema.named_types import PreemptionPolicy, Time, UnhealthyPodEvictionPolicyType
from moorage.model.types.meta import ApiObject, Condition, LabelSelector
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, PolicyView


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
