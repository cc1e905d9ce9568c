"""Authenticate requests by bearer token or client certificate.

TLS has verified that our authority signed the certificate. Tokens are fixed ones, which are the administrator's, or
those of service accounts. Without either only health and version answer. Kubernetes: the token-file, service account,
x509 and anonymous authenticators.
"""

import hmac
from collections.abc import Mapping, Sequence

from moorage.model.api_error import ApiError, unauthorized
from moorage.serve.http.messages import Peer, Request
from moorage.serve.pki.authentication import ANONYMOUS, AUTHENTICATED, CREDENTIAL_ID, User, is_open
from moorage.serve.tokens.service_accounts import Authenticated, BadToken, RevokedToken, ServiceAccountTokens


class Authenticator:
    """Knows fixed tokens, which are compared in constant time, those of service accounts, and certificate subjects.

    `looks_twice`: what a token is bound to may be there, and not be known yet.
    """

    def __init__(
        self, tokens: Mapping[str, User], accounts: ServiceAccountTokens | None = None, *, looks_twice: bool = False
    ) -> None:
        self._looks_twice = looks_twice
        self._tokens = tuple((token.encode(), user) for token, user in tokens.items())
        self._accounts = accounts

    def admit(self, request: Request) -> None:
        """Let a request in, with its user if that is known at once. Raises ApiError 401 if it is refused for good."""
        try:
            self.authenticate(request)
        except ApiError:
            if not self._looks_twice or not self._is_revoked(request.headers.get("authorization") or ""):
                raise

    def _is_revoked(self, header: str) -> bool:
        try:
            self.find(header.partition(" ")[2].strip())
        except RevokedToken:
            return True
        except BadToken:
            pass
        return False

    def authenticate(self, request: Request) -> User:
        """Return the user and set `request.user`. Raises ApiError 401 for a path that is not open."""
        header = request.headers.get("authorization")
        user = request.peer.user or self._by_certificate(request.peer)
        if user is None and header is not None:
            user = self._by_header(header)
        if user is None:
            if header is not None or not is_open(request.path):
                raise unauthorized()
            user = ANONYMOUS
        request.user = user
        return user

    def find(self, token: str, audiences: Sequence[str] = ()) -> Authenticated | None:
        """Return whose a token is, None if it is unknown. Raises BadToken if it is known and refused."""
        presented = token.encode("utf-8", "replace")
        found = None
        for known, user in self._tokens:
            if hmac.compare_digest(known, presented):
                found = user
        if found is not None:
            common = self._of_api(audiences)
            return Authenticated(found, common) if common or self._accounts is None else None
        return self._accounts.authenticate(token, audiences) if self._accounts is not None else None

    def _of_api(self, audiences: Sequence[str]) -> tuple[str, ...]:
        """Return the audiences that are the API server's own: fixed tokens are for no other."""
        own = self._accounts.settings.api_audiences if self._accounts is not None else ()
        return tuple(audience for audience in audiences if audience in own) if audiences else own

    def _by_header(self, header: str) -> User | None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            return None
        try:
            user = self.find(token.strip())
        except BadToken:
            return None
        return user.user if user is not None else None

    def _by_certificate(self, peer: Peer) -> User | None:
        names = [value for key, value in peer.subject if key == "commonName"]
        if not names or not names[0]:
            return None
        groups = tuple(value for key, value in peer.subject if key == "organizationName")
        extra = {CREDENTIAL_ID: (f"X509SHA256={peer.fingerprint}",)} if peer.fingerprint else {}
        peer.user = User(names[0], groups=(*groups, AUTHENTICATED), extra=extra)
        return peer.user
