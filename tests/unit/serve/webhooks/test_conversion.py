"""Serve custom objects in versions between which a webhook converts: reads, lists, watches, writes, deletions."""

import asyncio
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import DRY, ME, new_api
from tests.unit.serve.webhooks.gadgets import GROUP, defined, definition, gadget, rename

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.model.types.request import DeleteOptions
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import decode, name_in
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.reading import get, list_page
from moorage.serve.verbs.watching import watch
from moorage.serve.webhooks.client import NoAnswer
from moorage.store.protocol import Stored
from moorage.testing import WebhookServer

Raw = dict[str, Any]
WHY = 'an error on the server ("boom") has prevented the request from succeeding'


def at(old: Raw, new: Raw) -> Raw:
    """Return a document for the revision of another."""
    return {**new, "metadata": {**new["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}}


async def make(api: Api, kind: Any, name: str, **spec: int) -> Raw:
    result = await create(api, kind, "default", gadget(kind.version, name, **spec), ME)
    return decode(kind, result.stored)


def spec(kind: Any, stored: Stored) -> Raw:
    document = decode(kind, stored)
    assert document["apiVersion"] == kind.api_version
    found: Raw = document["spec"]
    return found


async def test_written_in_one_version_and_read_in_another() -> None:
    async with new_api() as api:
        _, v1, v2 = await defined(api)
        assert (await make(api, v2, "g", width=4))["spec"] == {"width": 4}
        ref = Ref(v1, "default", "g")
        stored = await api.store.get(f"/{GROUP}/gadgets/default/g")
        assert stored is not None
        assert b'"size":4' in stored.value
        assert spec(v1, await get(api, ref)) == {"size": 4}
        assert spec(v2, await get(api, ref._replace(kind=v2))) == {"width": 4}


async def test_updates_and_their_no_ops() -> None:
    async with new_api() as api:
        _, v1, v2 = await defined(api)
        made = await make(api, v1, "g", size=4)
        ref = Ref(v2, "default", "g")
        result = await replace(api, ref, at(made, gadget("v2", "g", width=9)), ME)
        assert spec(v2, result.stored) == {"width": 9}
        now = decode(v2, result.stored)
        again = await replace(api, ref, at(now, gadget("v2", "g", width=9)), ME)
        assert again.stored.revision == result.stored.revision > int(made["metadata"]["resourceVersion"])
        assert spec(v1, await get(api, ref._replace(kind=v1))) == {"size": 9}


async def test_dry_runs_are_converted_both_ways() -> None:
    async with new_api() as api:
        fake, v1, v2 = await defined(api)
        result = await create(api, v2, "default", gadget("v2", "h", width=5), DRY)
        assert spec(v2, result.stored) == {"width": 5}
        assert fake.calls == [1, 1]
        made = await make(api, v1, "g", size=4)
        changed = await replace(api, Ref(v2, "default", "g"), at(made, gadget("v2", "g", width=9)), DRY)
        assert spec(v2, changed.stored) == {"width": 9}
        assert str(changed.stored.revision) == made["metadata"]["resourceVersion"]


async def test_a_list_is_one_review_and_is_remembered() -> None:
    async with new_api() as api:
        fake, v1, v2 = await defined(api)
        for number in range(5):
            await make(api, v1, f"g{number}", size=number)
        for _ in range(2):
            page = await list_page(api, v2, "default", ListOptions())
            assert [spec(v2, item) for item in page.items] == [{"width": number} for number in range(5)]
        assert fake.calls == [5]
        await make(api, v1, "g9", size=9)
        page = await list_page(api, v2, "default", ListOptions(limit=2))
        assert [name_in(item.key) for item in page.items] == ["g0", "g1"]
        page = await list_page(api, v2, "", ListOptions(fields="metadata.name=g9"))
        assert [spec(v2, item) for item in page.items] == [{"width": 9}]
        assert fake.calls == [5, 1]


async def test_the_same_object_is_asked_for_once_at_a_time() -> None:
    async with new_api() as api:
        fake, v1, v2 = await defined(api)
        await make(api, v1, "g", size=4)
        found = await asyncio.gather(*[get(api, Ref(v2, "default", "g")) for _ in range(10)])
        assert {item.value for item in found} == {found[0].value}
        assert fake.calls == [1]


async def test_watches_see_the_version_that_they_ask_for() -> None:
    async with new_api() as api:
        _, v1, v2 = await defined(api)
        await make(api, v1, "a", size=1)
        batches = await watch(api, v2, "default", ListOptions())
        first = await anext(batches)
        assert [event.object.raw["spec"] for event in first] == [{"width": 1}]
        await make(api, v1, "b", size=2)
        second = await anext(batches)
        assert [(event.type.value, event.object.raw["spec"]) for event in second] == [("ADDED", {"width": 2})]
        await delete(api, Ref(v1, "default", "a"), DeleteOptions())
        third = await anext(batches)
        assert [(event.type.value, event.object.raw["spec"]) for event in third] == [("DELETED", {"width": 1})]
        await batches.aclose()


async def test_fails_as_kubernetes_says_it_and_deletion_works_without() -> None:
    def dead(review: Raw) -> Any:
        raise NoAnswer(WHY)

    async with new_api() as api:
        _, v1, v2 = await defined(api, dead)
        await make(api, v1, "g", size=4)
        with pytest.raises(ApiError) as refused:
            await get(api, Ref(v2, "default", "g"))
        assert (refused.value.code, refused.value.reason) == (500, "")
        failed = f"conversion webhook for {GROUP}/v1, Kind=Gadget failed: "
        assert (
            refused.value.message
            == failed + 'an error on the server ("boom") has prevented the request from succeeding'
        )
        with pytest.raises(ApiError, match=f"conversion webhook for {GROUP}/v2, Kind=Gadget failed: "):
            await make(api, v2, "h", width=5)
        result = await delete(api, Ref(v2, "default", "g"), DeleteOptions())
        assert result.deleted


async def test_deletion_that_waits_for_finalizers_keeps_what_is_stored() -> None:
    async with new_api() as api:
        _, v1, v2 = await defined(api)
        document = gadget("v1", "g", size=4)
        document["metadata"]["finalizers"] = ["example.com/wait"]
        await create(api, v1, "default", document, ME)
        result = await delete(api, Ref(v2, "default", "g"), DeleteOptions())
        assert not result.deleted
        assert spec(v2, result.stored) == {"width": 4}
        stored = await get(api, Ref(v1, "default", "g"))
        assert spec(v1, stored) == {"size": 4}
        assert decode(v1, stored)["metadata"]["deletionTimestamp"]


@pytest.mark.real_time(loop="uvloop")
async def test_with_a_real_webhook() -> None:
    with WebhookServer(convert=rename) as webhook:
        async with new_api() as api:
            made = definition({})
            made["spec"]["conversion"] = webhook.conversion
            await create(api, KINDS.CUSTOM_RESOURCE_DEFINITION, "", made, ME)
            v1, v2 = (api.resources.find(GROUP, version, "gadgets") for version in ("v1", "v2"))
            assert v2 is not None
            for number in range(300):
                await make(api, v1, f"g{number:03}", size=number)
            page = await list_page(api, v2, "default", ListOptions())
            assert [spec(v2, item)["width"] for item in page.items] == list(range(300))
            api.webhooks.close()
