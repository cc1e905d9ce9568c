"""The Swagger document in protobuf, read back field by field."""

from typing import Any

import msgspec

from moorage.model.kinds import KINDS
from moorage.serve.openapi.documents import openapi_v2, openapi_v2_protobuf
from moorage.serve.openapi.protobuf_document import asks_for_protobuf, render_protobuf
from moorage.serve.requests.protobuf_reader import as_bytes, as_text, read_fields

PATHS, DEFINITIONS, PATH_OF_PATHS = 8, 9, 2
DESCRIPTION, REQUIRED, TYPE, ITEMS, PROPERTIES, EXTENSION = 4, 19, 22, 23, 25, 31


def members(message: bytes, number: int) -> list[Any]:
    return [value for found, value in read_fields(message) if found == number]


def named(message: bytes, number: int = 1) -> dict[str, bytes]:
    pairs = [dict(read_fields(as_bytes(pair))) for pair in members(message, number)]
    return {as_text(pair[1]): as_bytes(pair[2]) for pair in pairs}


def test_every_path_and_definition_is_there() -> None:
    kinds = tuple(KINDS.values())
    swagger, document = msgspec.json.decode(openapi_v2(kinds)), openapi_v2_protobuf(kinds)
    assert members(document, 1) == [b"2.0"]
    assert list(named(members(document, PATHS)[0], PATH_OF_PATHS)) == list(swagger["paths"])
    definitions = named(members(document, DEFINITIONS)[0])
    assert list(definitions) == list(swagger["definitions"])
    for name, schema in definitions.items():
        told = swagger["definitions"][name]
        properties = members(schema, PROPERTIES)
        assert list(named(properties[0]) if properties else []) == list(told.get("properties", {}))
        assert [as_text(value) for value in members(schema, REQUIRED)] == told.get("required", [])


def test_a_schema_member_by_member() -> None:
    schema = {
        "description": "One.",
        "type": "object",
        "properties": {"many": {"type": "array", "items": {"$ref": "#/definitions/other"}}},
        "additionalProperties": False,
        "x-kubernetes-group-version-kind": [{"group": "", "kind": "One", "version": "v1"}],
    }
    rendered = named(members(render_protobuf({"definitions": {"one": schema}}), DEFINITIONS)[0])["one"]
    assert members(rendered, DESCRIPTION) == [b"One."]
    assert members(members(rendered, TYPE)[0], 1) == [b"object"]
    assert members(members(rendered, 21)[0], 2) == [0]
    many = named(members(rendered, PROPERTIES)[0])["many"]
    assert members(members(members(many, ITEMS)[0], 1)[0], 1) == [b"#/definitions/other"]
    kind = named(rendered, EXTENSION)["x-kubernetes-group-version-kind"]
    assert members(kind, 2) == [b'[{"group":"","kind":"One","version":"v1"}]']


def test_a_long_text_is_as_long_as_it_says() -> None:
    text = "a" * 70_000
    assert members(members(render_protobuf({"info": {"title": text}}), 2)[0], 1) == [text.encode()]


def test_who_asks_for_it() -> None:
    assert asks_for_protobuf("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert asks_for_protobuf("application/com.github.proto-openapi.spec.v2.v1.0+protobuf, application/json")
    assert not asks_for_protobuf("application/json")
