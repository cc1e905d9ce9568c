"""Encode the Swagger document in protobuf, which kubectl asks for to validate a List or to merge without OpenAPI v3.

The message is gnostic's `openapi.v2.Document`, field by field from the tables below. Kubernetes: kube-openapi's
handler, with gnostic-models/openapiv2. Differs: the security definitions are left out, which no client reads here.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.model.api_error import Raw
from moorage.model.protobuf_encoding import encode_bytes, encode_number, encode_varint

Encode = Callable[[Any], bytes]

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#: What most clients call it, although an @ is not allowed in the name of a type.
OLD_MEDIA_TYPE = MEDIA_TYPE.replace("v2.v1", "v2@v1")

#: What a message's fields are: JSON name → number and how the value is encoded.
Fields = dict[str, tuple[int, Encode]]


def asks_for_protobuf(accept: str) -> bool:
    return MEDIA_TYPE in accept or OLD_MEDIA_TYPE in accept


def render_protobuf(document: Raw) -> bytes:
    return _message(document, _DOCUMENT)


def _message(value: Raw, fields: Fields) -> bytes:
    made, extensions = [], []
    for name, member in value.items():
        if name in fields:
            number, encode = fields[name]
            if encode is _boolean:
                made.append(encode_number(number, member))
            elif isinstance(member, list) and encode is not _type:
                made += [encode_bytes(number, encode(element)) for element in member]
            else:
                made.append(encode_bytes(number, encode(member)))
        elif name.startswith("x-") and _EXTENSIONS in fields:
            extensions.append(encode_bytes(fields[_EXTENSIONS][0], _named(name, _any(member))))
    return b"".join(made + extensions)


def _text(value: str) -> bytes:
    return value.encode()


def _boolean(value: bool) -> bytes:
    return encode_varint(int(value))


def _named(name: str, value: bytes) -> bytes:
    return encode_bytes(1, name.encode()) + encode_bytes(2, value)


def _any(value: Any) -> bytes:
    """Values of any kind are text in YAML, and JSON is YAML."""
    return encode_bytes(2, msgspec.json.encode(value))


def _names_to(encode: Encode, number: int = 1) -> Encode:
    return lambda value: b"".join(encode_bytes(number, _named(name, encode(member))) for name, member in value.items())


def _type(value: str | list[str]) -> bytes:
    return b"".join(encode_bytes(1, kind.encode()) for kind in ([value] if isinstance(value, str) else value))


def _schema(value: Raw) -> bytes:
    return _message(value, _SCHEMA)


def _in_one(value: Raw) -> bytes:
    """Return a schema as the only choice, or the first of several, of another message."""
    return encode_bytes(1, _schema(value))


def _additional(value: Raw | bool) -> bytes:
    return encode_number(2, value) if isinstance(value, bool) else _in_one(value)


def _parameter(value: Raw) -> bytes:
    where = value["in"]
    if where == "body":
        return encode_bytes(1, encode_bytes(1, _message(value, _BODY)))
    number, fields = (3, _QUERY) if where == "query" else (4, _PATH)
    return encode_bytes(1, encode_bytes(2, encode_bytes(number, _message(value, fields))))


def _response(value: Raw) -> bytes:
    return encode_bytes(1, _message(value, {"description": (1, _text), "schema": (2, _in_one)}))


def _operation(value: Raw) -> bytes:
    return _message(value, _OPERATION)


_EXTENSIONS = "x-"
_SCHEMA: Fields = {
    "$ref": (1, _text),
    "format": (2, _text),
    "title": (3, _text),
    "description": (4, _text),
    "default": (5, _any),
    "required": (19, _text),
    "enum": (20, _any),
    "additionalProperties": (21, _additional),
    "type": (22, _type),
    "items": (23, _in_one),
    "allOf": (24, _schema),
    "properties": (25, _names_to(_schema)),
    _EXTENSIONS: (31, _any),
}
_BODY: Fields = {
    "description": (1, _text),
    "name": (2, _text),
    "in": (3, _text),
    "required": (4, _boolean),
    "schema": (5, _schema),
}
_QUERY: Fields = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (6, _text),
    "uniqueItems": (20, _boolean),
}
_PATH: Fields = {
    "required": (1, _boolean),
    "in": (2, _text),
    "description": (3, _text),
    "name": (4, _text),
    "type": (5, _text),
    "uniqueItems": (19, _boolean),
}
_OPERATION: Fields = {
    "description": (3, _text),
    "operationId": (5, _text),
    "produces": (6, _text),
    "consumes": (7, _text),
    "parameters": (8, _parameter),
    "responses": (9, _names_to(_response)),
    "schemes": (10, _text),
    _EXTENSIONS: (13, _any),
}
_PATH_ITEM: Fields = {
    "get": (2, _operation),
    "put": (3, _operation),
    "post": (4, _operation),
    "delete": (5, _operation),
    "patch": (8, _operation),
    "parameters": (9, _parameter),
    _EXTENSIONS: (10, _any),
}
_DOCUMENT: Fields = {
    "swagger": (1, _text),
    "info": (2, lambda value: _message(value, {"title": (1, _text), "version": (2, _text)})),
    "paths": (8, _names_to(lambda value: _message(value, _PATH_ITEM), 2)),
    "definitions": (9, _names_to(_schema)),
}
