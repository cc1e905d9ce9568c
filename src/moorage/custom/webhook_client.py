"""Validate where a webhook is: a URL, or a path of a Service.

Kubernetes: apiserver/pkg/util/webhook/validation.go.
"""

from typing import Final, Protocol

from moorage.match.cel.libraries.url_value import USER, URLError, escape, parse_url, to_text
from moorage.model.field_error import FieldErrors, invalid, required
from moorage.model.names import dns1123_subdomain_errors, port_number_errors

_FORM: Final = "; desired format: https://host[/path]"


class WebhookService(Protocol):
    """A path of a Service, as webhooks of admission and of conversion name it."""

    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def path(self) -> str | None: ...
    @property
    def port(self) -> int | None: ...


class WebhookAddress(Protocol):
    """Where a webhook is, in configurations of admission and in definitions."""

    @property
    def url(self) -> str | None: ...
    @property
    def service(self) -> WebhookService | None: ...


def validate_webhook_client(client: WebhookAddress, path: str) -> FieldErrors:
    url, service = client.url, client.service
    if (url is None) is (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, f"{path}.url")
    elif service is not None:
        yield from _validate_service(service, f"{path}.service")


def _validate_url(text: str, path: str) -> FieldErrors:
    try:
        url = parse_url(text)
    except URLError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != b"https":
        yield invalid(path, to_text(url.scheme), f"'https' is the only allowed URL scheme{_FORM}")
    if not url.host:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if url.user is not None:
        password = b"" if url.password is None else b":" + escape(url.password, USER)
        yield invalid(path, to_text(escape(url.user, USER) + password), "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, to_text(url.fragment), "fragments are not permitted in the URL")
    if url.raw_query:
        yield invalid(path, to_text(url.raw_query), "query parameters are not permitted in the URL")


def _validate_service(service: WebhookService, path: str) -> FieldErrors:
    """Check a Service. An absent name is reported as an absent namespace, and the other way round, as upstream does."""
    given, port = service.path, service.port
    if not service.namespace:
        yield required(f"{path}.name")
    if not service.name:
        yield required(f"{path}.namespace")
    if errors := port_number_errors(port or 0):
        yield invalid(f"{path}.port", port or 0, f"port is not valid: {', '.join(errors)}")
    if not given or given == "/":
        return
    path = f"{path}.path"
    if given == "//":
        yield invalid(path, given, "segment[0] may not be empty")
        return
    if not given.startswith("/"):
        yield invalid(path, given, "must start with a '/'")
    for number, step in enumerate(given[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(path, given, f"segment[{number}] may not be empty")
        else:
            for message in dns1123_subdomain_errors(step):
                yield invalid(path, given, f"segment[{number}]: {message}")
