"""Exchange one-time tokens for sessions, which a cookie names.

The address that is printed has a token. The first request that brings it gets a cookie, and the token is void. Both
are compared in constant time. The cookie's name has the port: browsers send cookies to every port of a host.
"""

import hmac
import secrets
from collections import deque

_BYTES = 32
#: Browsers that may be let in at a time; the oldest session ends when another begins.
_MAX_SESSIONS = 64


class Sessions:
    """The token that is valid now, and the sessions that tokens were exchanged for."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(_BYTES)
        self._sessions: deque[str] = deque(maxlen=_MAX_SESSIONS)

    @property
    def token(self) -> str:
        """The token that has not been used yet; empty after it was used."""
        return self._token

    def renew(self) -> str:
        """Make a new token, the only one that is valid then."""
        self._token = secrets.token_urlsafe(_BYTES)
        return self._token

    def exchange(self, token: str) -> str:
        """Return a new session for the token, which is void from now on; empty if it is not valid."""
        if not self._token or not _equal(token, self._token):
            return ""
        self._token = ""
        session = secrets.token_urlsafe(_BYTES)
        self._sessions.append(session)
        return session

    def has(self, session: str) -> bool:
        """Return whether the session was begun here. Looks at all of them, however early one matches."""
        return sum([_equal(session, known) for known in self._sessions]) > 0


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def cookie_name(port: int) -> str:
    return f"moorage-dashboard-{port}"


def set_cookie(port: int, session: str) -> str:
    """Return the value of Set-Cookie: for this host only, never for scripts, never sent from other sites."""
    return f"{cookie_name(port)}={session}; Path=/; HttpOnly; SameSite=Strict"


def session_in(cookies: str, port: int) -> str:
    """Return what the Cookie header says of this dashboard's session; empty if it says nothing."""
    wanted = cookie_name(port)
    for part in cookies.split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return ""
