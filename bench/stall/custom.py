"""Loads of hostile CustomResourceDefinitions, and of custom objects that are much work for their schemas."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.stall.hostile import LIMIT, encoded, pod
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.stall.loads import Context

GROUP = "hostile.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
APPLY, MERGE, JSON_PATCH = (
    "application/apply-patch+yaml",
    "application/merge-patch+json",
    "application/json-patch+json",
)
PODS, SERVICES = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services"
_ESTABLISHED_SECONDS = 0.2
Raw = dict[str, Any]
Answers = Counter[str]


def definition(plural: str, schemas: Iterable[Raw], **more: Any) -> Raw:
    """Return a definition with one version for each schema, of which the first is stored."""
    kind = plural.capitalize()
    versions = [
        {
            "name": f"v{number}",
            "served": True,
            "storage": number == 1,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}},
        }
        for number, schema in enumerate(schemas, 1)
    ]
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions, **more},
    }


def schema_of(spec: Raw) -> Raw:
    return {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}


def _fields(count: int, field: Raw) -> Raw:
    return {"type": "object", "properties": {f"field{number}": field for number in range(count)}}


def _nested(depth: int) -> Raw:
    found: Raw = {"type": "string"}
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


def _rules(count: int, rule: str, **schema: Any) -> Raw:
    rules = [{"rule": rule.replace("%", str(number))} for number in range(count)]
    return {"type": "object", **schema, "x-kubernetes-validations": rules}


def _list_map(item: Raw | None = None, **more: Any) -> Raw:
    properties = {"name": {"type": "string"}, "value": {"type": "integer"}}
    items = {"type": "object", "required": ["name"], "properties": {**properties, **(item or {})}}
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": items,
        **more,
    }


_BOMBS = ("(a+)+$", "((a*)*)*c", "(.*){1,32}x", "(a?){500}a{500}", "(x{1000}){1000}", "(" + "(a|b|c)?" * 60 + "){500}z")


def hostile_definitions() -> dict[str, Raw]:
    """Definitions that are as expensive as three mebibytes can be, by what is hostile about them."""
    text = {"type": "string"}
    combined = [{"required": [f"field{number}"]} for number in range(20_000)]
    listed: Raw = {"type": "array", "items": {"type": "array", "items": text}}
    return {
        "500 versions": definition("versions", [schema_of(_fields(3, text))] * 500),
        "500 versions of 100 fields": definition("wideversions", [schema_of(_fields(100, text))] * 500),
        "50,000 fields": definition("wide", [schema_of(_fields(50_000, text))]),
        "20,000 defaults": definition("defaults", [schema_of(_fields(20_000, {"type": "string", "default": "a"}))]),
        "100 levels": definition("deep", [schema_of(_nested(100))]),
        "300 levels": definition("deeper", [schema_of(_nested(300))]),
        "enum of 200,000": definition(
            "enums", [schema_of({"type": "string", "enum": [f"v{n}" for n in range(200_000)]})]
        ),
        "20,000 combinators": definition("combined", [schema_of({**_fields(1, text), "anyOf": combined})]),
        "patterns": definition(
            "patterns", [schema_of(_fields(1, {"type": "string", "pattern": one})) for one in _BOMBS]
        ),
        "300 rules": definition(
            "rules", [schema_of(_rules(300, "self.a + % > 0", properties={"a": {"type": "integer"}}))]
        ),
        "rules over the budget": definition(
            "budget",
            [
                schema_of(
                    {
                        **_rules(0, ""),
                        "properties": {
                            "l": {
                                **listed,
                                "x-kubernetes-validations": [
                                    {"rule": "self.all(x, self.all(y, x.all(z, y.all(w, z != w))))"}
                                ],
                            }
                        },
                    }
                )
            ],
        ),
        "a rule of 500 KB": definition(
            "longrule",
            [schema_of(_rules(1, " && ".join(["self.a > 0"] * 40_000), properties={"a": {"type": "integer"}}))],
        ),
        "references": definition("references", [schema_of({"$ref": "#/definitions/self"})]),
    }


async def custom_definitions(context: Context) -> Answers:
    """Create, read, change and delete hostile definitions, and fetch the documents that show them."""
    answers: Answers = Counter()

    async def client(some: list[tuple[str, Raw]]) -> None:
        wire = Wire(context.access)
        for label, document in some:
            path = f"{DEFINITIONS}/{document['metadata']['name']}"
            reply = await wire.ask("POST", DEFINITIONS, encoded(document))
            answers[f"{label} {reply.status}"] += 1
            if reply.status == 201:
                await asyncio.sleep(_ESTABLISHED_SECONDS)
                await wire.ask("GET", path, Accept=TABLE)
                await wire.ask("GET", path, Accept="application/yaml")
                await wire.ask("PATCH", path, encoded({"metadata": {"labels": {"a": "b"}}}), MERGE)
                await wire.ask("PATCH", f"{path}?fieldManager=m&force=true", encoded(document), APPLY)
                for document_path in (f"/openapi/v3/apis/{GROUP}/v1", "/openapi/v2", f"/apis/{GROUP}", "/apis"):
                    await wire.ask("GET", document_path)
                await wire.ask("DELETE", path)
        wire.close()

    hostile = list(hostile_definitions().items())
    await asyncio.gather(client(hostile[::2]), client(hostile[1::2]))
    return answers


def _work() -> dict[str, tuple[Raw, Raw]]:
    """Return specs and their schemas, by what is hostile about them."""
    names = [{"name": f"n{number}", "value": number} for number in range(100_000)]
    texts = {"type": "array", "items": {"type": "string"}}
    deep: Any = "a"
    for _ in range(90):
        deep = {"a": deep}
    defaulted = _list_map({"a": {"type": "string", "default": "x" * 20}})
    rule = {"x-kubernetes-validations": [{"rule": "self.all(x, self.exists_one(y, y == x))"}]}
    every = {"x-kubernetes-validations": [{"rule": "self.size() < 10"}]}
    once = {"x-kubernetes-list-type": "set"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    members = [f"v{number}" for number in range(10_000)]
    bombs = [{"type": "string", "pattern": pattern} for pattern in _BOMBS]
    return {
        "list map of 100,000 keys": (_fields(1, _list_map()), {"field0": names}),
        "list map with defaults": (_fields(1, defaulted), {"field0": names[:50_000]}),
        "repeated keys": (_fields(1, _list_map()), {"field0": [{"name": "a"}] * 200_000}),
        "set of 300,000": (_fields(1, {**texts, **once}), {"field0": [f"v{number}" for number in range(300_000)]}),
        "wrong types": (_fields(1, texts), {"field0": [1] * 1_000_000}),
        "enum of 10,000": (
            _fields(1, {"type": "array", "items": {"type": "string", "enum": members}}),
            {"field0": ["x"] * 500_000},
        ),
        "unknown fields": (free, {f"k{number}": {} for number in range(200_000)}),
        "pruned fields": (_fields(1, texts), {f"k{number}": {} for number in range(200_000)}),
        "deep": (free, deep),
        "patterns": (
            _fields(1, {"type": "array", "items": {"anyOf": bombs, "type": "string"}}),
            {"field0": ["a" * 2_000] * 50},
        ),
        "rules over the budget": (
            _fields(1, {**texts, "maxItems": 300, **rule}),
            {"field0": [f"v{n}" for n in range(300)]},
        ),
        "rules of many items": (
            _fields(1, {"type": "array", "maxItems": 100_000, "items": {"type": "string", "maxLength": 10, **every}}),
            {"field0": ["a"] * 100_000},
        ),
        "a long text": (_fields(1, {"type": "string"}), {"field0": "x" * (LIMIT - 1_000)}),
    }


async def custom_objects(context: Context) -> Answers:
    """Create, read in all forms, replace, patch, apply, watch and delete custom objects that are much work."""
    answers: Answers = Counter()
    wire = Wire(context.access)

    async def ask(
        label: str, method: str, path: str, body: bytes = b"", kind: str = "application/json", **headers: str
    ) -> None:
        reply = await wire.ask(method, path, body, kind, **headers)
        if method == "POST" or reply.status >= 400:
            answers[f"{label}: {method} {reply.status}"] += 1

    for number, (label, (schema, spec)) in enumerate(_work().items()):
        plural = f"work{number}"
        written = definition(plural, [schema_of(schema), schema_of({**schema, "description": "another"})])
        await ask("definition", "POST", DEFINITIONS, encoded(written))
        await asyncio.sleep(_ESTABLISHED_SECONDS)
        kind = plural.capitalize()
        first = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        all_of = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        one, other = f"{all_of}/a", f"/apis/{GROUP}/v2/namespaces/default/{plural}/a"
        await ask(label, "POST", all_of, encoded(first))
        for path in (one, other, all_of):
            for accept in ("application/json", TABLE, "application/yaml"):
                await ask(label, "GET", path, Accept=accept)
        changed = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
        await ask(label, "PATCH", one, encoded(changed), JSON_PATCH)
        await ask(label, "PATCH", one, encoded({"metadata": {"labels": {"a": "c"}}}), MERGE)
        await ask(label, "PATCH", f"{one}/status", encoded({"status": {"a": "c"}}), MERGE)
        await ask(label, "PATCH", f"{one}?fieldManager=m&force=true", encoded(first), APPLY)
        await ask(
            label, "PATCH", f"{other}?fieldManager=n&force=true", encoded({**first, "apiVersion": f"{GROUP}/v2"}), APPLY
        )
        await ask(label, "DELETE", one)
        await ask("definition", "DELETE", f"{DEFINITIONS}/{plural}.{GROUP}")
    wire.close()
    return answers


async def large_service(context: Context) -> Answers:
    """Create 5,000 pods, then a Service that selects them, and some changes of them."""
    count, answers = context.count(5_000), Counter[str]()
    numbers = iter(range(count))
    labels = {"app": "served"}

    async def client() -> None:
        wire = Wire(context.access)
        for number in numbers:
            document = pod(f"served-{number}")
            document["metadata"]["labels"] = labels
            answers[str((await wire.ask("POST", PODS, encoded(document))).status)] += 1
        wire.close()

    await asyncio.gather(*(client() for _ in range(20)))
    await asyncio.sleep(5)
    wire = Wire(context.access)
    for name in ("served", "served-too"):
        spec = {"selector": labels, "ports": [{"port": 80}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        answers[f"service {(await wire.ask('POST', SERVICES, encoded(service))).status}"] += 1
        await asyncio.sleep(5)
    answers[f"deleted {(await wire.ask('DELETE', f'{PODS}?labelSelector=app%3Dserved')).status}"] += 1
    await asyncio.sleep(5)
    wire.close()
    return answers
