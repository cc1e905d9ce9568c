"""Encode, decode and check the claims of service account tokens: account, audiences, expiry, bound object.

Two forms exist: requested tokens, and those in Secrets, which never expire. A token is header, claims and signature,
each in base64url, joined by dots. Input is bounded in length and depth, and is not trusted before a key has verified
it; the header chooses a key by its id, never an algorithm. Kubernetes: Claims and LegacyClaims of pkg/serviceaccount,
go-jose's JWS and JWT (RFC 7515, 7519).
"""

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

import msgspec

from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.serve.pki.authentication import CREDENTIAL_ID, User, account_user_name, service_account_user

#: The issuer of tokens that are kept in Secrets.
SECRET_ISSUER: Final = "kubernetes/serviceaccount"
_EXTRA = "authentication.kubernetes.io"
#: The key of the node that the pod of a token is on.
NODE_NAME: Final = f"{_EXTRA}/node-name"
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
            extra[NODE_NAME] = (claim.node.name,)
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


if TYPE_CHECKING:
    from moorage.serve.tokens.keys import SigningKey, VerificationKey

#: Longer than any token with a dozen audiences; the head of a request is limited to 64 KiB as a whole.
MAX_TOKEN_LENGTH = 64 * 1024
_is_base64 = whole(r"[A-Za-z0-9_-]*")

Claims = dict[str, Any]


class _Header(msgspec.Struct, gc=False):
    alg: str = ""
    kid: str = ""
    crit: Any = None


class _Issuer(msgspec.Struct, gc=False):
    iss: str = ""


_read_header = msgspec.json.Decoder(_Header).decode
_read_issuer = msgspec.json.Decoder(_Issuer).decode


class UnverifiedToken(msgspec.Struct, frozen=True, gc=False):
    """The parts of a text that has the form of a token; `content` is the JSON of its claims."""

    algorithm: str
    key_id: str
    issuer: str
    content: bytes
    signed: bytes
    signature: bytes

    def verified_by(self, key: "VerificationKey") -> bool:
        return self.algorithm == key.algorithm and key.verifies(self.signature, self.signed)


def base64_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign_token(claims: Claims, key: "SigningKey") -> str:
    header = {"alg": key.public.algorithm, "kid": key.public.key_id}
    parts = (base64_text(msgspec.json.encode(part, order="sorted")) for part in (header, claims))
    signed = ".".join(parts)
    return f"{signed}.{base64_text(key.sign(signed.encode()))}"


@reads_text("a", ".", "=", "-", "ey")
def read_token(text: str) -> UnverifiedToken | None:
    """Return the parts of a token, None if the text does not have its form."""
    if len(text) > MAX_TOKEN_LENGTH or text.count(".") != 2 or not text.isascii():
        return None
    decoded = [_from_base64(part) for part in text.split(".")]
    if None in decoded:
        return None
    head, body, signature = (part or b"" for part in decoded)
    try:
        header, issuer = _read_header(head), _read_issuer(body).iss
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if header.crit is not None:  # extensions that a reader must understand; no extension is known here
        return None
    signed = text.rpartition(".")[0].encode()
    return UnverifiedToken(header.alg, header.kid, issuer, body, signed, signature)


def _from_base64(text: str) -> bytes | None:
    if not _is_base64(text):
        return None
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
