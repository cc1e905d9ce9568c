"""Implement the URL library: `url(<string>)`, `isURL` and accessors, with the grammar and messages of Go's `net/url`.

Everything is bytes in here, because Go escapes and unescapes bytes; text made of it has U+FFFD for bytes that are no
UTF-8. Python's `urllib.parse` is not used: it accepts nearly everything.
Kubernetes: apiserver/pkg/cel/library/urls.go and pkg/cel/url.go; url() and isURL() rest on ParseRequestURI, then Parse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from moorage.match.cel.functions import Function, argument_cost, argument_estimate, row
from moorage.match.cel.libraries.ip_address import AddressError, parse_address
from moorage.match.cel.types import URL
from moorage.match.cel.values import CelError, CelMap, OpaqueValue
from moorage.model.go.quoting import go_quote
from moorage.model.text.readers import reads_text

_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")
_DECIMAL = frozenset(b"0123456789")
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_UNRESERVED = _LETTERS | _DECIMAL | frozenset(b"-_.~")

# The bytes that stand for themselves in each part of a URL.
PATH = _UNRESERVED | frozenset(b"$&+,/:;=@")
HOST = _UNRESERVED | frozenset(b"!$&'()*+,;=:[]<>\"")
ZONE = frozenset(HOST | {0x100})  # as HOST, but a mode of its own: escapes are treated differently
USER = _UNRESERVED | frozenset(b"$&+,;=")
QUERY = _UNRESERVED
FRAGMENT = _UNRESERVED | frozenset(b"$&+,/:;=?@!()*")

_USERINFO = _UNRESERVED | frozenset(b":!$&'()*+,;=%@")
_ENCODED_EXTRA = frozenset(b"!$&'()*+,;=:@[]%")
_MAX_QUERY_PARAMETERS = 10_000


class URLError(ValueError):
    """A text that is no URL; `str(error)` is Go's message."""


@dataclass(slots=True, eq=False)
class ParsedURL(OpaqueValue):
    """A value of type kubernetes.URL: its parts, unescaped, and how path and fragment were spelled if unusually.

    It is equal to another when both are written the same.
    """

    cel_type = URL
    scheme: bytes = b""
    opaque: bytes = b""
    user: bytes | None = None
    password: bytes | None = None
    host: bytes = b""
    path: bytes = b""
    raw_path: bytes = b""
    raw_query: bytes = b""
    force_query: bool = False
    omit_host: bool = False
    fragment: bytes = b""
    raw_fragment: bytes = b""
    text: str = field(default="", init=False)

    def host_and_port(self) -> tuple[bytes, bytes]:
        """Return the host without brackets, and the port, empty if there is none or it is not a number."""
        host, port = self.host, b""
        colon = host.rfind(b":")
        if colon >= 0 and _is_optional_port(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    def escaped_path(self) -> bytes:
        if self.path == b"*" and not self.raw_path:
            return b"*"
        return _escaped(self.path, self.raw_path, PATH)

    def query(self) -> dict[str, list[str]]:
        """Return the query's parameters in order; those that cannot be read are left out, as Go's URL.Query does."""
        values: dict[str, list[str]] = {}
        if self.raw_query.count(b"&") + 1 > _MAX_QUERY_PARAMETERS:
            return values
        for pair in self.raw_query.split(b"&"):
            if not pair or b";" in pair:
                continue
            key, _, value = pair.partition(b"=")
            try:
                name, content = to_text(unescape(key, QUERY)), to_text(unescape(value, QUERY))
            except URLError:
                continue
            values.setdefault(name, []).append(content)
        return values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ParsedURL) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The URL written out again."""
        if not self.text:
            self.text = to_text(self._written())
        return self.text

    def _written(self) -> bytes:
        out = self.scheme + b":" if self.scheme else b""
        if self.opaque:
            out += self.opaque
        else:
            bare = not self.host and self.user is None
            if (self.scheme or not bare) and not (self.omit_host and bare):
                out += self._authority()
            path = self.escaped_path()
            if path and not path.startswith(b"/") and self.host:
                out += b"/"
            if not out and b":" in path.partition(b"/")[0]:
                out = b"./"
            out += path
        if self.force_query or self.raw_query:
            out += b"?" + self.raw_query
        if self.fragment:
            out += b"#" + _escaped(self.fragment, self.raw_fragment, FRAGMENT)
        return out

    def _authority(self) -> bytes:
        out = b"//" if self.host or self.path or self.user is not None else b""
        if self.user is not None:
            password = b"" if self.password is None else b":" + escape(self.password, USER)
            out += escape(self.user, USER) + password + b"@"
        return out + escape(self.host, HOST)


@reads_text("http", "://", "a", "/", "%41", "%", "?", "&", "=", ":", "@", "[", "]", "#", raises=URLError)
def parse_request_uri(text: str) -> ParsedURL:
    """Return an absolute URL or absolute path, without regard to fragments."""
    try:
        return _parse(text.encode("utf-8", "surrogatepass"), via_request=True)
    except URLError as error:
        raise URLError(f"parse {go_quote(text)}: {error}") from None


@reads_text("http", "://", "a", "/", "%41", "%", "?", "&", "=", ":", "@", "[", "]", "#", raises=URLError)
def parse_url(text: str) -> ParsedURL:
    head, _, fragment = text.partition("#")
    try:
        url = _parse(head.encode("utf-8", "surrogatepass"), via_request=False)
    except URLError as error:
        raise URLError(f"parse {go_quote(head)}: {error}") from None
    if fragment:
        raw = fragment.encode("utf-8", "surrogatepass")
        try:
            url.fragment = unescape(raw, FRAGMENT)
        except URLError as error:
            raise URLError(f"parse {go_quote(text)}: {error}") from None
        url.raw_fragment = b"" if escape(url.fragment, FRAGMENT) == raw else raw
    return url


def to_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def escape(raw: bytes, plain: frozenset[int]) -> bytes:
    """Write `%XX` for every byte outside `plain`."""
    return b"".join(bytes((byte,)) if byte in plain else b"%%%02X" % byte for byte in raw)


def unescape(raw: bytes, plain: frozenset[int]) -> bytes:
    """Return the bytes meant by `raw`. Hosts are special: they may not escape ASCII, nor contain what is not plain."""
    hostlike = plain is HOST or plain is ZONE
    out = bytearray()
    index = 0
    while index < len(raw):
        byte = raw[index]
        if byte == 0x25:
            triple = raw[index : index + 3]
            if len(triple) < 3 or triple[1] not in _HEXADECIMAL or triple[2] not in _HEXADECIMAL:
                raise _escape_error(triple)
            value = int(triple[1:], 16)
            if hostlike and triple != b"%25":
                refused = value < 0x80 if plain is HOST else value != 0x20 and value not in HOST
                if refused:
                    raise _escape_error(triple)
            out.append(value)
            index += 3
            continue
        if byte == 0x2B and plain is QUERY:
            byte = 0x20
        elif hostlike and byte < 0x80 and byte not in plain:
            raise URLError(f"invalid character {go_quote(chr(byte))} in host name")
        out.append(byte)
        index += 1
    return bytes(out)


def _parse(raw: bytes, *, via_request: bool) -> ParsedURL:
    if any(byte < 0x20 or byte == 0x7F for byte in raw):
        raise URLError("net/url: invalid control character in URL")
    if not raw and via_request:
        raise URLError("empty url")
    url = ParsedURL()
    if raw == b"*":
        url.path = b"*"
        return url
    scheme, rest = _split_scheme(raw)
    url.scheme = scheme.lower()
    if rest.endswith(b"?") and rest.count(b"?") == 1:
        url.force_query, rest = True, rest[:-1]
    else:
        rest, _, url.raw_query = rest.partition(b"?")
    if not rest.startswith(b"/"):
        if url.scheme:
            url.opaque = rest
            return url
        if via_request:
            raise URLError("invalid URI for request")
        if b":" in rest.partition(b"/")[0]:
            raise URLError("first path segment in URL cannot contain colon")
    authority_allowed = bool(url.scheme) or (not via_request and not rest.startswith(b"///"))
    if authority_allowed and rest.startswith(b"//"):
        authority, slash, tail = rest[2:].partition(b"/")
        rest = slash + tail
        _set_authority(url, authority)
    elif url.scheme and rest.startswith(b"/"):
        url.omit_host = True
    url.path = unescape(rest, PATH)
    url.raw_path = b"" if escape(url.path, PATH) == rest else rest
    return url


def _split_scheme(raw: bytes) -> tuple[bytes, bytes]:
    for index, byte in enumerate(raw):
        if byte in _LETTERS:
            continue
        if byte in b"0123456789+-.":
            if index == 0:
                break
        elif byte == 0x3A:
            if index == 0:
                raise URLError("missing protocol scheme")
            return raw[:index], raw[index + 1 :]
        else:
            break
    return b"", raw


def _set_authority(url: ParsedURL, authority: bytes) -> None:
    userinfo, at, host = authority.rpartition(b"@")
    url.host = _parse_host(url.scheme, host)
    if not at:
        return
    if not _USERINFO.issuperset(userinfo):
        raise URLError("net/url: invalid userinfo")
    user, colon, password = userinfo.partition(b":")
    url.user = unescape(user, USER)
    if colon:
        url.password = unescape(password, USER)


def _parse_host(scheme: bytes, host: bytes) -> bytes:
    bracket = host.rfind(b"[")
    if bracket > 0:
        raise URLError("invalid IP-literal")
    if bracket == 0:
        return _parse_ip_literal(host)
    colon = host.find(b":")
    if colon >= 0:
        # Only http and https are strict about further colons; databases list several hosts there.
        port = host[colon if scheme in (b"http", b"https") else host.rfind(b":") :]
        if not _is_optional_port(port):
            raise _port_error(port)
    return unescape(host, HOST)


def _parse_ip_literal(host: bytes) -> bytes:
    """`[<IPv6 address>]:<port>`; what follows `%25` inside the brackets is the zone."""
    end = host.rfind(b"]")
    if end < 0:
        raise URLError("missing ']' in host")
    port = host[end + 1 :]
    if not _is_optional_port(port):
        raise _port_error(port)
    name, percent, zone = host[1:end].partition(b"%25")
    literal = unescape(name, HOST) + unescape(percent + zone, ZONE)
    try:
        address = parse_address(literal.decode("utf-8", "surrogateescape"))
    except AddressError as error:
        raise URLError(f"invalid host: {error}") from None
    if address.is_4:
        raise URLError("invalid IP-literal")
    return b"[" + literal + b"]" + port


def _is_optional_port(port: bytes) -> bool:
    return not port or (port.startswith(b":") and _DECIMAL.issuperset(port[1:]))


def _escaped(plain_bytes: bytes, raw: bytes, plain: frozenset[int]) -> bytes:
    """Return the original spelling if it is valid and still means the same, else the default one."""
    if raw and (plain | _ENCODED_EXTRA).issuperset(raw):
        return raw
    return escape(plain_bytes, plain)


def _escape_error(triple: bytes) -> URLError:
    return URLError(f"invalid URL escape {go_quote(triple.decode('utf-8', 'surrogateescape'))}")


def _port_error(port: bytes) -> URLError:
    return URLError(f"invalid port {go_quote(port.decode('utf-8', 'surrogateescape'))} after host")


def _url(text: str) -> ParsedURL:
    try:
        parse_request_uri(text)
        return parse_url(text)
    except URLError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def uri_errors(text: str) -> list[str]:
    """Return why the text is no URI, in Go's words."""
    try:
        parse_request_uri(text)
    except URLError as error:
        return [str(error)]
    return []


def _accessor(name: str, overload: str, read: Callable[[ParsedURL], bytes]) -> Function:
    return row(f"URL.{name}() -> string", overload, lambda url: to_text(read(url)))


FUNCTIONS = (
    row("url(string) -> URL", "string_to_url", _url, argument_estimate(0.1, keeps_size=True), argument_cost(0.1)),
    _accessor("getScheme", "url_get_scheme", lambda url: url.scheme),
    _accessor("getHost", "url_get_host", lambda url: url.host),
    _accessor("getHostname", "url_get_hostname", lambda url: url.host_and_port()[0]),
    _accessor("getPort", "url_get_port", lambda url: url.host_and_port()[1]),
    _accessor("getEscapedPath", "url_get_escaped_path", ParsedURL.escaped_path),
    row("URL.getQuery() -> map(string, list(string))", "url_get_query", lambda url: CelMap(url.query().items())),
    row("isURL(string) -> bool", "is_url_string", lambda text: not uri_errors(text)),
)
