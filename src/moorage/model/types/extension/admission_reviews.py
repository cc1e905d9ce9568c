"""Views of AdmissionReviews, which are sent to webhooks and come back with an answer.

Kubernetes: k8s.io/api/admission/v1, whose fields v1beta1 has as well, and the Status of apimachinery's meta/v1.
"""

from typing import Annotated, Any

from msgspec import Meta

from moorage.model.schema import named_types as named
from moorage.model.types.meta import TypeMeta
from moorage.model.types.request import UserInfo
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, AdmissionView, Int32, Int64, MetaView

ReviewOperation = Annotated[str, Meta(title="v1.Operation")]
ReviewPatchType = Annotated[str, Meta(title="v1.PatchType")]


class StatusCause(MetaView, frozen=True, gc=False):
    reason: Annotated[str, Meta(title="v1.CauseType")] = ""
    message: str = ""
    field: str = ""


class StatusDetails(MetaView, frozen=True, gc=False):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: named.UID = ""
    causes: tuple[StatusCause, ...] = ABSENT_LIST
    retryAfterSeconds: Int32 = 0


class ListMeta(MetaView, frozen=True, gc=False, rename={"continue_": "continue"}):
    selfLink: str = ""
    resourceVersion: str = ""
    continue_: str = ""
    remainingItemCount: Int64 | None = None


class Status(TypeMeta, frozen=True, gc=False):
    package = MetaView.package

    metadata: ListMeta = ListMeta()
    status: str = ""
    message: str = ""
    reason: named.StatusReason = ""
    details: StatusDetails | None = None
    code: Int32 = 0


class GroupVersionKind(MetaView, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    kind: str = ""


class GroupVersionResource(MetaView, frozen=True, gc=False):
    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(AdmissionView, frozen=True, gc=False):
    """A request, which webhooks may send back with their answer."""

    uid: named.UID = ""
    kind: GroupVersionKind = GroupVersionKind()
    resource: GroupVersionResource = GroupVersionResource()
    subResource: str = ""
    requestKind: GroupVersionKind | None = None
    requestResource: GroupVersionResource | None = None
    requestSubResource: str = ""
    name: str = ""
    namespace: str = ""
    operation: ReviewOperation = ""
    userInfo: UserInfo = UserInfo()
    object: Any = None
    oldObject: Any = None
    dryRun: bool | None = None
    options: Any = None


class AdmissionResponse(AdmissionView, frozen=True, gc=False):
    uid: named.UID = ""
    allowed: bool = False
    status: Status | None = None
    patch: named.Bytes = ""
    patchType: ReviewPatchType | None = None
    auditAnnotations: dict[str, str] = ABSENT_MAP
    warnings: tuple[str, ...] = ABSENT_LIST


class AdmissionReview(TypeMeta, frozen=True, gc=False):
    package = AdmissionView.package

    request: AdmissionRequest | None = None
    response: AdmissionResponse | None = None
