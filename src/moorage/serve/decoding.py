"""Decode the body of a request into a raw document of the kind that the path names, with warnings about its fields.

Fields that the kind does not have, and duplicate fields, are an error (Strict), a warning (Warn) or ignored (Ignore);
they are not kept, and neither are nulls. Kubernetes: the codecs with their strict decoding.
"""

from typing import Any

import msgspec

from moorage.model.api_error import ApiError, Raw, bad_request, unsupported_media_type
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.schema.known_fields import MAX_STRICT_ERRORS, kept_part, unknown_fields
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Value, read_values
from moorage.model.text.json_text import json_duplicates
from moorage.serve.options import IGNORE, STRICT
from moorage.serve.patch.patch_error import (
    MAX_CONTAINERS,
    MAX_LEVELS,
    TOO_LARGE,
    PatchError,
    check_depth,
    refusal,
    too_many_containers,
)

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
_decode_json = msgspec.json.Decoder().decode


def media_type(header: str) -> str:
    return header.partition(";")[0].strip().lower()


def decode_body(body: bytes, content_type: str, kind: Kind) -> tuple[Raw, list[str]]:
    """Any object, and its duplicate fields. Raises ApiError 400 and 415. Only protobuf needs the kind."""
    type_ = media_type(content_type)
    duplicates: list[str] = []
    if type_ in ("", JSON, "*/*") or type_.endswith("+json"):
        raw = decode_json(body)
        duplicates = repeated_fields(body, raw)
    elif type_ in (YAML, "application/apply-patch+yaml", "text/yaml", "application/x-yaml"):
        raw, duplicates = _decode_yaml(body)
    elif type_ == PROTOBUF:
        raw = _decode_protobuf(body, kind)
    else:
        raise unsupported_media_type(type_, f"{JSON}, {YAML}, {PROTOBUF}")
    return _object(raw), duplicates


def decode_object_json(body: bytes) -> Raw:
    return _object(decode_json(body))


def _object(value: Any) -> Raw:
    if not isinstance(value, dict):
        raise bad_request("the object provided is unrecognized: it is not an object")
    return value


def decode_json(body: bytes) -> Any:
    try:
        value = _decode_json(body)
        if body.count(b"{") + body.count(b"[") > MAX_LEVELS:
            check_depth(value)
    except PatchError as error:
        raise _unrecognized(error) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise bad_request(f"the object provided is unrecognized: {why}") from None
    return value


def _unrecognized(error: PatchError) -> ApiError:
    return refusal(error) if error.code == TOO_LARGE else bad_request(f"the object provided is unrecognized: {error}")


def decode_object(body: bytes, content_type: str, kind: Kind, validation: str) -> tuple[Raw, list[str]]:
    raw, duplicates = decode_body(body, content_type, kind)
    check_kind(raw, kind)
    warnings = check_fields(raw, kind, validation, duplicates)
    return kept_part(raw, kind.view), warnings


def check_kind(raw: Raw, kind: Kind) -> None:
    """Check apiVersion and kind of a document, and complete them if they are absent."""
    version, name = raw.get("apiVersion") or kind.api_version, raw.get("kind") or kind.name
    if name != kind.name:
        sent = f'{name} in version "{version.rpartition("/")[2]}"' if isinstance(version, str) else str(name)
        raise bad_request(f"{sent} cannot be handled as a {kind.name}: the path names another kind")
    if version != kind.api_version:
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
        )
    raw["apiVersion"], raw["kind"] = version, name
    if not isinstance(raw.get("metadata"), dict):
        if raw.get("metadata") is not None:
            raise bad_request(
                f'{name} in version "{version.rpartition("/")[2]}" cannot be handled as a {name}: '
                f"json: cannot unmarshal into Go struct field {name}.metadata of type v1.ObjectMeta"
            )
        raw["metadata"] = {}


def check_fields(raw: Raw, kind: Kind, validation: str, duplicates: list[str]) -> list[str]:
    """Warnings about unknown and duplicate fields. Raises ApiError 400 for them if the validation is strict."""
    if validation == IGNORE:
        return []
    unknown = unknown_fields(raw, kind.view, MAX_STRICT_ERRORS)
    found = [*map(str, unknown), *duplicates][:MAX_STRICT_ERRORS]
    if found and validation == STRICT:
        version = kind.api_version.rpartition("/")[2]
        raise bad_request(
            f'{kind.name} in version "{version}" cannot be handled as a {kind.name}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return found


def repeated_fields(body: bytes, raw: Any) -> list[str]:
    return [f"duplicate field {go_quote(path)}" for path in _repeated(body, raw)]


def _repeated(body: bytes, raw: Any) -> list[str]:
    """Paths of duplicate keys, searched for only where the text has more keys than the value."""
    if body.count(b'":') == _count_keys(raw):
        return []
    text = body.decode("utf-8", "replace")
    start = len(text) - len(text.lstrip(" \t\r\n"))
    return [duplicate.path for duplicate in json_duplicates(text, start, MAX_STRICT_ERRORS)][:MAX_STRICT_ERRORS]


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_count_keys(item) for item in value if isinstance(item, dict | list))
    return 0


def _decode_protobuf(body: bytes, kind: Kind) -> Raw:
    from moorage.serve.protobuf.reader import WireError, read_object

    try:
        raw = read_object(body, kind)
        check_depth(raw)
        return raw
    except PatchError as error:
        raise _unrecognized(error) from None
    except WireError as error:
        raise bad_request(f"the object provided is unrecognized (must be of type {kind.name}): {error}") from None


def _decode_yaml(body: bytes) -> tuple[Any, list[str]]:
    value = read_yaml(body)
    return value.raw, [f"duplicate field {go_quote(found.path)}" for found in value.duplicates]


def read_yaml(body: bytes) -> Value:
    if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS:
        raise refusal(too_many_containers())
    try:
        found = [value for value in read_values(body, "body") if value.raw is not None]
    except DecodeError as error:
        raise bad_request(f"error converting YAML to JSON: {error.reason}") from None
    if len(found) != 1:
        raise bad_request(f"the body must be one document, not {len(found)}")
    return found[0]
