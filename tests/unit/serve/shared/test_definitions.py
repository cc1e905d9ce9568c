"""Definitions that one server was told of are served by all, and cleaned up by any."""

import asyncio
from typing import Any

import pytest
from tests.unit.serve.shared.asking import ask, content
from tests.unit.serve.shared.lagging_store import store_of

from moorage.model.api_error import ApiError
from moorage.serve.cluster.api_configuration import CustomGroups, configure_api
from moorage.serve.verbs.api import Api

Raw = dict[str, Any]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BOATS = "/apis/harbour.test/v1/namespaces/default/boats"


def definition(plural: str = "boats", kind: str = "Boat", required: str = "") -> Raw:
    spec: Raw = {"type": "object", "properties": {"length": {"type": "integer"}}}
    if required:
        spec["required"] = [required]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.harbour.test"},
        "spec": {
            "group": "harbour.test",
            "names": {"plural": plural, "kind": kind},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def boat(name: str, **spec: Any) -> Raw:
    return {"apiVersion": "harbour.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec}


async def test_what_one_server_was_told_of_is_served_by_the_other_at_once(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    made = content(await ask(second, "POST", BOATS, boat("anna", length=7)))
    assert made["spec"] == {"length": 7}
    assert content(await ask(first, "GET", f"{BOATS}/anna"))["metadata"]["uid"] == made["metadata"]["uid"]
    found = content(await ask(second, "GET", f"{CRDS}/boats.harbour.test"))
    conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert conditions["Established"] == conditions["NamesAccepted"] == "True"


async def test_a_definition_that_is_only_heard_of_is_served(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    store_of(second).deliver()
    await second.definitions.settled()
    assert second.resources.custom_kind("harbour.test/v1", "Boat") is not None
    assert store_of(second).caught_up == 0


async def test_a_definition_that_is_heard_of_and_not_read_yet_is_waited_for(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    store_of(second).deliver()
    assert (await ask(second, "POST", BOATS, boat("anna"))).status == 201


async def test_the_api_service_of_a_group_stays_while_its_definition_is_being_read(two: list[Api]) -> None:
    first, second = two
    for api in two:
        await configure_api(api)
    await ask(first, "POST", CRDS, definition())
    path = "/apis/apiregistration.k8s.io/v1/apiservices/v1.harbour.test"
    for _ in range(100):
        await asyncio.sleep(0)
    made = content(await ask(first, "GET", path))
    store_of(second).deliver()
    await CustomGroups(second)._synchronize()
    assert content(await ask(second, "GET", path))["metadata"]["uid"] == made["metadata"]["uid"]


async def test_both_may_write_the_status_at_the_same_time(two: list[Api]) -> None:
    first, second = two
    creating = asyncio.ensure_future(ask(first, "POST", CRDS, definition()))
    while not (await second.store.list("/apiextensions.k8s.io/")).items:
        await asyncio.sleep(0)
        store_of(second).deliver()
    await creating
    await second.definitions.settled()
    await asyncio.gather(*(api.catch_up() for api in two))
    for api in two:
        assert api.resources.custom_kind("harbour.test/v1", "Boat") is not None
    revision = first.store.revision
    for _ in range(5):
        await asyncio.gather(*(api.catch_up() for api in two))
    assert first.store.revision == revision, "they come to rest"


async def test_another_schema_holds_on_the_other_server(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    await ask(second, "POST", BOATS, boat("anna"))
    schema = definition(required="length")["spec"]
    await ask(first, "PATCH", f"{CRDS}/boats.harbour.test", {"spec": schema})
    store_of(second).deliver()
    await second.definitions.settled()
    with pytest.raises(ApiError, match=r"spec\.length: Required value"):
        await ask(second, "POST", BOATS, boat("bert"))


async def test_what_goes_is_cleaned_up_and_served_by_neither(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    for name in ("anna", "bert"):
        await ask(second, "POST", BOATS, boat(name))
    await ask(second, "DELETE", f"{CRDS}/boats.harbour.test")
    for _ in range(100):
        await asyncio.gather(*(api.catch_up() for api in two))
        if (
            not (await first.store.list("/harbour.test/")).items
            and first.store.peek("/apiextensions.k8s.io/customresourcedefinitions/boats.harbour.test") is None
        ):
            break
        await asyncio.sleep(0.01)
    await asyncio.gather(*(api.catch_up() for api in two))
    for api in two:
        assert api.resources.custom_kind("harbour.test/v1", "Boat") is None
        assert (await api.store.list("/harbour.test/")).items == []


async def test_a_name_that_another_definition_had_is_given_on(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    store_of(second).deliver()
    await ask(second, "POST", CRDS, definition("ships", "Boat"))
    found = content(await ask(first, "GET", f"{CRDS}/ships.harbour.test"))
    assert {one["type"]: one["status"] for one in found["status"]["conditions"]}["NamesAccepted"] == "False"
    await ask(first, "DELETE", f"{CRDS}/boats.harbour.test")
    for _ in range(100):
        await asyncio.gather(*(api.catch_up() for api in two))
        found = content(await ask(second, "GET", f"{CRDS}/ships.harbour.test"))
        conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
        if conditions["NamesAccepted"] == "True":
            break
        await asyncio.sleep(0.01)
    assert conditions["Established"] == "True"


async def test_discovery_shows_what_any_server_was_told_of_and_what_is_known_if_that_is_all(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CRDS, definition())
    store_of(second).is_cut_off = True
    assert b"harbour.test" not in (await ask(second, "GET", "/apis")).body
    store_of(second).is_cut_off = False
    assert b"harbour.test" in (await ask(second, "GET", "/apis")).body
