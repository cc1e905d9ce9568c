"""Describe an answered request as an audit event at the Metadata level, one line of JSON.

Kubernetes: audit.k8s.io/v1 Event, NewEventFromRequest, LogRequestObject and LogResponseObject. Differs: the only stage
is ResponseComplete, also of watches; values of parameters that may be secrets are hidden; authorization is not
annotated.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from moorage.admit.raw import Raw
from moorage.model.go.times import micro_time_text
from moorage.serve.access.authorization import Attributes, attributes_of
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.http.shown_target import shown_target
from moorage.serve.pki.authentication import User

_ENCODE = msgspec.json.Encoder().encode
#: Bodies that are read for a name or a message; what is longer has none.
MAX_READ_BYTES: Final = 64 * 1024
_NOTHING: Final = b""


class Answered(NamedTuple):
    """A request and what came of it. `sent` is the document of a create, `refusal` that of an answer which is none."""

    audit_id: str
    uri: str
    asked: Attributes
    user: User | None
    impersonator: User | None
    addresses: tuple[str, ...]
    agent: str
    code: int
    received: float  # seconds since 1970
    completed: float
    annotations: Mapping[str, str]
    sent: bytes = _NOTHING
    refusal: bytes = _NOTHING


class _Metadata(msgspec.Struct):
    name: str = ""


class _Named(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _Status(msgspec.Struct, omit_defaults=True):
    status: str = ""
    message: str = ""
    reason: str = ""
    details: Any = None


_read_named = msgspec.json.Decoder(_Named).decode
_read_status = msgspec.json.Decoder(_Status).decode


def answered_request(
    request: Request, answer: Response | Stream, audit_id: str, now: float, seconds: float
) -> Answered:
    """Return what an audit event says of a request that came over HTTP."""
    asked = attributes_of(request)
    body, is_plain = request.body, isinstance(answer, Response)
    sent = body if asked.verb == "create" and not asked.name and len(body) <= MAX_READ_BYTES else _NOTHING
    refusal = answer.body if answer.status >= 400 and isinstance(answer, Response) and is_plain else _NOTHING
    return Answered(
        audit_id,
        shown_target(request.target),
        asked,
        request.user,
        request.impersonator,
        (request.peer.address,) if request.peer.address else (),
        request.headers.get("user-agent", ""),
        answer.status,
        now - seconds,
        now,
        request.audit,
        sent,
        refusal,
    )


def event_line(answered: Answered) -> bytes:
    """Return the line of a request in the log. It reads documents, and belongs to another thread."""
    user, acting = answered.impersonator or answered.user, answered.user if answered.impersonator else None
    event: Raw = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": answered.audit_id,
        "stage": "ResponseComplete",
        "requestURI": answered.uri,
        "verb": answered.asked.verb,
        "user": _user(user),
    }
    if acting is not None:
        event["impersonatedUser"] = _user(acting)
    event["sourceIPs"] = list(answered.addresses)
    if answered.agent:
        event["userAgent"] = answered.agent
    if answered.asked.is_resource:
        event["objectRef"] = _reference(answered)
    event["responseStatus"] = {"metadata": {}, **_status(answered.refusal), "code": answered.code}
    event["requestReceivedTimestamp"] = micro_time_text(int(answered.received * 1e6))
    event["stageTimestamp"] = micro_time_text(int(answered.completed * 1e6))
    if answered.annotations:
        event["annotations"] = dict(answered.annotations)
    return _ENCODE(event) + b"\n"


def _user(user: User | None) -> Raw:
    if user is None:
        return {}
    shown: Raw = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    shown["extra"] = {name: list(values) for name, values in user.extra.items()}
    return {name: value for name, value in shown.items() if value}


def _reference(answered: Answered) -> Raw:
    asked = answered.asked
    reference = {
        "resource": asked.resource,
        "namespace": asked.namespace,
        "name": asked.name or _name_in(answered.sent),
        "apiGroup": asked.group,
        "apiVersion": asked.version,
        "subresource": asked.subresource,
    }
    return {name: text for name, text in reference.items() if text}


def _name_in(document: bytes) -> str:
    try:
        return _read_named(document).metadata.name if document else ""
    except msgspec.MsgspecError:
        return ""


def _status(refusal: bytes) -> Raw:
    try:
        status: Raw = msgspec.to_builtins(_read_status(refusal)) if refusal else {}
    except msgspec.MsgspecError:
        return {}
    return status
