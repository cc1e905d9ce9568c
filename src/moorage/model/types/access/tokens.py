"""Requests and reviews of tokens. Kubernetes: k8s.io/api/authentication/v1."""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.request import UserInfo
from moorage.model.types.view import ABSENT_LIST, AuthenticationView, Int64


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
