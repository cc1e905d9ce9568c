"""Authenticate requests by bearer token or client certificate.

TLS has verified that our authority signed the certificate. Without either only health and version answer. Kubernetes:
the token-file, x509 and anonymous authenticators; service accounts' tokens are not issued.
"""

import hmac
from collections.abc import Mapping
from typing import NamedTuple

from moorage.model.api_error import unauthorized
from moorage.serve.http.messages import Peer, Request


class User(NamedTuple):
    """A user, as `kubectl auth whoami` shows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = {}


AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"
ADMIN = User("kubernetes-admin", groups=(MASTERS, AUTHENTICATED))
ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))

_OPEN_PATHS = ("/livez", "/readyz", "/healthz", "/version")


class Authenticator:
    """Knows the tokens, which are compared in constant time, and reads certificate subjects."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._tokens = tuple((token.encode(), user) for token, user in tokens.items())

    def authenticate(self, request: Request) -> User:
        """Return the user and set `request.user`. Raises ApiError 401 if there is none and the path is not open."""
        header = request.headers.get("authorization")
        user = request.peer.user or self._by_certificate(request.peer)
        if user is None and header is not None:
            user = self._by_token(header)
        if user is None:
            if header is not None or not is_open(request.path):
                raise unauthorized()
            user = ANONYMOUS
        request.user = user
        return user

    def _by_token(self, header: str) -> User | None:
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            return None
        presented = token.strip().encode("utf-8", "replace")
        found = None
        for known, user in self._tokens:
            if hmac.compare_digest(known, presented):
                found = user
        return found

    def _by_certificate(self, peer: Peer) -> User | None:
        names = [value for key, value in peer.subject if key == "commonName"]
        if not names:
            return None
        groups = tuple(value for key, value in peer.subject if key == "organizationName")
        peer.user = User(names[0], groups=(*groups, AUTHENTICATED))
        return peer.user


def is_open(path: str) -> bool:
    """Whether a path is open to all: health, its single checks, and version."""
    return path in _OPEN_PATHS or path.startswith(("/livez/", "/readyz/", "/healthz/"))
