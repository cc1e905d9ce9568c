"""Decode the body of a request into a raw document of the kind that the path names, with warnings about its fields.

Fields that the kind does not have, and duplicate fields, are an error (Strict), a warning (Warn) or ignored (Ignore);
they are not kept, and neither are nulls. Kubernetes: the codecs with their strict decoding.
"""

from typing import Any

import msgspec

from moorage.admit.not_admitted import check_types
from moorage.custom.objects.decoding import decode_metadata, decode_request
from moorage.custom.objects.embedded import MalformedError
from moorage.model.api_error import ApiError, Raw, bad_request, failure, unsupported_media_type
from moorage.model.field_error import invalid
from moorage.model.go.quoting import go_quote
from moorage.model.go.type_meta import syntax_complaint, type_meta_complaint, unregistered
from moorage.model.kinds import Kind, kind_of
from moorage.model.patch.patch_error import (
    MAX_CONTAINERS,
    MAX_LEVELS,
    TOO_LARGE,
    PatchError,
    check_depth,
    refusal,
    too_many_containers,
)
from moorage.model.schema.known_fields import MAX_STRICT_ERRORS, kept_part, unknown_fields
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Value, read_values
from moorage.model.text.json_text import json_duplicates
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.options import IGNORE, STRICT

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
        raw = _decode_json_of(body, kind)
        duplicates = repeated_fields(body, raw)
    elif type_ in (YAML, "application/apply-patch+yaml", "text/yaml", "application/x-yaml"):
        raw, duplicates = _decode_yaml(body)
    elif type_ == PROTOBUF and type(kind) is not ServedKind:
        raw = _decode_protobuf(body, kind)
    else:
        accepted = f"{JSON}, {YAML}" if type(kind) is ServedKind else f"{JSON}, {YAML}, {PROTOBUF}"
        raise unsupported_media_type(type_, accepted)
    return _object(raw), duplicates


_SHOWN_BYTES = 30


def _decode_json_of(body: bytes, kind: Kind) -> Raw:
    """Return the object in a body of JSON. Raises ApiError 400 with Go's words."""
    try:
        value = decode_json(body)
    except ApiError:
        complaint = syntax_complaint(body)
        if not complaint:
            raise
        raise unrecognized(complaint, body, kind) from None
    if value is None:
        raise unrecognized("Object 'Kind' is missing in 'null'", body, kind)
    if wrong := type_meta_complaint(value):
        raise unrecognized(wrong, body, kind)
    read: Raw = value
    return read


def unrecognized(why: str, body: bytes, kind: Kind) -> ApiError:
    """Return the refusal of a body whose kind cannot be told, with its beginning."""
    shown, rest = body[:_SHOWN_BYTES], " ..." if len(body) > _SHOWN_BYTES else ""
    text = "<empty>" if not body else shown.decode("utf-8", "replace") if body[:1] == b"{" else shown.hex()
    return bad_request(f"the object provided is unrecognized (must be of type {kind.name}): {why} ({text}{rest})")


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
    if type(kind) is ServedKind:
        return raw, check_custom(raw, kind, validation, duplicates, body)
    check_kind(raw, kind)
    warnings = check_fields(raw, kind, validation, duplicates)
    return kept_part(raw, kind.view), warnings


def _other_kind(version: object, name: object) -> str:
    """Say what is wrong with a document of another kind than its path's."""
    if not isinstance(version, str) or not isinstance(name, str) or kind_of({"apiVersion": version, "kind": name}):
        return "the path names another kind"
    return unregistered(version, name)


def check_kind(raw: Raw, kind: Kind) -> None:
    """Check apiVersion and kind of a document, and complete them if they are absent."""
    version, name = raw.get("apiVersion") or kind.api_version, raw.get("kind") or kind.name
    if name != kind.name:
        sent = f'{name} in version "{version.rpartition("/")[2]}"' if isinstance(version, str) else str(name)
        raise bad_request(f"{sent} cannot be handled as a {kind.name}: {_other_kind(version, name)}")
    if version != kind.api_version:
        raise _other_version(version, kind)
    raw["apiVersion"], raw["kind"] = version, name
    metadata = raw.get("metadata")
    if metadata is None:
        raw["metadata"] = {}
    elif not isinstance(metadata, dict) or not _are_texts(metadata):
        check_types(raw, kind)


def _are_texts(metadata: Raw) -> bool:
    for name in _READ_EARLY:  # noqa: SIM110 (a generator costs more than what it does, in each request)
        if not isinstance(metadata.get(name, ""), _TEXT_OR_NULL):
            return False
    return True


#: What verbs read of metadata before the object is decoded as a whole.
_READ_EARLY = ("name", "namespace", "generateName", "resourceVersion")
_TEXT_OR_NULL = (str, type(None))


def check_custom(raw: Raw, kind: ServedKind, validation: str, duplicates: list[str], body: bytes) -> list[str]:
    """Make a custom object what its schema says, in place; return warnings about its fields. Raises ApiError."""
    version, name = str(raw.get("apiVersion") or ""), raw.get("kind") or ""
    if not name:
        why = f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'"
        if validation == IGNORE:
            raise _unhandled(kind.name, kind.version, kind, why)
        raise unrecognized(why, body, kind)
    if version.count("/") > 1:
        raise unrecognized(f"unexpected GroupVersion string: {version}", body, kind)
    group, _, number = version.rpartition("/")
    is_of_kind = (group, name) == (kind.group, kind.name)
    if raw.get("metadata") is None:
        raw["metadata"] = {}
    try:
        unknown = decode_request(raw, kind.schema_in(version)) if is_of_kind else decode_metadata(raw)
    except MalformedError as error:
        raise _unhandled(name, number, kind, str(error)) from None
    found = _judge([*duplicates, *(f"unknown field {go_quote(path)}" for path in unknown)], kind, validation)
    if version != kind.api_version:
        raise _other_version(version, kind).warned(found)
    try:
        check_custom_type(raw, kind)
    except ApiError as error:
        raise error.warned(found) from None
    return found


def _unhandled(name: str, version: str, kind: Kind, why: str) -> ApiError:
    return bad_request(f"{name} in version {go_quote(version)} cannot be handled as a {kind.name}: {why}")


def check_custom_type(raw: Raw, kind: ServedKind) -> None:
    """Raise ApiError 422 for a document of another kind or version."""
    sent = {"kind": str(raw.get("kind") or ""), "apiVersion": str(raw.get("apiVersion") or "")}
    wanted = {"kind": kind.name, "apiVersion": kind.api_version}
    errors = [
        invalid(field, sent[field], f"must be {value}") for field, value in wanted.items() if sent[field] != value
    ]
    if not errors:
        return
    metadata = raw.get("metadata")
    name = str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
    group, texts = sent["apiVersion"].rpartition("/")[0], list(map(str, errors))
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    causes = [{"reason": error.kind.reason, "message": error.body, "field": error.path} for error in errors]
    details = {"name": name, "group": group, "kind": sent["kind"], "causes": causes}
    raise failure(422, "Invalid", f"{sent['kind']}.{group} {go_quote(name)} is invalid: {text}", details)


def check_fields(raw: Raw, kind: Kind, validation: str, duplicates: list[str]) -> list[str]:
    """Warnings about unknown and duplicate fields. Raises ApiError 400 for them if the validation is strict."""
    if validation == IGNORE:
        return []
    complaints = [*map(str, unknown_fields(raw, kind.view, MAX_STRICT_ERRORS)), *duplicates]
    if complaints:
        check_types(raw, kind)
    return _judge(complaints, kind, validation)


def _judge(found: list[str], kind: Kind, validation: str) -> list[str]:
    found = found[:MAX_STRICT_ERRORS] if validation != IGNORE else []
    if found and validation == STRICT:
        raise bad_request(
            f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: '
            f"strict decoding error: {', '.join(found)}"
        )
    return found


def _other_version(version: Any, kind: Kind) -> ApiError:
    return bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({kind.api_version})"
    )


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
    from moorage.serve.requests.protobuf_reader import WireError, read_object

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
