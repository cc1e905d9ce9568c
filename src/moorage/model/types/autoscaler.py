"""Views of HorizontalPodAutoscalers, and of what nodes and pods use.

Kubernetes: k8s.io/api/autoscaling/v2; k8s.io/metrics/pkg/apis/metrics/v1beta1.
"""

from moorage.model.quantity import Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject, LabelSelector, PlainCondition
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, AutoscalingV2View, Int32, Int64, MetricsView


class CrossVersionObjectReference(AutoscalingV2View, frozen=True, gc=False):
    kind: str = ""
    name: str = ""
    apiVersion: str = ""


class MetricTarget(AutoscalingV2View, frozen=True, gc=False):
    type: named.MetricTargetType = ""
    value: Quantity | None = None
    averageValue: Quantity | None = None
    averageUtilization: Int32 | None = None


class MetricIdentifier(AutoscalingV2View, frozen=True, gc=False):
    name: str = ""
    selector: LabelSelector | None = None


class ObjectMetricSource(AutoscalingV2View, frozen=True, gc=False):
    describedObject: CrossVersionObjectReference = CrossVersionObjectReference()
    target: MetricTarget = MetricTarget()
    metric: MetricIdentifier = MetricIdentifier()


class PodsMetricSource(AutoscalingV2View, frozen=True, gc=False):
    metric: MetricIdentifier = MetricIdentifier()
    target: MetricTarget = MetricTarget()


class ResourceMetricSource(AutoscalingV2View, frozen=True, gc=False):
    name: named.ResourceName = ""
    target: MetricTarget = MetricTarget()


class ContainerResourceMetricSource(AutoscalingV2View, frozen=True, gc=False):
    name: named.ResourceName = ""
    target: MetricTarget = MetricTarget()
    container: str = ""


class ExternalMetricSource(AutoscalingV2View, frozen=True, gc=False):
    metric: MetricIdentifier = MetricIdentifier()
    target: MetricTarget = MetricTarget()


class MetricSpec(AutoscalingV2View, frozen=True, gc=False):
    type: named.MetricSourceType = ""
    object: ObjectMetricSource | None = None
    pods: PodsMetricSource | None = None
    resource: ResourceMetricSource | None = None
    containerResource: ContainerResourceMetricSource | None = None
    external: ExternalMetricSource | None = None


class HPAScalingPolicy(AutoscalingV2View, frozen=True, gc=False):
    type: named.HPAScalingPolicyType = ""
    value: Int32 = 0
    periodSeconds: Int32 = 0


class HPAScalingRules(AutoscalingV2View, frozen=True, gc=False):
    stabilizationWindowSeconds: Int32 | None = None
    selectPolicy: named.ScalingPolicySelect | None = None
    policies: tuple[HPAScalingPolicy, ...] = ABSENT_LIST
    tolerance: Quantity | None = None


class HorizontalPodAutoscalerBehavior(AutoscalingV2View, frozen=True, gc=False):
    scaleUp: HPAScalingRules | None = None
    scaleDown: HPAScalingRules | None = None


class HorizontalPodAutoscalerSpec(AutoscalingV2View, frozen=True, gc=False):
    scaleTargetRef: CrossVersionObjectReference = CrossVersionObjectReference()
    minReplicas: Int32 | None = None
    maxReplicas: Int32 = 0
    metrics: tuple[MetricSpec, ...] = ABSENT_LIST
    behavior: HorizontalPodAutoscalerBehavior | None = None


class MetricValueStatus(AutoscalingV2View, frozen=True, gc=False):
    value: Quantity | None = None
    averageValue: Quantity | None = None
    averageUtilization: Int32 | None = None


class ObjectMetricStatus(AutoscalingV2View, frozen=True, gc=False):
    metric: MetricIdentifier = MetricIdentifier()
    current: MetricValueStatus = MetricValueStatus()
    describedObject: CrossVersionObjectReference = CrossVersionObjectReference()


class PodsMetricStatus(AutoscalingV2View, frozen=True, gc=False):
    metric: MetricIdentifier = MetricIdentifier()
    current: MetricValueStatus = MetricValueStatus()


class ResourceMetricStatus(AutoscalingV2View, frozen=True, gc=False):
    name: named.ResourceName = ""
    current: MetricValueStatus = MetricValueStatus()


class ContainerResourceMetricStatus(AutoscalingV2View, frozen=True, gc=False):
    name: named.ResourceName = ""
    current: MetricValueStatus = MetricValueStatus()
    container: str = ""


class ExternalMetricStatus(AutoscalingV2View, frozen=True, gc=False):
    metric: MetricIdentifier = MetricIdentifier()
    current: MetricValueStatus = MetricValueStatus()


class MetricStatus(AutoscalingV2View, frozen=True, gc=False):
    type: named.MetricSourceType = ""
    object: ObjectMetricStatus | None = None
    pods: PodsMetricStatus | None = None
    resource: ResourceMetricStatus | None = None
    containerResource: ContainerResourceMetricStatus | None = None
    external: ExternalMetricStatus | None = None


class HorizontalPodAutoscalerCondition(PlainCondition, AutoscalingV2View, frozen=True, gc=False):
    type: named.HorizontalPodAutoscalerConditionType = ""


class HorizontalPodAutoscalerStatus(AutoscalingV2View, frozen=True, gc=False):
    observedGeneration: Int64 | None = None
    lastScaleTime: named.Time | None = None
    currentReplicas: Int32 = 0
    desiredReplicas: Int32 = 0
    currentMetrics: tuple[MetricStatus, ...] = ABSENT_LIST
    conditions: tuple[HorizontalPodAutoscalerCondition, ...] = ABSENT_LIST


class HorizontalPodAutoscaler(ApiObject, frozen=True, gc=False):
    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()


# -- usage ------------------------------------------------------------------------------------------------------------


class ContainerMetrics(MetricsView, frozen=True, gc=False):
    name: str = ""
    usage: named.ResourceList = ABSENT_MAP


class PodMetrics(ApiObject, frozen=True, gc=False):
    timestamp: named.Time | None = None
    window: str = ""
    containers: tuple[ContainerMetrics, ...] = ABSENT_LIST


class NodeMetrics(ApiObject, frozen=True, gc=False):
    timestamp: named.Time | None = None
    window: str = ""
    usage: named.ResourceList = ABSENT_MAP
