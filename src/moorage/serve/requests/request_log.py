"""Log requests as kube-apiserver does: refusals at verbosity 2, all requests with their latency at verbosity 3.

Values of parameters that may be secrets are hidden. That an object to read does not exist is no refusal. A request that
is logged has an Audit-Id, the client's own or a new one, which goes out with the answer. Kubernetes: apiserver's
server/httplog, the audit ID filter.
"""

import uuid
from typing import Any, NamedTuple

import msgspec

from moorage.model.go.times import duration_text
from moorage.serve.access.authorization import attributes_of, describe_user
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.http.shown_target import shown_target
from moorage.telemetry.logs import get_logger

LOG = get_logger("apiserver")
REFUSALS, REQUESTS = 2, 3
_MAX_AUDIT_ID, _MAX_MESSAGE = 64, 1024
_VERBS = {"list": "LIST", "watch": "WATCH", "deletecollection": "DELETECOLLECTION"}


class RequestLog:
    """The log of the requests that come over HTTP."""

    def enabled(self) -> bool:
        return LOG.enabled(REFUSALS)

    def identify(self, request: Request, answer: Response | Stream) -> Response | Stream:
        """Return the answer with the request's Audit-Id."""
        return msgspec.structs.replace(answer, headers=(*answer.headers, ("Audit-Id", _audit_id(request))))

    def answered(self, request: Request, answer: Response | Stream, seconds: float) -> None:
        """Log a request whose answer has been sent."""
        fields: dict[str, Any] = {
            "verb": _verb(request),
            "URI": shown_target(request.target),
            "latency": duration_text(int(seconds * 1e9)),
            "userAgent": request.headers.get("user-agent", ""),
            "audit-ID": _audit_id(request)[:_MAX_AUDIT_ID],
            "srcIP": request.peer.address,
        }
        user, impersonator = request.user, request.impersonator
        if LOG.enabled(REQUESTS):
            added = {}
            if impersonator is not None and user is not None:
                added["addedInfo"] = f"{describe_user(impersonator)} is impersonating {describe_user(user)}"
            LOG.debug(REQUESTS, "HTTP", **fields, resp=answer.status, **added)
        is_absent = answer.status == 404 and request.method in ("GET", "HEAD")
        if answer.status >= 400 and not is_absent and isinstance(answer, Response):
            status = _Refusal.read(answer.body)
            who = {"user": user.name} if user is not None else {}
            if impersonator is not None:
                who["impersonator"] = impersonator.name
            LOG.debug(REFUSALS, "Refused", **fields, **who, resp=answer.status, **status._asdict())


class _Refusal(NamedTuple):
    reason: str
    err: str

    @classmethod
    def read(cls, body: bytes) -> "_Refusal":
        try:
            status = msgspec.json.decode(body)
            return cls(str(status.get("reason", "")), str(status.get("message", ""))[:_MAX_MESSAGE])
        except (ValueError, AttributeError):  # health, whose answers are plain text
            return cls("", body[:_MAX_MESSAGE].decode("utf-8", "replace"))


def log_in_process(verb: str, uri: str, seconds: float, agent: str, code: int, err: str = "") -> None:
    """Log a request of a component in this process. That something was not found is no refusal: components look."""
    fields: dict[str, Any] = {
        "verb": verb,
        "URI": uri,
        "latency": duration_text(int(seconds * 1e9)),
        "userAgent": agent,
    }
    LOG.debug(REQUESTS, "HTTP", **fields, resp=code)
    if code >= 400 and code != 404:
        LOG.debug(REFUSALS, "Refused", **fields, resp=code, err=err[:_MAX_MESSAGE])


def _audit_id(request: Request) -> str:
    given = request.headers.get("audit-id")
    if given is None:
        given = request.headers["audit-id"] = str(uuid.uuid4())
    return given


def _verb(request: Request) -> str:
    verb = _VERBS.get(attributes_of(request).verb, request.method)
    is_apply = verb == "PATCH" and request.headers.get("content-type", "").startswith("application/apply-patch")
    return "APPLY" if is_apply else verb
