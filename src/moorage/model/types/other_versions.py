"""Views of kinds in a second API: the events of events.k8s.io, and the HorizontalPodAutoscaler of autoscaling/v1.

They hold the same stored facts under other names, and share their class names with the views of the first API.
Kubernetes: k8s.io/api/events/v1 and k8s.io/api/autoscaling/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.schema.named_types import MicroTime, Time
from moorage.model.types.core import EventSource
from moorage.model.types.meta import ApiObject, ObjectReference
from moorage.model.types.view import AutoscalingView, Int32, Int64, View


class EventSeries(View, frozen=True, gc=False):
    package = "io.k8s.api.events.v1"

    count: Int32 = 0
    lastObservedTime: MicroTime | None = None


class Event(ApiObject, frozen=True, gc=False):
    eventTime: MicroTime | None = None
    series: EventSeries | None = None
    reportingController: str = ""
    reportingInstance: str = ""
    action: str = ""
    reason: str = ""
    regarding: ObjectReference = ObjectReference()
    related: ObjectReference | None = None
    note: str = ""
    type: str = ""
    deprecatedSource: EventSource = EventSource()
    deprecatedFirstTimestamp: Time | None = None
    deprecatedLastTimestamp: Time | None = None
    deprecatedCount: Int32 = 0


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
