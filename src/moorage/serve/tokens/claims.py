"""What tokens of service accounts say: whose they are, for which audiences, until when, and which object they die with.

Two forms exist: those that are requested, and those in Secrets, which never expire. Kubernetes: Claims and LegacyClaims
of pkg/serviceaccount.
"""

from typing import Any, Final

import msgspec

from moorage.serve.pki.authentication import CREDENTIAL_ID, User
from moorage.serve.pki.service_account_users import account_user_name, service_account_user

#: The issuer of tokens that are kept in Secrets.
SECRET_ISSUER: Final = "kubernetes/serviceaccount"
_EXTRA = "authentication.kubernetes.io"
_OF_SECRET = "kubernetes.io/serviceaccount"


class ObjectClaim(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """An object that a token names."""

    name: str = ""
    uid: str = ""


class KubernetesClaim(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The account and the objects it is bound to. `warnafter`: when the token should have been replaced."""

    namespace: str = ""
    serviceaccount: ObjectClaim = ObjectClaim()
    pod: ObjectClaim | None = None
    secret: ObjectClaim | None = None
    node: ObjectClaim | None = None
    warnafter: int | None = None


class TokenClaims(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The claims of a token that was requested."""

    kubernetes: KubernetesClaim = msgspec.field(name="kubernetes.io", default=KubernetesClaim())
    aud: tuple[str, ...] | str = ()
    exp: float | None = None
    iat: float | None = None
    iss: str = ""
    jti: str = ""
    nbf: float | None = None
    sub: str = ""

    @property
    def audiences(self) -> tuple[str, ...]:
        return (self.aud,) if isinstance(self.aud, str) else self.aud

    @property
    def user(self) -> User:
        """The service account, with the objects that its token is bound to."""
        claim, extra = self.kubernetes, dict[str, tuple[str, ...]]()
        if self.jti:
            extra[CREDENTIAL_ID] = (f"JTI={self.jti}",)
        if claim.node is not None and claim.node.name:
            extra[f"{_EXTRA}/node-name"] = (claim.node.name,)
            if claim.node.uid:
                extra[f"{_EXTRA}/node-uid"] = (claim.node.uid,)
        if claim.pod is not None and claim.pod.name and claim.pod.uid:
            extra[f"{_EXTRA}/pod-name"] = (claim.pod.name,)
            extra[f"{_EXTRA}/pod-uid"] = (claim.pod.uid,)
        return service_account_user(claim.namespace, claim.serviceaccount.name, claim.serviceaccount.uid, extra)


class SecretTokenClaims(msgspec.Struct, frozen=True, gc=False):
    """The claims of a token that is kept in a Secret."""

    account: str = msgspec.field(name=f"{_OF_SECRET}/service-account.name", default="")
    account_uid: str = msgspec.field(name=f"{_OF_SECRET}/service-account.uid", default="")
    secret: str = msgspec.field(name=f"{_OF_SECRET}/secret.name", default="")
    namespace: str = msgspec.field(name=f"{_OF_SECRET}/namespace", default="")
    iss: str = ""
    sub: str = ""

    @property
    def user(self) -> User:
        return service_account_user(self.namespace, self.account, self.account_uid, {})

    @property
    def complaint(self) -> str:
        """What is wrong with the claims themselves, or an empty text."""
        named = (
            ("sub", self.sub),
            ("namespace", self.namespace),
            ("secretName", self.secret),
            ("serviceAccountName", self.account),
            ("serviceAccountUID", self.account_uid),
        )
        for name, value in named:
            if not value:
                return f"{name} claim is missing"
        return "" if self.sub == account_user_name(self.namespace, self.account) else "sub claim is invalid"


def claims_in_secret(namespace: str, account: str, account_uid: str, secret: str) -> dict[str, Any]:
    claims = SecretTokenClaims(
        account, account_uid, secret, namespace, SECRET_ISSUER, account_user_name(namespace, account)
    )
    return dict(msgspec.to_builtins(claims))
