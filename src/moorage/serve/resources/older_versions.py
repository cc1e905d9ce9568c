"""Serve a kind in older versions: convert requests when they come in, and answers when they go out.

Kubernetes: the conversion that every version goes through. Differs: field owners and JSON patches see the kind's own
version; the protobuf form of v1beta1 is not read where its structure is another; fields that v1beta1 has elsewhere are
refused or left out without a warning.
"""

from collections.abc import AsyncIterator
from itertools import islice
from typing import Any

import msgspec

from moorage.model.api_error import ApiError, bad_request, unsupported_media_type
from moorage.model.kinds import Kind
from moorage.model.schema.known_fields import MAX_STRICT_ERRORS
from moorage.model.schema.older_versions import (
    from_older,
    has_other_structure,
    misplaced_fields,
    path_in_v1beta1,
    to_older,
)
from moorage.model.text.patterns import Pattern
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.requests.decoding import JSON, PROTOBUF, YAML, decode_body, media_type
from moorage.serve.requests.options import STRICT, query_of
from moorage.serve.requests.rendering import warning_headers
from moorage.serve.resources.served import Target
from moorage.serve.verbs.patching import JSON_PATCH, PATCHES

Raw = dict[str, Any]

#: In which minor versions of Kubernetes a version is deprecated and gone, for versions that are.
_LIFECYCLE = {"v1alpha3": (36, 39), "v1beta1": (35, 38), "v1beta2": (36, 39)}

_UNKNOWN = Pattern(r'unknown field "([^"]*)"')
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def converted_request(request: Request, target: Target) -> Request:
    """Return the request as one in the kind's own version. Raises ApiError 400 and 415."""
    content_type = request.headers.get("content-type", "")
    sent = media_type(content_type)
    if target.verb not in ("create", "update", "patch") or sent == JSON_PATCH:
        return request
    kind, version = target.kind, target.older_version
    if sent == PROTOBUF and has_other_structure(kind, version) and not kind.older_views:
        raise unsupported_media_type(sent, f"{JSON}, {YAML}")
    raw, _ = decode_body(request.body, content_type, kind.in_version(version))
    expected = f"{kind.group}/{version}"
    named = raw.get("apiVersion") or expected
    if named != expected:
        raise bad_request(f"the API version in the data ({named}) does not match the expected API version ({expected})")
    is_strict = sent not in PATCHES and query_of(request).get("fieldValidation") == STRICT
    misplaced = misplaced_fields({**raw, "apiVersion": expected, "kind": kind.name}) if is_strict else ()
    if unknown := ", ".join(f'unknown field "{path}"' for path in islice(misplaced, MAX_STRICT_ERRORS)):
        raise bad_request(f"{_cannot_be_handled(kind, version)}: strict decoding error: {unknown}")
    document = from_older(raw, kind, version)
    headers = {**request.headers, "content-type": sent if sent in PATCHES else JSON}
    return msgspec.structs.replace(request, headers=headers, body=_encode(document))


def converted_error(error: ApiError, kind: Kind, version: str) -> ApiError:
    """Return an error about what was sent in the words of the older version."""
    message = error.message.replace(_cannot_be_handled(kind, kind.version), _cannot_be_handled(kind, version))
    if has_other_structure(kind, version):
        message = _UNKNOWN.sub(lambda found: f'unknown field "{path_in_v1beta1(found[1])}"', message)
    return ApiError({**error.status, "message": message}, error.headers)


def _cannot_be_handled(kind: Kind, version: str) -> str:
    return f'{kind.name} in version "{version}" cannot be handled as a {kind.name}'


def converted_answer(answer: Response | Stream, kind: Kind, version: str) -> Response | Stream:
    """Return an answer, or the events of a watch, in an older version, with a warning that it is deprecated."""
    headers = answer.headers
    if version in _LIFECYCLE:
        deprecated, gone = _LIFECYCLE[version]
        warning = f"{kind.group}/{version} {kind.name} is deprecated in v1.{deprecated}+, unavailable in v1.{gone}+"
        headers = (*headers, *warning_headers([warning]))
    if isinstance(answer, Stream) and answer.is_whole:
        return msgspec.structs.replace(answer, headers=headers)  # its entries are converted one by one
    if isinstance(answer, Stream):
        return msgspec.structs.replace(answer, headers=headers, chunks=_converted_lines(answer.chunks, kind, version))
    body = _encode(_converted(_decode(answer.body), kind, version))
    return msgspec.structs.replace(answer, headers=headers, body=body)


async def _converted_lines(chunks: AsyncIterator[bytes], kind: Kind, version: str) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            lines = (_decode(line) for line in chunk.splitlines() if line)
            yield b"".join(
                _encode({**line, "object": _converted(line["object"], kind, version)}) + b"\n" for line in lines
            )
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def converted_frame(frame: Raw, kind: Kind, version: str) -> Raw:
    """Return the document of a page, which has no entries yet, in an older version."""
    is_own = frame["apiVersion"] == kind.api_version
    return {**frame, "apiVersion": f"{kind.group}/{version}"} if is_own else frame


def converted_entry(entry: bytes, kind: Kind, version: str, *, is_row: bool) -> bytes:
    """Return an entry of a page, an object or the row of a table, in an older version."""
    document = _decode(entry)
    if not is_row:
        # An item has no type; what stands for one, with its metadata only, has.
        return _encode(document if "kind" in document else _older_item(document, kind, version))
    shown = document["object"]
    return _encode({**document, "object": shown and _converted(shown, kind, version)})


def _converted(document: Raw, kind: Kind, version: str) -> Raw:
    """Convert an object, or those in a list or a table; any other document stays as it is."""
    name = document.get("kind")
    if name == "Table":
        rows = [{**row, "object": _converted(row["object"] or {}, kind, version)} for row in document["rows"]]
        return {**document, "rows": [row if row["object"] else {**row, "object": None} for row in rows]}
    if document.get("apiVersion") != kind.api_version:
        return document
    if name == f"{kind.name}List":
        items = [_older_item(item, kind, version) for item in document["items"]]
        return {**document, "apiVersion": f"{kind.group}/{version}", "items": items}
    return to_older(document, kind, version) if name == kind.name else document


def _older_item(item: Raw, kind: Kind, version: str) -> Raw:
    converted = to_older(item, kind, version)
    del converted["apiVersion"]
    return converted
