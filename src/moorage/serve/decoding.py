"""The body of a request → a raw document of the kind that the path names, and what is odd about it.

In: bytes, their content type, the kind, how strict to be. Out: the document and warnings, or ApiError 400 or 415.
Fields that the kind does not have, and fields given twice, are an error (Strict), a warning (Warn) or nothing
(Ignore); they are not kept, and neither is what is null. Kubernetes: the codecs with their strict decoding.
"""

from typing import Any

import msgspec

from moorage.model.api_error import bad_request, unsupported_media_type
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.schema.known_fields import kept_part, unknown_fields
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Value, read_values
from moorage.model.text.json_text import json_duplicates
from moorage.serve.options import IGNORE, STRICT
from moorage.serve.patch.patch_error import MAX_LEVELS, PatchError, check_depth

Raw = dict[str, Any]

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_decode_json = msgspec.json.Decoder().decode
MAX_WARNINGS = 100


def media_type(header: str) -> str:
    """The type in a Content-Type header, without its parameters."""
    return header.partition(";")[0].strip().lower()


def decode_body(body: bytes, content_type: str, facts: Kind) -> tuple[Raw, list[str]]:
    """Any object, and the fields that are in it twice. Only protobuf needs to be told what to expect."""
    kind = media_type(content_type)
    twice: list[str] = []
    if kind in ("", JSON, "*/*") or kind.endswith("+json"):
        raw = decode_json(body)
        twice = repeated_fields(body, raw)
    elif kind in (YAML, "application/apply-patch+yaml", "text/yaml", "application/x-yaml"):
        raw, twice = _decode_yaml(body)
    elif kind == PROTOBUF:
        raw = _decode_protobuf(body, facts)
    else:
        raise unsupported_media_type(kind, f"{JSON}, {YAML}, {PROTOBUF}")
    return _object(raw), twice


def decode_object_json(body: bytes) -> Raw:
    """A JSON object. Raises ApiError 400."""
    return _object(decode_json(body))


def _object(value: Any) -> Raw:
    if not isinstance(value, dict):
        raise bad_request("the object provided is unrecognized: it is no object")
    return value


def decode_json(body: bytes) -> Any:
    """Any JSON value. Raises ApiError 400."""
    try:
        value = _decode_json(body)
        if body.count(b"{") + body.count(b"[") > MAX_LEVELS:
            check_depth(value)
    except PatchError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise bad_request(f"the object provided is unrecognized: {why}") from None
    return value


def decode_object(body: bytes, content_type: str, facts: Kind, validation: str) -> tuple[Raw, list[str]]:
    """A document of the kind, and warnings about its fields."""
    raw, twice = decode_body(body, content_type, facts)
    check_kind(raw, facts)
    warnings = check_fields(raw, facts, validation, twice)
    return kept_part(raw, facts.view), warnings


def check_kind(raw: Raw, facts: Kind) -> None:
    """A document need not say what it is; if it does, it must be right."""
    version, kind = raw.get("apiVersion") or facts.api_version, raw.get("kind") or facts.name
    if kind != facts.name:
        said = f'{kind} in version "{version.rpartition("/")[2]}"' if isinstance(version, str) else str(kind)
        raise bad_request(f"{said} cannot be handled as a {facts.name}: the path names another kind")
    if version != facts.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({facts.api_version})"
        )
    raw["apiVersion"], raw["kind"] = version, kind
    if not isinstance(raw.get("metadata"), dict):
        if raw.get("metadata") is not None:
            raise bad_request(
                f'{kind} in version "{version.rpartition("/")[2]}" cannot be handled as a {kind}: '
                f"json: cannot unmarshal into Go struct field {kind}.metadata of type v1.ObjectMeta"
            )
        raw["metadata"] = {}


def check_fields(raw: Raw, facts: Kind, validation: str, twice: list[str]) -> list[str]:
    """Fields that the kind does not have, or has once: as warnings, or as ApiError 400 if that is asked for."""
    if validation == IGNORE:
        return []
    found = [*map(str, unknown_fields(raw, facts.view)), *twice]
    if found and validation == STRICT:
        version = facts.api_version.rpartition("/")[2]
        raise bad_request(
            f'{facts.name} in version "{version}" cannot be handled as a {facts.name}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return found[:MAX_WARNINGS]


def repeated_fields(body: bytes, raw: Any) -> list[str]:
    """What strict field validation says of keys that an object has twice."""
    return [f"duplicate field {go_quote(path)}" for path in _repeated(body, raw)]


def _repeated(body: bytes, raw: Any) -> list[str]:
    """Paths of keys that an object has twice.

    Telling takes a parser of its own, but there are none where the text has as many keys as the value; a colon after a
    quote inside of a string, or with space before it, only makes us look.
    """
    if body.count(b'":') == _count_keys(raw):
        return []
    text = body.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    return [duplicate.path for duplicate in json_duplicates(text, start)]


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_count_keys(item) for item in value if isinstance(item, dict | list))
    return 0


def _decode_protobuf(body: bytes, facts: Kind) -> Raw:
    from moorage.serve.protobuf.reader import read_object
    from moorage.serve.protobuf.wire import WireError

    try:
        return read_object(body, facts)
    except WireError as error:
        raise bad_request(f"the object provided is unrecognized (must be of type {facts.name}): {error}") from None


def _decode_yaml(body: bytes) -> tuple[Any, list[str]]:
    value = read_yaml(body)
    return value.raw, [f"duplicate field {go_quote(found.path)}" for found in value.duplicates]


def read_yaml(body: bytes) -> Value:
    """The only document of a text. Raises ApiError 400."""
    try:
        found = [value for value in read_values(body, "body") if value.raw is not None]
    except DecodeError as error:
        raise bad_request(f"error converting YAML to JSON: {error.reason}") from None
    if len(found) != 1:
        raise bad_request(f"the body must be one document, not {len(found)}")
    return found[0]
