"""Create: names and namespaces, what is refused, what a dry run leaves behind."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, NOW, Raw, document, make, new_api, read, refused, shown

from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS, Ref
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.patching import MERGE_PATCH, Patch, patch_object
from moorage.serve.verbs.registry import WriteResult
from moorage.serve.verbs.weight import has_much_cel


async def test_what_is_created_is_stored_with_its_owner(api: Api) -> None:
    raw = document(KINDS.CONFIG_MAP, "one", data={"a": "1"})
    outcome = await create(api, KINDS.CONFIG_MAP, "default", raw, ME, ["careful"])
    found = await read(api, KINDS.CONFIG_MAP, "one")
    assert found is not None
    assert found == shown(KINDS.CONFIG_MAP, outcome)
    assert (outcome.created, outcome.deleted, outcome.warnings) == (True, False, ("careful",))
    metadata = found["metadata"]
    assert (metadata["namespace"], metadata["creationTimestamp"]) == ("default", NOW)
    assert metadata["resourceVersion"] == str(outcome.stored.revision)
    assert [entry["manager"] for entry in metadata["managedFields"]] == ["me"]


async def test_a_dry_run_shows_what_it_would_make(api: Api) -> None:
    before = api.store.revision
    outcome = await create(api, KINDS.CONFIG_MAP, "default", document(KINDS.CONFIG_MAP, "one"), DRY)
    assert (outcome.created, shown(KINDS.CONFIG_MAP, outcome)["metadata"]["creationTimestamp"]) == (True, NOW)
    assert "resourceVersion" not in shown(KINDS.CONFIG_MAP, outcome)["metadata"]
    assert (api.store.revision, await read(api, KINDS.CONFIG_MAP, "one")) == (before, None)
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "one"))
    again = create(api, KINDS.CONFIG_MAP, "default", document(KINDS.CONFIG_MAP, "one"), DRY)
    assert await refused(again) == (409, 'configmaps "one" already exists')


async def test_names_are_generated_until_one_is_free() -> None:
    async with new_api(suffixes=iter(["a", "a", "a", "b", "c", "d"])) as api:
        for wanted in ("x-a", "x-b"):
            raw = document(KINDS.CONFIG_MAP, "", metadata={"generateName": "x-"})
            assert shown(KINDS.CONFIG_MAP, await make(api, KINDS.CONFIG_MAP, raw))["metadata"]["name"] == wanted
        named = document(KINDS.CONFIG_MAP, "x", metadata={"generateName": "x-"})
        assert shown(KINDS.CONFIG_MAP, await make(api, KINDS.CONFIG_MAP, named))["metadata"]["name"] == "x"


async def test_names_are_not_generated_for_ever() -> None:
    async with new_api(suffixes=iter("a" * 9)) as api:
        await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "x-a"))
        attempt = make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "", metadata={"generateName": "x-"}))
        why = "already exists, the server was not able to generate a unique name for the object"
        assert await refused(attempt) == (409, f'configmaps "x-a" {why}')


ELSEWHERE = "the namespace of the provided object does not match the namespace sent on the request"
REFUSED: list[tuple[str, Raw, int, str]] = [
    ("", {"name": "x"}, 400, "namespace is required for this request"),
    ("default", {"name": "x", "namespace": "other"}, 400, ELSEWHERE),
    ("nowhere", {"name": "x"}, 404, 'namespaces "nowhere" not found'),
    (
        "default",
        {"name": "x", "resourceVersion": "7"},
        400,
        "resourceVersion should not be set on objects to be created",
    ),
    ("default", {"name": "there"}, 409, 'configmaps "there" already exists'),
    ("default", {}, 422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'),
]


@pytest.mark.parametrize(("namespace", "metadata", "code", "said"), REFUSED)
async def test_what_cannot_be_created(namespace: str, metadata: Raw, code: int, said: str, api: Api) -> None:
    await make(api, KINDS.CONFIG_MAP, document(KINDS.CONFIG_MAP, "there"))
    before = api.store.revision
    attempt = create(api, KINDS.CONFIG_MAP, namespace, document(KINDS.CONFIG_MAP, "", metadata=metadata), ME)
    assert await refused(attempt) == (code, said)
    assert api.store.revision == before


async def test_a_namespace_on_a_kind_without_namespaces_is_dropped(api: Api) -> None:
    made = await make(api, KINDS.NODE, document(KINDS.NODE, "n1", metadata={"namespace": "kube-system"}))
    assert "namespace" not in shown(KINDS.NODE, made)["metadata"]
    assert await read(api, KINDS.NODE, "n1") is not None


def test_other_clients_are_answered_while_many_device_selectors_are_compiled() -> None:
    kind = KINDS.DEVICE_CLASS

    def device_class(count: int) -> Raw:
        terms = [f'device.attributes["d.example.com"].m{{0}}{number} == "x"' for number in range(60)]
        selectors = [{"cel": {"expression": " || ".join(terms).format(number)}} for number in range(count)]
        return document(kind, "hostile", spec={"selectors": selectors})

    async def answered_meanwhile(api: Api, slow: Awaitable[WriteResult]) -> int:
        task, quick = asyncio.ensure_future(slow), 0
        while not task.done():
            await api.store.list("/")
            await asyncio.sleep(0.001)
            quick += 1
        await task
        return quick

    async def main() -> None:
        async with new_api() as api:
            assert await answered_meanwhile(api, make(api, kind, device_class(8))) > 5
            changed = device_class(10)
            changed["spec"]["selectors"].reverse()
            ref = Ref(kind, "", "hostile")
            assert await answered_meanwhile(api, replace(api, ref, changed, ME)) > 1

    asyncio.run(main())
    assert not has_much_cel(kind, document(kind, "modest", spec={"selectors": [{"cel": {"expression": "true"}}]}))


def test_pods_and_their_templates_with_much_cel_are_admitted_beside_the_loop_and_others_are_not() -> None:
    import moorage.match.cel  # noqa: F401 (to import it is much, too)

    much = {"tolerations": [{"expression": f"taint.key == '{'k' * 60}{number}'"} for number in range(20)]}
    modest = {"tolerations": [{"expression": "taint.key == 'spot'"}, {"key": "a" * 5000}]}
    places: dict[str, Callable[[Raw], Raw]] = {
        "Pod": lambda spec: {"spec": spec},
        "Deployment": lambda spec: {"spec": {"template": {"spec": spec}}},
        "DaemonSet": lambda spec: {"spec": {"template": {"spec": spec}}},
        "CronJob": lambda spec: {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec}}}}},
    }
    for name, placed in places.items():
        kind = next(kind for kind in KINDS.values() if kind.name == name)
        assert has_much_cel(kind, placed(much)), name
        assert not has_much_cel(kind, placed(modest)), name
        assert has_much_cel(kind, [{"op": "add", "path": "/spec", "value": much}])
    assert not has_much_cel(KINDS.CONFIG_MAP, {"spec": much})
    assert not has_much_cel(KINDS.POD, {"spec": None})


def test_the_first_expression_is_compiled_beside_the_loop_because_cel_is_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = {"spec": {"tolerations": [{"expression": "true"}]}}
    monkeypatch.setitem(sys.modules, "moorage.match.cel.program", ModuleType("cel"))
    assert not has_much_cel(KINDS.POD, document)
    monkeypatch.delitem(sys.modules, "moorage.match.cel.program")
    assert has_much_cel(KINDS.POD, document)
    assert not has_much_cel(KINDS.POD, {"spec": {"tolerations": [{"operator": "Exists"}]}})


@pytest.mark.real_time
async def test_a_pod_with_much_cel_is_also_changed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = KINDS.POD
    much = [{"expression": f"taint.key == '{'k' * 60}{number}'"} for number in range(20)]
    async with new_api(gates=gates_from({"AllAlpha": True})) as api:
        raw = document(kind, "hostile", spec={"containers": [{"name": "c", "image": "i"}], "tolerations": much})
        await make(api, kind, raw)
        used: list[Any] = []
        run = api.long_work.run

        async def counted(function: Any, *arguments: Any) -> Any:
            used.append(function)
            return await run(function, *arguments)

        monkeypatch.setattr(api.long_work, "run", counted)
        patch = Patch(MERGE_PATCH, {"metadata": {"labels": {"a": "b"}}})
        await patch_object(api, Ref(kind, "default", "hostile"), patch, ME)
        assert len(used) == 1
