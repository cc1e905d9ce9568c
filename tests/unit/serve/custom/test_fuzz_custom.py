"""Random documents for custom objects: whatever comes, the answer is an object or a refusal with a reason."""

import copy
import random
from typing import Any

import msgspec
import pytest
from tests.conformance.checks.platform.server import PlatformServer

Raw = dict[str, Any]

BOATS = "/apis/harbour.test/v1/namespaces/default/boats"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
ODD: list[Any] = [None, 0, -1, 1.5, "", "x", [], {}, [None], {"a": None}, True, 2**70, [[[]]], {"x": {"y": [1]}}, "\0"]
WHOLE: Raw = {
    "apiVersion": "harbour.test/v1",
    "kind": "Boat",
    "metadata": {"name": "anna", "labels": {"a": "b"}, "finalizers": []},
    "spec": {"length": 7, "crew": [{"name": "a", "rank": 1}], "flags": ["x"], "extra": {"n": [1, {"a": 2}]}},
    "status": {"berth": "x", "replicas": 2},
}
CREW = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "rank": {"type": "integer"}}}
SPEC: Raw = {
    "type": "object",
    "properties": {
        "length": {"type": "integer", "default": 3},
        "crew": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": CREW,
        },
        "flags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "nullable": True},
    },
}
VERSION: Raw = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {
        "openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": SPEC, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        }
    },
    "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.length", "statusReplicasPath": ".status.replicas"},
    },
    "additionalPrinterColumns": [
        {"name": "Mate", "type": "string", "jsonPath": ".spec.crew[?(@.rank>1)].name"},
        {"name": "Deep", "type": "integer", "jsonPath": ".spec..n"},
        {"name": "When", "type": "date", "jsonPath": ".status.berth"},
    ],
}
DEFINITION: Raw = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.harbour.test"},
    "spec": {
        "group": "harbour.test",
        "scope": "Namespaced",
        "names": {"plural": "boats", "kind": "Boat"},
        "versions": [VERSION],
    },
}
WAYS = (
    ("POST", "", "application/json"),
    ("PUT", "/anna", "application/json"),
    ("PATCH", "/anna", "application/merge-patch+json"),
    ("PATCH", "/anna", "application/apply-patch+yaml"),
    ("PATCH", "/anna/status", "application/merge-patch+json"),
    ("PATCH", "/anna/status", "application/apply-patch+yaml"),
    ("PATCH", "/anna/scale", "application/merge-patch+json"),
    ("PUT", "/anna/scale", "application/json"),
)


def mutated(random_: random.Random, value: Any) -> Any:
    if random_.random() < 0.06:
        return copy.deepcopy(random_.choice(ODD))
    if isinstance(value, dict):
        return {name: mutated(random_, item) for name, item in value.items() if random_.random() > 0.03}
    return [mutated(random_, item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", [1, 2])
async def test_every_document_gets_an_answer(seed: int) -> None:
    random_ = random.Random(seed)
    server = await PlatformServer.started("default")
    assert (await server.post(DEFINITION)).code == 201
    codes = set()
    for _ in range(150):
        await server.ask("POST", BOATS, msgspec.json.encode(WHOLE))
        method, below, content_type = random_.choice(WAYS)
        query = {"fieldManager": "fuzz", "fieldValidation": random_.choice(("Strict", "Warn", "Ignore"))}
        body = msgspec.json.encode(mutated(random_, WHOLE))
        answer = await server.ask(method, f"{BOATS}{below}", body, content_type=content_type, query=query)
        assert answer.code < 500, (method, below, content_type, body, answer)
        assert answer.code < 400 or answer.document["message"]
        codes.add(answer.code)
        for path, accept in ((BOATS, TABLE), (f"{BOATS}/anna/scale", "application/json")):
            assert (await server.ask("GET", path, accept=accept)).code in (200, 400, 404)
        if random_.random() < 0.2:
            await server.ask("DELETE", f"{BOATS}/anna")
    assert {200, 400, 422} <= codes
