"""Definitions over time: a restart, another schema, another stored version, deletion, another cluster."""

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest
from tests.conformance.checks.platform.server import PlatformServer
from tests.unit.serve.custom.test_published import DEFINITIONS, definition, get, serving

from moorage.cluster.transfer.importing import import_objects
from moorage.cluster.transfer.other_cluster import Foreign, OtherCluster
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import prefix_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.watching import watch

Raw = dict[str, Any]

BOATS = "/apis/harbour.test/v1/namespaces/default/boats"


def boat(name: str, **spec: Any) -> Raw:
    return {"apiVersion": "harbour.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec}


async def create(server: PlatformServer, document: Raw) -> None:
    assert (await server.ask("POST", BOATS, msgspec.json.encode(document))).code == 201


async def put(server: PlatformServer, changed: Raw) -> None:
    path = f"{DEFINITIONS}/{changed['metadata']['name']}"
    current = await get(server, path)
    metadata = {**changed["metadata"], "resourceVersion": current["metadata"]["resourceVersion"]}
    answer = await server.ask("PUT", path, msgspec.json.encode({**changed, "metadata": metadata}))
    assert answer.code == 200, answer


async def test_what_was_established_is_served_after_a_restart() -> None:
    server = await serving()
    await create(server, boat("anna", length=7))
    again = Api(server.api.store, default_gates())
    await again.start()
    kind = again.resources.custom_kind("harbour.test/v1", "Boat")
    assert kind is not None
    assert (await again.store.count(prefix_of(kind))) == 1
    written = again.store.revision
    await Api(server.api.store, default_gates()).start()
    assert again.store.revision == written, "nothing is written without need"


async def test_defaults_of_a_new_schema_are_seen_in_old_objects() -> None:
    server = await serving()
    await create(server, boat("anna", length=7, extra={"b": 1}))
    changed = definition()
    schema = changed["spec"]["versions"][0]["schema"] = msgspec.to_builtins(changed["spec"]["versions"][0]["schema"])
    schema["openAPIV3Schema"]["properties"]["spec"]["properties"] = {"flag": {"type": "string", "default": "blue"}}
    await put(server, changed)
    assert (await get(server, f"{BOATS}/anna"))["spec"] == {"flag": "blue"}
    assert (await get(server, BOATS))["items"][0]["spec"] == {"flag": "blue"}
    kind = server.api.resources.custom_kind("harbour.test/v1", "Boat")
    assert kind is not None
    batches = await watch(server.api, kind, "default", ListOptions(watch=True))
    first = await anext(batches)
    await batches.aclose()
    assert first[0].object.raw["spec"] == {"flag": "blue"}


async def test_a_default_status_is_in_a_new_object() -> None:
    server = await serving()
    changed = definition()
    version = changed["spec"]["versions"][0] = msgspec.to_builtins(changed["spec"]["versions"][0])
    phase = {"type": "object", "default": {"phase": "New"}, "properties": {"phase": {"type": "string"}}}
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = phase
    version["subresources"] = {"status": {}}
    await put(server, changed)
    await create(server, {**boat("anna", length=7), "status": {"phase": "Old"}})
    assert (await get(server, f"{BOATS}/anna"))["status"] == {"phase": "New"}


async def test_objects_move_to_another_stored_version_when_they_are_written() -> None:
    server = await serving("v1", "v2")
    await create(server, boat("anna", length=7))
    changed = definition("v2", "v1")
    await put(server, changed)
    assert (await get(server, f"{DEFINITIONS}/boats.harbour.test"))["status"]["storedVersions"] == ["v1", "v2"]
    second = BOATS.replace("/v1/", "/v2/")
    for path, version in ((BOATS, "harbour.test/v1"), (second, "harbour.test/v2")):
        assert (await get(server, f"{path}/anna"))["apiVersion"] == version
        listed = await get(server, path)
        assert (listed["apiVersion"], listed["items"][0]["apiVersion"]) == (version, version)
    patch = msgspec.json.encode({"metadata": {"labels": {"a": "b"}}})
    await server.ask("PATCH", f"{BOATS}/anna", patch, content_type="application/merge-patch+json")
    (stored,) = (await server.api.store.list("/harbour.test/boats/")).items
    assert msgspec.json.decode(stored.value)["apiVersion"] == "harbour.test/v2"


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"length": 3}, 200, ""),
        ({}, 404, 'the spec replicas field ".spec.length" does not exist'),
        (None, 404, 'the spec replicas field ".spec.length" does not exist'),
        ("none", 400, ".spec.length accessor error: none is of the type string, expected map[string]interface{}"),
    ],
)
async def test_the_scale_of_an_odd_object_is_refused_with_the_reason(spec: Any, code: int, message: str) -> None:
    server = await PlatformServer.started("default")
    made = definition()
    version = made["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    await server.post(made)
    await create(server, {**boat("anna"), "spec": spec})
    scale = {"specReplicasPath": ".spec.length", "statusReplicasPath": ".status.replicas"}
    await put(server, {**made, "spec": {**made["spec"], "versions": [{**version, "subresources": {"scale": scale}}]}})
    answer = await server.ask("GET", f"{BOATS}/anna/scale")
    assert answer.code == code
    assert message in answer.document.get("message", "")


async def test_a_deletion_that_was_interrupted_goes_on_after_a_restart() -> None:
    server = await serving()
    await create(server, boat("anna"))
    store = server.api.store
    await server.ask("DELETE", f"{DEFINITIONS}/boats.harbour.test")  # whose task has had no turn yet
    again = Api(store, default_gates())
    await again.start()
    await asyncio.sleep(10)
    assert await store.count(prefix_of(KINDS.CUSTOM_RESOURCE_DEFINITION)) == 0
    assert await store.count("/harbour.test/boats/") == 0


async def test_another_cluster_brings_its_definitions_and_their_objects() -> None:
    server = await serving()
    await create(server, boat("anna", length=7))
    made = await get(server, f"{DEFINITIONS}/boats.harbour.test")
    anna = await get(server, f"{BOATS}/anna")
    owned = {"name": "cargo", "uid": "1-2", "ownerReferences": [{**_reference(anna), "uid": "gone"}]}
    cargo = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned}
    objects = [Foreign(anna, "a"), Foreign(cargo, "b"), Foreign(made, "c")]
    other = await PlatformServer.started("default")
    notes = await import_objects(other.api, OtherCluster(objects, Counter(), []))
    assert notes == ["--from: owners that are not in the input, whose objects stay without them: 1 Boat anna"]
    found = await get(other, f"{BOATS}/anna")
    assert (found["metadata"]["uid"], found["spec"]) == (anna["metadata"]["uid"], {"length": 7})
    assert await other.api.store.count(prefix_of(KINDS.CONFIG_MAP)) == 1


def _reference(owner: Raw) -> Raw:
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"]}
