"""Let browsers in: exchange one-time tokens for sessions, which a cookie names.

The address that is printed has a token. The first request that brings it gets a cookie, and the token is void. Both
are compared in constant time. The cookie's name has the port: browsers send cookies to every port of a host. Two small
pages are shown before: one goes on to the dashboard, the other says how to get in.
"""

import hmac
import secrets
from collections import deque

from moorage.dashboard.http.guard import SECURITY_HEADERS
from moorage.serve.http.messages import Response

_BYTES = 32
#: Browsers that may be let in at a time; the oldest session ends when another begins.
_MAX_SESSIONS = 64
#: Used tokens that are remembered, to tell those who open one again what to do.
_MAX_USED = 64


class Sessions:
    """The token that is valid now, and the sessions that tokens were exchanged for."""

    def __init__(self) -> None:
        self._token = secrets.token_urlsafe(_BYTES)
        self._sessions: deque[str] = deque(maxlen=_MAX_SESSIONS)
        self._used: deque[str] = deque(maxlen=_MAX_USED)

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
        self._used.append(self._token)
        self._token = ""
        session = secrets.token_urlsafe(_BYTES)
        self._sessions.append(session)
        return session

    def has(self, session: str) -> bool:
        """Return whether the session was begun here. Looks at all of them, however early one matches."""
        return sum([_equal(session, known) for known in self._sessions]) > 0

    def was_used(self, token: str) -> bool:
        """Return whether the token has let a browser in before."""
        return sum([_equal(token, known) for known in self._used]) > 0


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def cookie_name(port: int) -> str:
    return f"moorage-dashboard-{port}"


def set_cookie(port: int, session: str) -> str:
    """Return the value of Set-Cookie: for this host only, never for scripts, never sent from other sites."""
    return f"{cookie_name(port)}={session}; Path=/; HttpOnly; SameSite=Strict"


def session_in(cookies: str, port: int) -> str:
    """Return what the Cookie header says of this dashboard's session; empty if it says nothing."""
    own_name = cookie_name(port)
    for part in cookies.split(";"):
        name, _, value = part.strip().partition("=")
        if name == own_name:
            return value
    return ""


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Moorage</title>
<link rel="stylesheet" href="/styles/theme.css">
<link rel="stylesheet" href="/styles/base.css">
{head}</head>
<body>
<main class="notice">
<h1>{title}</h1>
{text}
</main>
</body>
</html>
"""


def welcome(cookie: str) -> Response:
    """Set the cookie and go on to the dashboard.

    Not by a redirect: a browser that was led here by another site would not send a SameSite=Strict cookie along.
    """
    head = '<meta http-equiv="refresh" content="0; url=/">\n'
    text = '<p>You are let in. <a href="/">Go on to the dashboard</a>.</p>'
    body = _PAGE.format(title="Moorage", text=text, head=head)
    return _page(200, body, (("Set-Cookie", cookie),))


_TERMINAL = "terminal that runs <code>moorage dashboard</code>"


def refuse_used() -> Response:
    """Say that the link was used, and where the next one is."""
    return _refuse(
        "This link has been used",
        f"The {_TERMINAL} <strong>has printed a new link</strong>. Open that one in this browser.",
        "Each link lets in one browser, once. That browser needs no link any more: the address without the token opens "
        "the dashboard there.",
    )


def refuse_wrong() -> Response:
    """Say that the token in the address was never valid here, or is not any more."""
    return _refuse(
        "This link is not valid",
        "It may be cut off, or the dashboard was restarted since it was printed.",
        f"Open the link that was printed last in the {_TERMINAL}.",
    )


def refuse_without() -> Response:
    """Say how to get in to a browser that brings neither a token nor a session."""
    return _refuse(
        "Open the link with the token",
        f"Open the link that was printed in the {_TERMINAL}. It ends with a token that lets this browser in.",
        "If that link has been used before, open it all the same: a new one is printed then.",
        "If this browser was let in before and you came here by a link, press Enter in the address bar.",
    )


def _refuse(title: str, *paragraphs: str) -> Response:
    text = "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return _page(401, _PAGE.format(title=title, text=text, head=""))


def _page(status: int, body: str, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(
        status,
        body.encode(),
        "text/html; charset=utf-8",
        (*SECURITY_HEADERS, ("Cache-Control", "no-store"), *headers),
    )
