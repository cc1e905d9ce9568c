"""Custom kinds in discovery and OpenAPI: there while they are served, with their own schema."""

import asyncio
import json
from typing import Any

import pytest
from tests.conformance.checks.platform.server import PlatformServer

from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.openapi.documents import custom_openapi_v3, etag_of, openapi_v2, openapi_v3_index

Raw = dict[str, Any]

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NULLABLE = {"type": "string", "nullable": True}
BOAT = "test.harbour.v1.Boat"
SCHEMA: Raw = {
    "type": "object",
    "description": "A boat.",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "length": {"type": "integer", "anyOf": [{"minimum": 1}]},
                "owner": {"type": "string", "nullable": True},
                "extra": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            },
        }
    },
}


def definition(*versions: str, scope: str = "Namespaced", **names: Any) -> Raw:
    served = [
        {"name": name, "served": True, "storage": not number, "schema": {"openAPIV3Schema": SCHEMA}}
        for number, name in enumerate(versions or ("v1",))
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.get('plural', 'boats')}.harbour.test"},
        "spec": {
            "group": "harbour.test",
            "scope": scope,
            "names": {"plural": "boats", "kind": "Boat", **names},
            "versions": served,
        },
    }


async def get(server: PlatformServer, path: str, accept: str = "application/json") -> Any:
    return (await server.ask("GET", path, accept=accept)).document


async def serving(*versions: str, **names: Any) -> PlatformServer:
    server = await PlatformServer.started("default")
    answer = await server.post(definition(*versions, **names))
    assert answer.code == 201, answer
    return server


async def test_discovery_lists_versions_by_priority_and_follows_the_definition() -> None:
    server = await PlatformServer.started("default")
    before = await get(server, "/apis", AGGREGATED)
    await server.post(definition("v1alpha1", "v2", "v1beta1", "odd", shortNames=["bt"], categories=["all"]))
    group = await get(server, "/apis/harbour.test")
    assert [one["version"] for one in group["versions"]] == ["v2", "v1beta1", "v1alpha1", "odd"]
    listed = (await get(server, "/apis/harbour.test/v2"))["resources"]
    assert listed[0]["shortNames"] == ["bt"]
    assert listed[0]["singularName"] == "boat"
    aggregated = await get(server, "/apis", AGGREGATED)
    names = [item["metadata"]["name"] for item in aggregated["items"]]
    assert [name for name in names if not name.endswith("metrics.k8s.io")][-1] == "harbour.test"
    assert names.index("harbour.test") < names.index("metrics.k8s.io")  # as their priorities are
    await server.ask("DELETE", f"{DEFINITIONS}/boats.harbour.test")
    await asyncio.sleep(1)
    assert await get(server, "/apis", AGGREGATED) == before


async def test_the_schema_is_published_and_swagger_leaves_out_what_it_cannot_say() -> None:
    server = await serving()
    served = server.api.resources
    custom = [kind for kind in served.custom if isinstance(kind, ServedKind)]
    document = json.loads(custom_openapi_v3("harbour.test/v1", custom) or b"")
    tag = etag_of(custom_openapi_v3("harbour.test/v1", custom) or b"")
    paths = json.loads(openapi_v3_index(served.kinds, custom))["paths"]
    assert paths["apis/harbour.test/v1"]["serverRelativeURL"] == f"/openapi/v3/apis/harbour.test/v1?hash={tag}"
    shown = document["components"]["schemas"][BOAT]
    assert shown["description"] == "A boat."
    assert shown["properties"]["spec"]["properties"]["owner"] == {"type": "string", "nullable": True}
    assert shown["x-kubernetes-group-version-kind"] == [{"group": "harbour.test", "kind": "Boat", "version": "v1"}]
    assert "/apis/harbour.test/v1/namespaces/{namespace}/boats/{name}" in document["paths"]
    swagger = json.loads(openapi_v2(served.kinds, custom))
    spec = swagger["definitions"][BOAT]["properties"]["spec"]["properties"]
    assert spec["owner"] == {}
    assert spec["length"] == {"type": "integer"}
    assert "properties" not in spec["extra"]
    assert "io.k8s.api.core.v1.Pod" in swagger["definitions"]
    assert json.dumps(swagger).count(f'"#/definitions/{BOAT}"') > 3


async def _published(schema: Raw) -> tuple[Raw, Raw]:
    """Return the definition of a custom kind with a schema, in OpenAPI v2 and v3."""
    server = await PlatformServer.started("default")
    made = definition()
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    answer = await server.post(made)
    assert answer.code == 201, answer
    served = server.api.resources
    custom = [kind for kind in served.custom if isinstance(kind, ServedKind)]
    document = json.loads(custom_openapi_v3("harbour.test/v1", custom) or b"")
    return json.loads(openapi_v2(served.kinds, custom))["definitions"][BOAT], document["components"]["schemas"][BOAT]


GVK = [{"group": "harbour.test", "kind": "Boat", "version": "v1"}]
UNKNOWN = {"x-kubernetes-preserve-unknown-fields": True}
EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True}


async def test_a_kind_that_keeps_unknown_fields_at_its_root_has_no_fields_in_swagger() -> None:
    swagger, newer = await _published({"type": "object", **UNKNOWN, "properties": {"a": {"type": "string"}}})
    assert swagger == {"type": "object", "x-kubernetes-group-version-kind": GVK}
    assert newer["properties"].keys() == {"a", "apiVersion", "kind", "metadata"}
    assert newer["x-kubernetes-preserve-unknown-fields"] is True


#: A schema; what OpenAPI v2 and v3 say of it, as a kube-apiserver v1.36.4 published them.
SHOWN: list[tuple[Raw, Raw, Raw]] = [
    ({"type": "object", **UNKNOWN}, UNKNOWN, {"type": "object", **UNKNOWN}),
    ({"type": "array", **UNKNOWN, "items": {"type": "string"}}, UNKNOWN, {}),
    ({"type": "string", "default": "x"}, {"type": "string"}, {"type": "string", "default": "x"}),
    (
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    (
        {"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string"}, "b": NULLABLE}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {}}},
        {},
    ),
    ({**NULLABLE, "enum": ["x"]}, {"enum": ["x"]}, {**NULLABLE, "enum": ["x"]}),
    (
        {"type": "object", "required": [], "properties": {}, "default": {}},
        {"type": "object"},
        {"type": "object", "default": {}},
    ),
    ({**EMBEDDED, **UNKNOWN}, {"x-kubernetes-embedded-resource": True, **UNKNOWN}, {}),
]


@pytest.mark.parametrize(("schema", "in_v2", "in_v3"), SHOWN)
async def test_what_each_version_says_of_a_schema(schema: Raw, in_v2: Raw, in_v3: Raw) -> None:
    swagger, newer = await _published({"type": "object", "properties": {"spec": schema}})
    assert swagger["properties"]["spec"] == in_v2
    assert not in_v3 or newer["properties"]["spec"] == in_v3


async def test_embedded_objects_need_kind_and_version() -> None:
    schema = {**EMBEDDED, "properties": {"a": {"type": "string"}}}
    for published in await _published({"type": "object", "properties": {"spec": schema}}):
        spec = published["properties"]["spec"]
        assert (spec["required"], spec["type"]) == (["kind", "apiVersion"], "object")
        assert spec["properties"].keys() == {"a", "apiVersion", "kind", "metadata"}


async def test_built_in_kinds_keep_their_paths() -> None:
    server = await PlatformServer.started("default")
    made = definition()
    made["spec"] |= {"group": "apps", "names": {"plural": "deployments", "kind": "Deployment"}}
    made["metadata"]["name"] = "deployments.apps"
    await server.post(made)
    listed = (await get(server, "/apis/apps/v1"))["resources"]
    assert [one["verbs"] for one in listed if one["name"] == "deployments"] == [
        ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
    ]


async def test_names_that_another_definition_has_are_waited_for() -> None:
    server = await serving(shortNames=["bt"])
    await server.post(definition(plural="ships", kind="Ship", shortNames=["bt"]))
    status = (await get(server, f"{DEFINITIONS}/ships.harbour.test"))["status"]
    conditions = {one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]}
    assert conditions["NamesAccepted"] == ("False", "ShortNamesConflict", '"bt" is already in use')
    assert conditions["Established"] == ("False", "NotAccepted", "not all names are accepted")
    assert (await server.ask("GET", "/apis/harbour.test/v1/ships")).code == 404
    await server.ask("DELETE", f"{DEFINITIONS}/boats.harbour.test")
    await asyncio.sleep(1)
    assert (await server.ask("GET", "/apis/harbour.test/v1/ships")).code == 200
    status = (await get(server, f"{DEFINITIONS}/ships.harbour.test"))["status"]
    assert status["acceptedNames"]["shortNames"] == ["bt"]
    assert [one["status"] for one in status["conditions"]] == ["True", "True"]
