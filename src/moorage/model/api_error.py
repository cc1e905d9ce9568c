"""Raise what an API server answers when it refuses: a `Status`, as an exception that both sides of the wire share.

The texts are part of the contract: kubectl prints them, controllers look at `reason`. Kubernetes: apimachinery,
api/errors.
"""

from collections.abc import Sequence
from typing import Any

from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind

Raw = dict[str, Any]


class ApiError(Exception):
    """A request that was refused or failed. `headers` go out with the answer, and so do `warnings`."""

    def __init__(self, status: Raw, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(status.get("message", ""))
        self.status = status
        self.headers = headers
        self.warnings: tuple[str, ...] = ()

    def warned(self, warnings: Sequence[str]) -> "ApiError":
        """Return this error with warnings that come before its own."""
        self.warnings = (*warnings, *self.warnings)
        return self

    @property
    def code(self) -> int:
        return int(self.status.get("code") or 500)

    @property
    def reason(self) -> str:
        return str(self.status.get("reason", ""))

    def has_cause(self, reason: str) -> bool:
        causes = (self.status.get("details") or {}).get("causes") or ()
        return any(cause.get("reason") == reason for cause in causes)

    @property
    def message(self) -> str:
        return str(self.status.get("message", ""))


def failure(code: int, reason: str, message: str, details: Raw | None = None) -> ApiError:
    status: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    if reason:
        status["reason"] = reason
    if details is not None:
        status["details"] = {name: value for name, value in details.items() if value}
    status["code"] = code
    return ApiError(status)


def _about(kind: Kind, name: str) -> Raw:
    return {"name": name, "group": kind.group, "kind": kind.plural}


def _resource(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


def not_found(kind: Kind, name: str) -> ApiError:
    return failure(404, "NotFound", f'{_resource(kind)} "{name}" not found', _about(kind, name))


def no_such_path() -> ApiError:
    """Return a 404 with details, if empty ones: kubectl looks into them without asking whether there are any."""
    return failure(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(kind: Kind, name: str) -> ApiError:
    return failure(409, "AlreadyExists", f'{_resource(kind)} "{name}" already exists', _about(kind, name))


def conflict(kind: Kind, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {_resource(kind)} "{name}": {why}'
    return failure(409, "Conflict", message, _about(kind, name))


def stale(kind: Kind, name: str) -> ApiError:
    """Return a 409: the object has changed since the revision that the request names."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(kind, name, why)


def forbidden(kind: Kind, name: str, why: str) -> ApiError:
    whom = f"{_resource(kind)} {go_quote(name)}" if name else _resource(kind)
    return failure(403, "Forbidden", f"{whom} is forbidden: {why}", _about(kind, name))


def bad_request(why: str) -> ApiError:
    return failure(400, "BadRequest", why)


def invalid(kind: Kind, name: str, message: str, causes: list[Raw]) -> ApiError:
    shown = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details: Raw = {"name": name, "group": kind.group, "kind": kind.name, "causes": causes}
    return failure(422, "Invalid", f"{shown} {go_quote(name)} is invalid: {message}", details)


def unauthorized() -> ApiError:
    return failure(401, "Unauthorized", "Unauthorized")


def method_not_supported(verb: str = "", kind: Kind | None = None) -> ApiError:
    """Return a 405: of a custom kind it names the verb and the resource."""
    if kind is None:
        return failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})
    message = f"{verb} is not supported on resources of kind {go_quote(_resource(kind))}"
    return failure(405, "MethodNotAllowed", message, {"group": kind.group, "kind": kind.plural})


def not_acceptable(media_types: str) -> ApiError:
    message = f"only the following media types are accepted: {media_types}"
    return failure(406, "NotAcceptable", message)


def unsupported_media_type(sent: str, accepted: str) -> ApiError:
    message = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return failure(415, "UnsupportedMediaType", message, {"name": sent})


def expired(why: str) -> ApiError:
    return failure(410, "Expired", why)


def too_many_requests(why: str, retry_after: int = 1) -> ApiError:
    error = failure(429, "TooManyRequests", why, {"retryAfterSeconds": retry_after})
    error.headers = (("Retry-After", str(retry_after)),)
    return error


def request_too_large(why: str) -> ApiError:
    return failure(413, "RequestEntityTooLarge", why)


def unavailable(why: str) -> ApiError:
    return failure(503, "ServiceUnavailable", why)


def shutting_down(retry_after: int = 1) -> ApiError:
    """Return what a client is told by a server that stops: another one, or the next start, answers."""
    details = {"retryAfterSeconds": retry_after}
    error = failure(503, "ServiceUnavailable", "the API server is shutting down, please try again later", details)
    error.headers = (("Retry-After", str(retry_after)),)
    return error


def timeout(why: str) -> ApiError:
    return failure(504, "Timeout", why)


def internal(why: str) -> ApiError:
    return failure(500, "InternalError", f"Internal error occurred: {why}")
