"""Views of requests: Binding, Eviction, Scale, DeleteOptions, tokens, certificates, reviews of users and of access.

All but CertificateSigningRequests are never stored. Kubernetes: k8s.io/api/core/v1, policy/v1, autoscaling/v1,
authentication/v1, authorization/v1, certificates/v1, apimachinery meta/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.schema.named_types import UID, DeletionPropagation
from moorage.model.types.meta import ApiObject, LabelSelectorRequirement, ObjectReference, TypeMeta
from moorage.model.types.view import (
    ABSENT_LIST,
    ABSENT_MAP,
    AuthenticationView,
    AuthorizationView,
    AutoscalingView,
    Int32,
    Int64,
    MetaView,
    View,
)


class Binding(ApiObject, frozen=True, gc=False):
    target: ObjectReference = ObjectReference()


class Preconditions(MetaView, frozen=True, gc=False):
    uid: UID | None = None
    resourceVersion: str | None = None


class DeleteOptions(TypeMeta, frozen=True, gc=False):
    package = MetaView.package

    gracePeriodSeconds: Int64 | None = None
    preconditions: Preconditions | None = None
    orphanDependents: bool | None = None
    propagationPolicy: DeletionPropagation | None = None
    dryRun: tuple[str, ...] = ABSENT_LIST
    ignoreStoreReadErrorWithClusterBreakingPotential: bool | None = None


class Eviction(ApiObject, frozen=True, gc=False):
    deleteOptions: DeleteOptions | None = None


class ScaleSpec(AutoscalingView, frozen=True, gc=False):
    replicas: Int32 = 0


class ScaleStatus(AutoscalingView, frozen=True, gc=False):
    replicas: Int32 = 0
    selector: str = ""


class Scale(ApiObject, frozen=True, gc=False):
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


class UserInfo(AuthenticationView, frozen=True, gc=False):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = ABSENT_MAP


class SelfSubjectReviewStatus(AuthenticationView, frozen=True, gc=False):
    userInfo: UserInfo = UserInfo()


class SelfSubjectReview(ApiObject, frozen=True, gc=False):
    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class FieldSelectorRequirement(MetaView, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ABSENT_LIST


class FieldSelectorAttributes(AuthorizationView, frozen=True, gc=False):
    rawSelector: str = ""
    requirements: tuple[FieldSelectorRequirement, ...] = ABSENT_LIST


class LabelSelectorAttributes(AuthorizationView, frozen=True, gc=False):
    rawSelector: str = ""
    requirements: tuple[LabelSelectorRequirement, ...] = ABSENT_LIST


class ResourceAttributes(AuthorizationView, frozen=True, gc=False):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    fieldSelector: FieldSelectorAttributes | None = None
    labelSelector: LabelSelectorAttributes | None = None


class NonResourceAttributes(AuthorizationView, frozen=True, gc=False):
    path: str = ""
    verb: str = ""


class SelfSubjectAccessReviewSpec(AuthorizationView, frozen=True, gc=False):
    resourceAttributes: ResourceAttributes | None = None
    nonResourceAttributes: NonResourceAttributes | None = None


class SubjectAccessReviewStatus(AuthorizationView, frozen=True, gc=False):
    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluationError: str = ""


class SelfSubjectAccessReview(ApiObject, frozen=True, gc=False):
    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SubjectAccessReviewSpec(AuthorizationView, frozen=True, gc=False):
    resourceAttributes: ResourceAttributes | None = None
    nonResourceAttributes: NonResourceAttributes | None = None
    user: str = ""
    groups: tuple[str, ...] = ABSENT_LIST
    extra: dict[str, tuple[str, ...]] = ABSENT_MAP
    uid: str = ""


class SubjectAccessReview(ApiObject, frozen=True, gc=False):
    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class LocalSubjectAccessReview(ApiObject, frozen=True, gc=False):
    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus = SubjectAccessReviewStatus()


class SelfSubjectRulesReviewSpec(AuthorizationView, frozen=True, gc=False):
    namespace: str = ""


class ResourceRule(AuthorizationView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ()
    apiGroups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resourceNames: tuple[str, ...] = ()


class NonResourceRule(AuthorizationView, frozen=True, gc=False):
    verbs: tuple[str, ...] = ()
    nonResourceURLs: tuple[str, ...] = ()


class SubjectRulesReviewStatus(AuthorizationView, frozen=True, gc=False):
    resourceRules: tuple[ResourceRule, ...] = ()
    nonResourceRules: tuple[NonResourceRule, ...] = ()
    incomplete: bool = False
    evaluationError: str = ""


class SelfSubjectRulesReview(ApiObject, frozen=True, gc=False):
    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SubjectRulesReviewStatus = SubjectRulesReviewStatus()


class CertificatesView(View, frozen=True):
    package = "io.k8s.api.certificates.v1"


class CertificateSigningRequestSpec(CertificatesView, frozen=True, gc=False):
    request: named.Bytes = ""
    signerName: str = ""
    expirationSeconds: Int32 | None = None
    usages: tuple[str, ...] = ABSENT_LIST
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ABSENT_LIST
    extra: dict[str, tuple[str, ...]] = ABSENT_MAP


class CertificateSigningRequestCondition(CertificatesView, frozen=True, gc=False):
    type: str = ""
    status: named.ConditionStatus = ""
    reason: str = ""
    message: str = ""
    lastUpdateTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None


class CertificateSigningRequestStatus(CertificatesView, frozen=True, gc=False):
    conditions: tuple[CertificateSigningRequestCondition, ...] = ABSENT_LIST
    certificate: named.Bytes = ""


class CertificateSigningRequest(ApiObject, frozen=True, gc=False):
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()


class BoundObjectReference(AuthenticationView, frozen=True, gc=False):
    kind: str = ""
    apiVersion: str = ""
    name: str = ""
    uid: named.UID = ""


class TokenRequestSpec(AuthenticationView, frozen=True, gc=False):
    audiences: tuple[str, ...] = ()
    expirationSeconds: Int64 | None = None
    boundObjectRef: BoundObjectReference | None = None


class TokenRequestStatus(AuthenticationView, frozen=True, gc=False):
    token: str = ""
    expirationTimestamp: named.Time | None = None


class TokenRequest(ApiObject, frozen=True, gc=False):
    spec: TokenRequestSpec = TokenRequestSpec()
    status: TokenRequestStatus = TokenRequestStatus()


class TokenReviewSpec(AuthenticationView, frozen=True, gc=False):
    token: str = ""
    audiences: tuple[str, ...] = ABSENT_LIST


class TokenReviewStatus(AuthenticationView, frozen=True, gc=False):
    authenticated: bool = False
    user: UserInfo = UserInfo()
    audiences: tuple[str, ...] = ABSENT_LIST
    error: str = ""


class TokenReview(ApiObject, frozen=True, gc=False):
    spec: TokenReviewSpec = TokenReviewSpec()
    status: TokenReviewStatus = TokenReviewStatus()
