"""Write paths and bodies of requests, and decode answers. Kubernetes: client-go's rest.Request and rest.Result.

Of an object only name and revision are decoded.
"""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from moorage.client.protocol import EventType, Object, Unreachable, WatchEvent
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.kinds import Kind

Raw = dict[str, Any]


class _Metadata(msgspec.Struct):
    name: str = ""
    namespace: str = ""
    resourceVersion: str = ""


class _Head(msgspec.Struct):
    metadata: _Metadata
    kind: str = ""


class _ListMetadata(msgspec.Struct, rename={"continues": "continue"}):
    resourceVersion: str = ""
    continues: str = ""
    remainingItemCount: int | None = None


class _List(msgspec.Struct):
    metadata: _ListMetadata
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_HEAD = msgspec.json.Decoder(_Head)
_LIST = msgspec.json.Decoder(_List)
_EVENT = msgspec.json.Decoder(_Event)
_NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError)
_TYPES = {kind.value: kind for kind in EventType}
_TAGS = re.compile(r"<style.*?</style>|<script.*?</script>|<[^>]*>", re.DOTALL | re.IGNORECASE)
#: Reasons by status code, for answers without a Status.
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Gone",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Page(NamedTuple):
    """A part of a list; `continues` is empty in the last one. `remaining` follow, as far as the server says."""

    items: list[Object]
    revision: int
    continues: str
    remaining: int = 0


def collection_path(kind: Kind, namespace: str) -> str:
    root = f"/apis/{kind.api_version}" if "/" in kind.api_version else f"/api/{kind.api_version}"
    if namespace and kind.namespaced:
        return f"{root}/namespaces/{_segment(namespace)}/{kind.plural}"
    return f"{root}/{kind.plural}"


def object_path(kind: Kind, name: str, namespace: str, subresource: str = "") -> str:
    check_name(kind, name, namespace)
    path = f"{collection_path(kind, namespace)}/{_segment(name)}"
    return f"{path}/{subresource}" if subresource else path


def check_name(kind: Kind, name: str, namespace: str) -> None:
    """Refuse names that client-go would not send. Raises ApiError."""
    if kind.namespaced and not namespace:
        raise bad_request("an empty namespace may not be set when a resource name is provided")
    if not name:
        raise bad_request("resource name may not be empty")
    if name in (".", "..") or "/" in name or "%" in name:
        raise bad_request(f'invalid resource name "{name}"')


def namespace_to_create_in(kind: Kind, document: Raw, namespace: str) -> str:
    """Return the given namespace, or else the document's. Raises ApiError if there is neither."""
    namespace = namespace or metadata_text(document, "namespace")
    if kind.namespaced and not namespace:
        raise bad_request("an empty namespace may not be set during creation")
    return namespace


def metadata_text(document: Raw, field: str) -> str:
    metadata = document.get("metadata")
    value = metadata.get(field) if isinstance(metadata, dict) else None
    return value if isinstance(value, str) else ""


def _segment(name: str) -> str:
    return name if name.isalnum() and name.isascii() else quote(name, safe="")


def render_binding(namespace: str, name: str, uid: str, node: str) -> Raw:
    metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": {"kind": "Node", "name": node}}


def render_eviction(namespace: str, name: str, uid: str) -> Raw:
    options = {"deleteOptions": {"preconditions": {"uid": uid}}} if uid else {}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, **options}


def render_delete_options(
    uid: str = "",
    grace_seconds: int | None = None,
    propagation: str = "",
    revision: int = 0,
    *,
    dry_run: bool = False,
) -> Raw:
    """Return DeleteOptions; empty if there are none."""
    options: Raw = {}
    preconditions = {"uid": uid, "resourceVersion": str(revision or "")}
    if uid or revision:
        options["preconditions"] = {name: value for name, value in preconditions.items() if value}
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    if propagation:
        options["propagationPolicy"] = propagation
    if dry_run:
        options["dryRun"] = ["All"]
    return {"kind": "DeleteOptions", "apiVersion": "v1", **options} if options else options


def read_object(kind: Kind, body: bytes) -> Object:
    """Decode an object. Raises Unreachable if the body is not one."""
    try:
        head = _HEAD.decode(body)
    except _NOT_JSON as error:
        raise _unreadable("an object", error) from None
    return _object(kind, head, body)


def _object(kind: Kind, head: _Head, body: bytes) -> Object:
    metadata = head.metadata
    if not head.kind:  # items of a list have no kind
        start = b'{"kind":"%s","apiVersion":"%s",' % (kind.name.encode(), kind.api_version.encode())
        body = start + body[body.index(b"{") + 1 :]
    key = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
    return Object(kind, key, _revision(metadata.resourceVersion), body)


def _revision(text: str) -> int:
    if text.isdigit() and text.isascii() and len(text) < 20:
        return int(text)
    if not text:
        return 0
    raise Unreachable(f"the server's resourceVersion {text[:40]!r} is not a number")


def read_page(kind: Kind, body: bytes) -> Page:
    """Decode a list. Raises Unreachable if the body is not one."""
    try:
        listing = _LIST.decode(body)
        items = [_object(kind, _HEAD.decode(item), bytes(item)) for item in listing.items or ()]
    except _NOT_JSON as error:
        raise _unreadable("a list", error) from None
    metadata = listing.metadata
    return Page(items, _revision(metadata.resourceVersion), metadata.continues, metadata.remainingItemCount or 0)


def read_events(kind: Kind, lines: bytes) -> tuple[list[WatchEvent], ApiError | None]:
    """Decode whole lines of a watch, up to the first error event."""
    try:
        events: list[WatchEvent] = []
        for event in _EVENT.decode_lines(lines):
            event_type = _TYPES.get(event.type)
            if event_type is None:
                return events, _error_event(event)
            head = _HEAD.decode(event.object)
            if event_type is EventType.BOOKMARK:
                item = Object(kind, "", _revision(head.metadata.resourceVersion), raw={})
            else:
                item = _object(kind, head, bytes(event.object))
            events.append(WatchEvent(event_type, item))
    except _NOT_JSON as error:
        raise _unreadable("watch events", error) from None
    return events, None


def _error_event(event: _Event) -> ApiError:
    if event.type != "ERROR":
        raise Unreachable(f"the server sent a watch event of unknown type {event.type[:40]!r}")
    return read_error(500, bytes(event.object))


def read_error(code: int, body: bytes) -> ApiError:
    """Return the Status of a refusal, or one made from a body that is not a Status."""
    try:
        status = msgspec.json.decode(body)
    except _NOT_JSON:
        status = None
    if isinstance(status, dict) and status.get("kind") == "Status":
        if type(status.get("code")) is not int:
            status["code"] = code
        return ApiError(status)
    text = body[:2048].decode("utf-8", "replace").strip()
    if text.startswith("<"):  # an HTML page, such as a proxy's
        text = " ".join(_TAGS.sub(" ", text).split())
    return failure(code, _REASONS.get(code, "Unknown"), text or f"the server answered {code} without a word")


def _unreadable(what: str, error: Exception) -> Unreachable:
    return Unreachable(f"the server sent something that is not {what}: {error}")
