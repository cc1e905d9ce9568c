"""Tell from a clientConfig where a webhook is, by which name it must identify itself, and whom it is believed.

Kubernetes: apiserver/pkg/util/webhook, the hook client's configuration.
"""

import posixpath
from typing import NamedTuple, Protocol
from urllib.parse import quote, unquote, urlsplit

from moorage.custom.webhook_client import WebhookAddress

_HTTPS_PORT = 443
_KEPT = "$&+,/:;=@!'()*~"  # what Go leaves in a path as it is


class ClientConfig(WebhookAddress, Protocol):
    """A clientConfig, in configurations of admission and in definitions."""

    @property
    def caBundle(self) -> str: ...


class WebhookTarget(NamedTuple):
    """A webhook as a server to connect to. `service` is its namespace and name, if it is behind one."""

    origin: str  # https:// and what the Host header says
    path: str
    host: str
    port: int
    server_name: str
    authorities: str  # base64 of PEM; empty for those of the system
    service: tuple[str, str] | None = None

    @property
    def authority(self) -> str:
        return self.origin.removeprefix("https://")

    def url(self, query: str) -> str:
        return f"{self.origin}{self.path}{query}"

    def request_target(self, query: str) -> str:
        return self.path + query


class BadTarget(ValueError):
    """A clientConfig that names no webhook that could be called."""


def target_of(client: ClientConfig) -> WebhookTarget:
    """Raises BadTarget."""
    authorities = "".join(client.caBundle.split())
    service = client.service
    if service is not None:
        name, port = f"{service.name}.{service.namespace}.svc", service.port or _HTTPS_PORT
        where = (service.namespace, service.name)
        return WebhookTarget(f"https://{name}:{port}", _path(service.path or ""), name, port, name, authorities, where)
    if not client.url:
        raise BadTarget("webhook configuration must have either service or URL")
    try:
        url = urlsplit(client.url)
        host, port = url.hostname or "", url.port or _HTTPS_PORT
    except ValueError as error:
        raise BadTarget(f"Unparsable URL: {error}") from None
    if url.scheme != "https" or not host:
        raise BadTarget(f"Unparsable URL: {client.url} is not https://host[:port]/path")
    authority = url.netloc.rpartition("@")[2]
    return WebhookTarget(f"https://{authority}", _path(unquote(url.path)), host, port, host, authorities)


def _path(path: str) -> str:
    """Return a path as Go's client sends it: cleaned, and without a slash at its end."""
    return quote(posixpath.normpath("/" + path.lstrip("/")), safe=_KEPT)
