"""Large custom objects and definitions: whatever is done with them, the event loop does none of the long work."""

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec
import pytest
from tests.conformance.checks.platform.server import PlatformServer
from tests.unit.serve.custom.test_published import definition

from moorage.model.kinds import KINDS
from moorage.serve.apply import managed_fields
from moorage.serve.custom.served_kind import ServedKind, served_kinds
from moorage.serve.requests.options import ListOptions
from moorage.serve.requests.rendering import As, Form, Renderer, stored_in
from moorage.serve.verbs import registry
from moorage.serve.verbs.watching import watch
from moorage.serve.verbs.weight import document_takes_long

pytestmark = pytest.mark.real_time

Raw = dict[str, Any]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
STORED, OTHER = (f"/apis/harbour.test/{version}/namespaces/default/boats" for version in ("v1", "v2"))
ITEM = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
CREW = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": ITEM}


def boats() -> Raw:
    raw = definition("v1", "v2")
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"crew": CREW}}}}
    for version in raw["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": schema}
        version["subresources"] = {"status": {}}
    return raw


def large(version: str = "v1") -> Raw:
    crew = [{"name": f"n{number}"} for number in range(2_000)]
    return {
        "apiVersion": f"harbour.test/{version}",
        "kind": "Boat",
        "metadata": {"name": "anna"},
        "spec": {"crew": crew},
    }


@pytest.fixture
def where(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[bool]]:
    """By what was done with large documents: whether it was on the event loop's thread."""
    seen: dict[str, set[bool]] = {}
    loop = threading.get_ident()

    def spied(holder: Any, name: str) -> None:
        plain: Callable[..., Any] = getattr(holder, name)

        def spy(*arguments: Any, **named: Any) -> Any:
            seen.setdefault(name, set()).add(threading.get_ident() == loop)
            return plain(*arguments, **named)

        monkeypatch.setattr(holder, name, spy)

    for holder, name in (
        (ServedKind, "reads"),
        (ServedKind, "stores"),
        (managed_fields, "check"),
        (registry, "decode"),
        (registry, "encode"),
    ):
        spied(holder, name)
    return seen


async def test_a_large_object_is_written_read_and_deleted_beside_the_loop(where: dict[str, set[bool]]) -> None:
    server = await PlatformServer.started("default")
    assert (await server.post(boats())).code == 201
    where.clear()  # the definition and what a new cluster has are small
    assert (await server.ask("POST", STORED, msgspec.json.encode(large()))).code == 201
    for path in (f"{STORED}/anna", f"{OTHER}/anna", OTHER):
        for accept in ("application/json", TABLE):
            assert (await server.ask("GET", path, accept=accept)).code == 200
    merge, apply = "application/merge-patch+json", "application/apply-patch+yaml"
    labels = msgspec.json.encode({"metadata": {"labels": {"a": "b"}, "finalizers": ["a.b/c"]}})
    assert (await server.ask("PATCH", f"{OTHER}/anna", labels, content_type=merge)).code == 200
    status = msgspec.json.encode({"status": {}})
    assert (await server.ask("PATCH", f"{STORED}/anna/status", status, content_type=merge)).code == 200
    forced = {"fieldManager": "m", "force": "true"}
    applied = msgspec.json.encode(large("v2"))
    assert (await server.ask("PATCH", f"{OTHER}/anna", applied, content_type=apply, query=forced)).code == 200
    assert (await server.ask("DELETE", f"{STORED}/anna")).code == 200
    assert where == {name: {False} for name in ("reads", "stores", "check", "decode", "encode")}


async def test_large_objects_in_another_version_are_watched_beside_the_loop() -> None:
    server = await PlatformServer.started("default")
    await server.post(boats())
    await server.ask("POST", STORED, msgspec.json.encode(large()))
    small = {**large(), "metadata": {"name": "berta"}, "spec": {}}
    await server.ask("POST", STORED, msgspec.json.encode(small))
    for version, form, expected in (
        ("v1", Form(), [False, False]),
        ("v2", Form(), [True, False]),
        ("v1", Form(As.TABLE), [True, False]),
    ):
        kind = server.api.resources.custom_kind(f"harbour.test/{version}", "Boat")
        assert kind is not None
        batches = await watch(server.api, kind, "default", ListOptions(watch=True))
        stored = list(stored_in(await anext(batches)))
        await batches.aclose()
        renderer = Renderer(kind, form, "Metadata", 0.0)
        assert [renderer.takes_long((item,)) for item in stored] == expected, (version, form)


async def test_the_first_custom_object_and_definition_are_imported_for_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = await PlatformServer.started("default")
    await server.post(definition())
    kind = server.api.resources.custom_kind("harbour.test/v1", "Boat")
    assert isinstance(kind, ServedKind)
    assert not kind.is_heavy
    for name in ("moorage.custom.objects.validate", "moorage.match.cel.program"):
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, name)
            assert kind.is_heavy
    definitions = KINDS.CUSTOM_RESOURCE_DEFINITION
    monkeypatch.setitem(sys.modules, "moorage.custom.definition.definition", ModuleType("definition"))
    assert not document_takes_long(definitions, definition())
    monkeypatch.delitem(sys.modules, "moorage.custom.definition.definition")
    assert document_takes_long(definitions, definition())


def test_admission_policies_with_much_cel_take_long() -> None:
    kind = KINDS.VALIDATING_ADMISSION_POLICY
    rules = [{"expression": "object.spec.replicas > 1 && " * 20 + "true"}] * 5
    assert document_takes_long(kind, {"spec": {"validations": rules}})
    assert not document_takes_long(kind, {"spec": {"validations": [{"expression": "true"}]}})


def test_versions_share_what_is_the_same_for_all_and_deprecated_ones_name_the_best() -> None:
    raw = definition("v1", "v3", "v2", "v4beta1")
    raw["spec"]["versions"][0]["deprecated"] = True
    raw["spec"]["versions"][2]["deprecated"] = True
    raw["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    kinds = {kind.version: kind for kind in served_kinds(raw, b"", 1)}
    assert len({id(kind.api_versions) for kind in kinds.values()}) == 1
    assert kinds["v1"].warnings == ("harbour.test/v1 Boat is deprecated; use harbour.test/v3 Boat",)
    assert kinds["v2"].warnings == ("harbour.test/v2 Boat is deprecated; use harbour.test/v3 Boat",)
    raw["spec"]["versions"][1]["deprecated"] = True
    kinds = {kind.version: kind for kind in served_kinds(raw, b"", 1)}
    assert kinds["v3"].warnings == ("harbour.test/v3 Boat is deprecated",)
