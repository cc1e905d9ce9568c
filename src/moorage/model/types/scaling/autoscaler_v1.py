"""HorizontalPodAutoscalers in version 1, which knows one metric: the use of CPU.

Kubernetes: k8s.io/api/autoscaling/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import AutoscalingView, Int32, Int64


class CrossVersionObjectReference(AutoscalingView, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    apiVersion: str = ""


class HorizontalPodAutoscalerSpec(AutoscalingView, frozen=True, gc=False):
    scaleTargetRef: CrossVersionObjectReference = CrossVersionObjectReference()
    minReplicas: Int32 | None = None
    maxReplicas: Int32 = 0
    targetCPUUtilizationPercentage: Int32 | None = None


class HorizontalPodAutoscalerStatus(AutoscalingView, frozen=True, gc=False):
    observedGeneration: Int64 | None = None
    lastScaleTime: named.Time | None = None
    currentReplicas: Int32 = 0
    desiredReplicas: Int32 = 0
    currentCPUUtilizationPercentage: Int32 | None = None


class HorizontalPodAutoscaler(ApiObject, frozen=True, gc=False):
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()
