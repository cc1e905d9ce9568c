"""Write the two pages that are shown before a browser is let in: go on, and how to get in."""

import html

from moorage.dashboard.http.guard import SECURITY_HEADERS
from moorage.serve.http.messages import Response

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
<p>{text}</p>
</main>
</body>
</html>
"""


def welcome(cookie: str) -> Response:
    """Set the cookie and go on to the dashboard.

    Not by a redirect: a browser that was led here by another site would not send a SameSite=Strict cookie along.
    """
    head = '<meta http-equiv="refresh" content="0; url=/">\n'
    text = 'You are let in. <a href="/">Go on to the dashboard</a>.'
    body = _PAGE.format(title="Moorage", text=text, head=head)
    return _page(200, body, (("Set-Cookie", cookie),))


def refuse(why: str) -> Response:
    return _page(401, _PAGE.format(title="Not let in", text=html.escape(why), head=""))


def _page(status: int, body: str, headers: tuple[tuple[str, str], ...] = ()) -> Response:
    return Response(
        status,
        body.encode(),
        "text/html; charset=utf-8",
        (*SECURITY_HEADERS, ("Cache-Control", "no-store"), *headers),
    )
