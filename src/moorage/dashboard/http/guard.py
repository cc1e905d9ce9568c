"""Refuse requests that do not come from the dashboard's own page.

The Host must be an address of this server: a name that another site's DNS points here (DNS rebinding) is refused. An
Origin, where the browser sends one, must be this server's; requests that change or compute something must have one.
Browsers also say with Sec-Fetch-Site which site asks: other sites get nothing but the front page.
"""

from ipaddress import ip_address

from moorage.model.api_error import ApiError, failure
from moorage.serve.http.messages import Headers, Request

_LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
_OWN_SITE = ("same-origin", "none")

#: What the page may do: load its own modules and styles, and talk to this server. Nothing else, nothing inline.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; "
    "font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Headers = (
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches the address."""
    if address == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


class Guard:
    """Knows by which hosts this server may be called. `names` are those that the user allows besides addresses."""

    def __init__(self, bind_address: str, port: int, names: tuple[str, ...] = ()) -> None:
        self._port, self._names = port, {name.lower() for name in names}
        self._is_public = not is_loopback(bind_address)

    def check(self, request: Request) -> None:
        """Raises ApiError for a request that another site may have caused."""
        host = request.headers.get("host", "")
        if not self._is_ours(host):
            raise _refusal(
                f"the host {host!r} is not this dashboard's: open the address that was printed, or allow the name "
                "with --allow-host"
            )
        origin = request.headers.get("origin")
        if origin is None and request.method not in ("GET", "HEAD"):
            raise _refusal("the request has no Origin: only the dashboard's own page may send it")
        if origin is not None and origin.lower() not in self._origins(host.lower()):
            raise _refusal(f"the request comes from {origin!r}: only the dashboard's own page may send it")
        if request.path != "/" and request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
            raise _refusal("the request comes from another site")

    def _origins(self, host: str) -> tuple[str, ...]:
        """Return the origins of pages that this host may have served; by an allowed name a proxy may speak TLS."""
        return (f"http://{host}", f"https://{host}") if self._is_allowed_name(host) else (f"http://{host}",)

    def _is_allowed_name(self, host: str) -> bool:
        return host in self._names or host.rpartition(":")[0] in self._names

    def _is_ours(self, host: str) -> bool:
        host = host.lower()
        if self._is_allowed_name(host):
            return True
        name, separator, port = host.rpartition(":")
        if not separator or port != str(self._port):
            return False
        name = name.strip("[]")
        return name in _LOCAL_NAMES or (self._is_public and _is_address(name))


def _is_address(name: str) -> bool:
    """Return whether it is an IP address: no DNS can make another site's name into one."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refusal(text: str) -> ApiError:
    return failure(403, "Forbidden", text)
