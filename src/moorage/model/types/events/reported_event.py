"""Events of the group events.k8s.io: the same stored facts as the core group's, under newer names.

Kubernetes: k8s.io/api/events/v1.
"""

from moorage.model.schema.named_types import MicroTime, Time
from moorage.model.types.events.event import EventSource
from moorage.model.types.meta import ApiObject, ObjectReference
from moorage.model.types.view import Int32, View


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
