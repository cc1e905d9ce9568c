"""Questions about oneself: who am I, may I, and what may I.

In: raw documents, by way of `conversion.convert_view`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/authentication/v1 and authorization/v1. Next: `moorage.serve.virtual`, which answers.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.meta import ObjectMeta, TypeMeta
from moorage.model.view import View


class SelfSubjectReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()


class ResourceAttributes(View, frozen=True, gc=False):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


class NonResourceAttributes(View, frozen=True, gc=False):
    path: str = ""
    verb: str = ""


class SelfSubjectAccessReviewSpec(View, frozen=True, gc=False):
    resourceAttributes: ResourceAttributes | None = None
    nonResourceAttributes: NonResourceAttributes | None = None


class SelfSubjectAccessReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: SelfSubjectAccessReviewSpec = SelfSubjectAccessReviewSpec()


class SelfSubjectRulesReviewSpec(View, frozen=True, gc=False):
    namespace: str = ""


class SelfSubjectRulesReview(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: SelfSubjectRulesReviewSpec = SelfSubjectRulesReviewSpec()
