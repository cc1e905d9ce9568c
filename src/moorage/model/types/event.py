"""Events of the core group, what kubectl and controllers of every age write and read.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.named_types import MicroTime, Time
from moorage.model.types.meta import ObjectMeta, ObjectReference, TypeMeta
from moorage.model.types.view import Int32, View


class EventSource(View, frozen=True, gc=False):
    component: str = ""
    host: str = ""


class EventSeries(View, frozen=True, gc=False):
    count: Int32 = 0
    lastObservedTime: MicroTime | None = None


class Event(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    involvedObject: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    source: EventSource = EventSource()
    firstTimestamp: Time | None = None
    lastTimestamp: Time | None = None
    count: Int32 = 0
    type: str = ""
    eventTime: MicroTime | None = None
    series: EventSeries | None = None
    action: str = ""
    related: ObjectReference | None = None
    reportingComponent: str = ""
    reportingInstance: str = ""
