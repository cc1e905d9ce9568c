"""CustomResourceDefinitions: hostile ones are refused, updates need not repair what was stored."""

import sys
from typing import Any

import msgspec
import pytest
from tests.conformance.checks.platform.server import PlatformServer
from tests.unit.admit.objects import custom_resource_definition, rejected, stored

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.custom.definition import definition as definitions
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.model.protobuf_encoding import encode_bytes, encode_number
from moorage.serve.requests.protobuf_reader import read_object

Raw = dict[str, Any]

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def messages(schema: Raw, **spec: Any) -> list[str]:
    return [str(error) for error in rejected(custom_resource_definition(schema, **spec)).errors]


def nested(levels: int) -> Raw:
    schema: Raw = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


HOSTILE: dict[str, tuple[Raw, str]] = {
    "deep": (nested(110), "the schema is nested more than 100 levels deep"),
    "reference": ({"type": "object", "properties": {"a": {"$ref": "#/a"}}}, "$ref is not supported"),
    "recursive definition": ({"type": "object", "definitions": {"a": {"$ref": "#/a"}}}, "definitions is not supported"),
    "pattern": ({"type": "string", "pattern": "((a{0,99}){0,99}){0,99}"}, "must be a valid regular expression"),
    "nested loops": (
        {
            "type": "array",
            "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a == b))"}],
        },
        "estimated rule cost exceeds budget by factor of more than 100x",
    ),
    "long rule": (
        {"type": "boolean", "x-kubernetes-validations": [{"rule": "self || " * 10_000 + "self"}]},
        "may not be more than 65536 characters",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_schemas_are_refused(name: str) -> None:
    schema, words = HOSTILE[name]
    assert any(words in message for message in messages(schema))


def test_the_number_of_rules_and_schemas_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "MAX_RULES", 3)
    monkeypatch.setattr(definitions, "MAX_NODES", 9)
    rules = [{"rule": f"self > {number}"} for number in range(4)]
    assert messages({"type": "integer", "x-kubernetes-validations": rules}) == [
        "spec.versions: Forbidden: must not have more than 3 x-kubernetes-validations"
    ]
    wide = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(10)}}
    assert messages(wide) == ["spec.versions: Forbidden: must not have more than 9 schemas, nested ones included"]


@pytest.mark.real_time
async def test_documents_that_are_nested_too_deeply_are_refused() -> None:
    server = await PlatformServer.started()
    text = msgspec.json.encode(custom_resource_definition({"MARK": True}))
    for levels in (400, 5_000, sys.getrecursionlimit() * 20):
        body = text.replace(b'{"MARK":true}', b'{"items":' * levels + b"{}" + b"}" * levels)
        assert (await server.ask("POST", PATH, body)).code == 400


@pytest.mark.real_time
async def test_a_huge_enumeration_is_accepted_and_its_default_checked() -> None:
    server = await PlatformServer.started()
    values = [f"v{number}" for number in range(20_000)]
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": values, "default": "no"}}}
    answer = await server.ask("POST", PATH, msgspec.json.encode(custom_resource_definition(schema)))
    assert answer.code == 422
    schema["properties"] = {"a": {"type": "string", "enum": values, "default": "v9"}}
    assert (await server.ask("POST", PATH, msgspec.json.encode(custom_resource_definition(schema)))).code == 201


def test_nulls_and_wrong_types_in_rules_are_read_as_go_reads_them() -> None:
    rule = {"rule": "self.a == 'x'", "message": None, "optionalOldSelf": None, "reason": None}
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-validations": [rule, None]}
    (message,) = messages(schema)
    assert message.endswith("x-kubernetes-validations[1].rule: Required value: rule is not specified")
    wrong = custom_resource_definition({"type": "object", "x-kubernetes-validations": [{"rule": 1, "message": "m"}]})
    assert rejected(wrong).problems


def test_conversion_by_a_webhook() -> None:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}}
    new = custom_resource_definition({"type": "object"}, conversion={"strategy": "Webhook", "webhook": webhook})
    assert isinstance(admit(new, None, default_gates()), Admitted)


def update(new: Raw, old: Raw) -> Admitted | Rejected:
    return admit({**new, "metadata": {**new["metadata"], "resourceVersion": "1"}}, old, default_gates())


def test_an_update_need_not_repair_what_was_stored() -> None:
    """A set of granular objects, keys without defaults and unpruned defaults were accepted once."""
    invalid = {
        "type": "object",
        "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object", "properties": {}}},
            "map": {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}},
            },
            "default": {"type": "object", "default": {"unknown": 1}, "properties": {"a": {"type": "string"}}},
        },
    }
    assert len(messages(invalid)) >= 1
    old = stored(custom_resource_definition())
    old["metadata"]["resourceVersion"] = "1"
    old["spec"]["versions"] = custom_resource_definition(invalid)["spec"]["versions"]
    new = custom_resource_definition(invalid)
    new["spec"]["names"]["shortNames"] = ["wd"]
    answer = update(new, old)
    assert isinstance(answer, Admitted), answer.status["message"]
    assert answer.object["metadata"]["generation"] == 2


def test_rules_that_cost_too_much_stay_accepted_while_their_schema_does_not_change() -> None:
    rules = [{"rule": "self.all(a, a.contains('b'))"}]
    costly = {"type": "array", "items": {"type": "string"}, "x-kubernetes-validations": rules}
    assert any("estimated rule cost" in message for message in messages(costly))
    old = stored(custom_resource_definition())
    old["metadata"]["resourceVersion"] = "1"
    old["spec"]["versions"] = custom_resource_definition(costly)["spec"]["versions"]
    new = custom_resource_definition(costly)
    new["spec"]["names"]["shortNames"] = ["wd"]
    same = update(new, old)
    errors = [] if isinstance(same, Admitted) else [str(error) for error in same.errors]
    assert not any("estimated rule cost exceeds" in error for error in errors)
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "changed"
    changed = update(new, old)
    assert isinstance(changed, Rejected)
    assert any("estimated rule cost exceeds" in str(error) for error in changed.errors)


def test_protobuf_schemas_are_read_as_json_ones_are() -> None:
    """Schemas in items, additionalProperties and dependencies have messages of their own."""
    text = encode_bytes(5, b"string")
    items = encode_bytes(24, encode_bytes(1, text))
    tuple_of_items = encode_bytes(24, encode_bytes(2, text) + encode_bytes(2, text))
    additional = encode_bytes(30, encode_bytes(2, text))
    anything = encode_bytes(30, encode_number(1, 1))
    default = encode_bytes(8, encode_bytes(1, b'{"a":[1]}'))
    nodes = {"items": items, "tuple": tuple_of_items, "map": additional, "any": anything, "default": default}
    properties = b"".join(
        encode_bytes(29, encode_bytes(1, name.encode()) + encode_bytes(2, node)) for name, node in nodes.items()
    )
    version = encode_bytes(1, b"v1") + encode_bytes(4, encode_bytes(1, properties))
    message = encode_bytes(2, encode_bytes(1, b"g") + encode_bytes(7, version))
    body = b"k8s\0" + encode_bytes(1, encode_bytes(1, b"v1")) + encode_bytes(2, message)
    raw = read_object(body, KINDS.CUSTOM_RESOURCE_DEFINITION)
    assert raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"] == {
        "items": {"items": {"type": "string"}},
        "tuple": {"items": [{"type": "string"}, {"type": "string"}]},
        "map": {"additionalProperties": {"type": "string"}},
        "any": {"additionalProperties": True},
        "default": {"default": {"a": [1]}},
    }
