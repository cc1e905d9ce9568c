"""The URL library: `url(<string>)`, `isURL` and the accessors.

Kubernetes: apiserver/pkg/cel/library/urls.go and pkg/cel/url.go. The grammar is `url_value.py`'s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from moorage.match.cel.functions import Function, Overload, row
from moorage.match.cel.libraries.network.url_value import ParsedURL, URLError, parse_request_uri, parse_url, to_text
from moorage.match.cel.libraries.text.string_costs import argument_cost, argument_estimate
from moorage.match.cel.types import STRING, URL, Type
from moorage.match.cel.values import CelError, CelMap, OpaqueValue

if TYPE_CHECKING:
    from collections.abc import Callable


class URLValue(OpaqueValue):
    """A value of type kubernetes.URL; equal to another when both are written the same."""

    __slots__ = ("url",)
    cel_type: ClassVar[Type] = URL

    def __init__(self, url: ParsedURL) -> None:
        self.url = url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URLValue) and str(self.url) == str(other.url)

    def __hash__(self) -> int:
        return hash(str(self.url))


def _url(text: str) -> URLValue:
    try:
        parse_request_uri(text)
        return URLValue(parse_url(text))
    except URLError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _accessor(name: str, overload: str, read: Callable[[ParsedURL], bytes]) -> Function:
    return Function(name, (Overload(overload, (URL,), STRING, lambda value: to_text(read(value.url)), member=True),))


FUNCTIONS = (
    row("url(string) -> URL", "string_to_url", _url, argument_estimate(0.1, keeps_size=True), argument_cost(0.1)),
    _accessor("getScheme", "url_get_scheme", lambda url: url.scheme),
    _accessor("getHost", "url_get_host", lambda url: url.host),
    _accessor("getHostname", "url_get_hostname", lambda url: url.host_and_port()[0]),
    _accessor("getPort", "url_get_port", lambda url: url.host_and_port()[1]),
    _accessor("getEscapedPath", "url_get_escaped_path", lambda url: url.escaped_path()),
    row(
        "URL.getQuery() -> map(string, list(string))",
        "url_get_query",
        lambda value: CelMap.of_strings(value.url.query()),
    ),
    row("isURL(string) -> bool", "is_url_string", _is_url),
)
