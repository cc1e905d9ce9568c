"""Questions about oneself: who am I, may I, and what may I.

In: raw documents, by way of `conversion.convert_view`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/authentication/v1 and authorization/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_MAP
from moorage.model.types.meta import ObjectMeta, TypeMeta
from moorage.model.types.view import AuthenticationView, AuthorizationView


class UserInfo(AuthenticationView, frozen=True, gc=False):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, tuple[str, ...]] = ABSENT_MAP


class SelfSubjectReviewStatus(AuthenticationView, frozen=True, gc=False):
    userInfo: UserInfo = UserInfo()


class SelfSubjectReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    status: SelfSubjectReviewStatus = SelfSubjectReviewStatus()


class ResourceAttributes(AuthorizationView, frozen=True, gc=False):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


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


class SelfSubjectAccessReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()
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


class SelfSubjectRulesReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
    status: SubjectRulesReviewStatus = SubjectRulesReviewStatus()
