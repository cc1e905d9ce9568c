"""Issue tokens of service accounts, and authenticate them.

A signature is verified once and remembered, in a bounded number of tokens; that account, pod, Secret and node still
exist is looked up each time, at the revisions seen last, so that a token ends together with what it is bound to.
Kubernetes: JWTTokenAuthenticator with its validators. Differs: upstream remembers successes for ten seconds.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import msgspec

from moorage.model.go.quoting import go_quote
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.serve.pki.authentication import User
from moorage.serve.resources.objects import decode, key_of
from moorage.serve.tokens.claims import (
    SECRET_ISSUER,
    SecretTokenClaims,
    TokenClaims,
    UnverifiedToken,
    claims_in_secret,
    read_token,
    sign_token,
)
from moorage.store.protocol import Stored

if TYPE_CHECKING:
    from moorage.serve.tokens.keys import SigningKey, VerificationKey


_LEEWAY_SECONDS = 60.0  # for clocks that differ, as go-jose has it
_MAX_REMEMBERED = 4096
_INVALIDATED = "service account token has been invalidated"
_INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_DEFAULT_ISSUER = "https://kubernetes.default.svc"

Peek = Callable[[str], Stored | None]


class BadToken(Exception):
    """A token is refused; the text says why."""


class RevokedToken(BadToken):
    """A token is signed and valid, but what it is bound to is not there, or is another than it was."""


class TokenSettings(msgspec.Struct, frozen=True):
    """How tokens are issued. The first issuer is that of new tokens, the others are accepted.

    Without audiences the issuers are the API server's own. `max_seconds` bounds what clients may ask for, 0 does not.
    """

    issuers: tuple[str, ...] = (_DEFAULT_ISSUER,)
    audiences: tuple[str, ...] = ()
    max_seconds: int = 0
    extends_expiration: bool = True
    jwks_uri: str = ""

    @property
    def api_audiences(self) -> tuple[str, ...]:
        return self.audiences or self.issuers

    @property
    def has_discovery(self) -> bool:
        """Whether the issuer is one that OpenID discovery allows."""
        issuer = urlsplit(self.issuers[0])
        return issuer.scheme == "https" and not issuer.query and not issuer.fragment


def _new_key() -> "SigningKey":
    from moorage.serve.tokens.keys import SigningKey  # `plan` and `explain` need no cryptography

    return SigningKey.create()


class TokenKeys:
    """The key that signs, and those that verify. Without one a key is made when it is first needed."""

    def __init__(
        self,
        signing: "SigningKey | None" = None,
        others: "Sequence[VerificationKey]" = (),
        create: "Callable[[], SigningKey] | None" = None,
    ) -> None:
        self._others, self._create = tuple(others), create or _new_key
        if signing is not None:
            self.signing = signing

    @cached_property
    def signing(self) -> "SigningKey":
        return self._create()

    @property
    def public(self) -> "tuple[VerificationKey, ...]":
        """All keys that verify tokens, for discovery; the one that signs is made if it is missing."""
        return self._with_signing(self.signing.public)

    def of_id(self, key_id: str) -> "list[VerificationKey]":
        """Return the keys that may have signed a token. While none has been made, none has."""
        signing = self.__dict__.get("signing")
        known = self._others if signing is None else self._with_signing(signing.public)
        return [key for key in known if not key_id or key.key_id == key_id]

    def _with_signing(self, public: "VerificationKey") -> "tuple[VerificationKey, ...]":
        return (public, *(key for key in self._others if key.key_id != public.key_id))


class Authenticated(NamedTuple):
    """Whose a token is, and for which of the audiences that were asked for."""

    user: User
    audiences: tuple[str, ...]


class _Remembered(msgspec.Struct, gc=False):
    """A token whose signature is verified, its user, and the revisions at which its objects were found to match."""

    claims: TokenClaims | SecretTokenClaims
    user: User
    seen: dict[str, int]


class ServiceAccountTokens:
    """Issues and verifies tokens. `peek` returns what is stored at a key, `clock` the time."""

    def __init__(
        self,
        settings: TokenSettings,
        keys: TokenKeys,
        peek: Peek,
        clock: Callable[[], float],
        new_uid: Callable[[], str],
    ) -> None:
        self.settings, self.keys = settings, keys
        self._peek, self._clock, self._new_uid = peek, clock, new_uid
        self._remembered: dict[bytes, _Remembered] = {}

    def issue(self, claims: TokenClaims) -> str:
        """Sign a token with these claims; who issues it and its id are added."""
        claims = msgspec.structs.replace(claims, iss=self.settings.issuers[0], jti=self._new_uid())
        return sign_token(msgspec.to_builtins(claims), self.keys.signing)

    def issue_for_secret(self, namespace: str, account: str, account_uid: str, secret: str) -> str:
        return sign_token(claims_in_secret(namespace, account, account_uid, secret), self.keys.signing)

    def authenticate(self, text: str, audiences: Sequence[str] = ()) -> Authenticated | None:
        """Return whose a token is, None if it is of another issuer. Raises BadToken.

        Without audiences it must be for the API server.
        """
        digest = hashlib.sha256(text.encode("utf-8", "replace")).digest()
        remembered = self._remembered.get(digest)
        if remembered is None:
            token = read_token(text)
            if token is None or token.issuer not in (*self.settings.issuers, SECRET_ISSUER):
                return None
            remembered = self._verified(token)
        own = self.settings.api_audiences
        claims = remembered.claims
        meant = (claims.audiences if isinstance(claims, TokenClaims) else ()) or own
        wanted = tuple(audiences) or own
        common = tuple(one for one in wanted if one in meant)
        if not common:
            raise BadToken(f"token audiences {_listed(meant)} is invalid for the target audiences {_listed(wanted)}")
        if isinstance(claims, TokenClaims):
            self._check_times(claims)
        try:
            if isinstance(claims, TokenClaims):
                self._check_objects(claims, remembered.seen)
            else:
                self._check_secret(claims, text)
        except BadToken as refusal:
            raise RevokedToken(*refusal.args) from None
        self._remember(digest, remembered)
        return Authenticated(remembered.user, common)

    def _verified(self, token: UnverifiedToken) -> _Remembered:
        """Check the signature. Raises BadToken."""
        keys = self.keys.of_id(token.key_id)
        if not keys:
            raise BadToken("invalid signature, no keys found")
        if not any(token.verified_by(key) for key in keys):
            raise BadToken("go-jose/go-jose: error in cryptographic primitive")
        form: type[Any] = SecretTokenClaims if token.issuer == SECRET_ISSUER else TokenClaims
        try:
            claims = msgspec.json.decode(token.content, type=form)
        except (msgspec.DecodeError, RecursionError):
            raise BadToken("service account token claims could not be validated") from None
        return _Remembered(claims, claims.user, {})

    def _remember(self, digest: bytes, remembered: _Remembered) -> None:
        """Keep a token as the newest one; the one that was not used for longest makes room."""
        self._remembered.pop(digest, None)
        if len(self._remembered) >= _MAX_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]
        self._remembered[digest] = remembered

    def _check_times(self, claims: TokenClaims) -> None:
        now = self._clock()
        if claims.nbf is not None and now + _LEEWAY_SECONDS < claims.nbf:
            raise BadToken("service account token is not valid yet")
        if claims.exp is not None and now - _LEEWAY_SECONDS > claims.exp:
            raise BadToken("service account token has expired")
        if claims.iat is not None and now + _LEEWAY_SECONDS < claims.iat:
            raise BadToken("service account token is issued in the future")

    def _check_objects(self, claims: TokenClaims, seen: dict[str, int]) -> None:
        """Check that account, Secret, pod and node are the ones that the token was issued for."""
        claim = claims.kubernetes
        namespace, account = claim.namespace, claim.serviceaccount
        stored = self._peek(key_of(KINDS.SERVICE_ACCOUNT, namespace, account.name))
        if stored is None:
            raise BadToken(f"serviceaccounts {go_quote(account.name)} not found")
        if seen.get(stored.key) != stored.revision:
            metadata = _view(KINDS.SERVICE_ACCOUNT, stored).metadata
            if metadata.uid != account.uid:
                raise BadToken(f"service account UID ({metadata.uid}) does not match claim ({account.uid})")
            if self._is_gone(metadata):
                raise BadToken(f"service account {namespace}/{account.name} has been deleted")
            if metadata.deletionTimestamp is None:
                seen[stored.key] = stored.revision
        node = claim.node if claim.pod is None else None  # of a pod's token it is only told, and may go away
        for kind, named in ((KINDS.SECRET, claim.secret), (KINDS.POD, claim.pod), (KINDS.NODE, node)):
            if named is None:
                continue
            stored = self._peek(key_of(kind, namespace, named.name))
            if stored is None:
                raise BadToken(_INVALIDATED)
            if seen.get(stored.key) == stored.revision:
                continue
            metadata = _view(kind, stored).metadata
            if metadata.uid != named.uid:
                reason = f"does not match service account {kind.singular} ref claim ({named.uid})"
                raise BadToken(f"{kind.singular} UID ({metadata.uid}) {reason}")
            if self._is_gone(metadata):
                raise BadToken(_INVALIDATED)
            if metadata.deletionTimestamp is None:
                seen[stored.key] = stored.revision

    def _is_gone(self, metadata: Any) -> bool:
        deleted = seconds_of(metadata.deletionTimestamp) if metadata.deletionTimestamp is not None else None
        return deleted is not None and deleted < self._clock() - _LEEWAY_SECONDS

    def _check_secret(self, claims: SecretTokenClaims, text: str) -> None:
        """Check that the Secret still has this very token, and that the account is the same."""
        if claims.complaint:
            raise BadToken(claims.complaint)
        stored = self._peek(key_of(KINDS.SECRET, claims.namespace, claims.secret))
        if stored is None:
            raise BadToken("Token has been invalidated")
        secret = _view(KINDS.SECRET, stored)
        if secret.metadata.deletionTimestamp is not None:
            raise BadToken("Token has been invalidated")
        if not hmac.compare_digest(_content(secret.data.get("token", "")), text.encode("utf-8", "replace")):
            raise BadToken("Token does not match server's copy")
        account_stored = self._peek(key_of(KINDS.SERVICE_ACCOUNT, claims.namespace, claims.account))
        if account_stored is None:
            raise BadToken(f"serviceaccounts {go_quote(claims.account)} not found")
        account = _view(KINDS.SERVICE_ACCOUNT, account_stored).metadata
        if account.deletionTimestamp is not None:
            raise BadToken(f"ServiceAccount {claims.namespace}/{claims.account} has been deleted")
        if account.uid != claims.account_uid:
            raise BadToken(f"ServiceAccount UID ({account.uid}) does not match claim ({claims.account_uid})")
        if secret.metadata.labels.get(_INVALID_SINCE):
            where, whose = f"{claims.namespace}/{claims.secret}", f"{claims.namespace}/{claims.account}"
            raise BadToken(
                f"the token in secret {where} for service account {whose} has been marked invalid. Use tokens from the "
                "TokenRequest API or manually created secret-based tokens, or remove the "
                f"'{_INVALID_SINCE}' label from the secret to temporarily allow use of this token"
            )


def _view(kind: Kind, stored: Stored) -> Any:
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)


def _content(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        return b""


def _listed(texts: Sequence[str]) -> str:
    return f"[{' '.join(map(go_quote, texts))}]"
