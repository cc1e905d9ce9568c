"""Events of the core group, and Leases.

Kubernetes: k8s.io/api/core/v1 and k8s.io/api/coordination/v1.
"""

from moorage.model.schema.named_types import CoordinatedLeaseStrategy, MicroTime, Time
from moorage.model.types.meta import ApiObject, ObjectReference
from moorage.model.types.view import Int32, View


class EventSource(View, frozen=True, gc=False):
    component: str = ""
    host: str = ""


class EventSeries(View, frozen=True, gc=False):
    count: Int32 = 0
    lastObservedTime: MicroTime | None = None


class Event(ApiObject, frozen=True, gc=False):
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


class LeaseSpec(View, frozen=True, gc=False):
    package = "io.k8s.api.coordination.v1"

    holderIdentity: str | None = None
    leaseDurationSeconds: Int32 | None = None
    acquireTime: MicroTime | None = None
    renewTime: MicroTime | None = None
    leaseTransitions: Int32 | None = None
    strategy: CoordinatedLeaseStrategy | None = None
    preferredHolder: str | None = None


class Lease(ApiObject, frozen=True, gc=False):
    spec: LeaseSpec = LeaseSpec()
