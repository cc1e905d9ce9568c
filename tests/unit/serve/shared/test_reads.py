"""What a client has seen, or another server has acknowledged, is in what it reads; at revision 0, what is at hand."""

from typing import Any

import pytest
from tests.unit.serve.shared.lagging_store import store_of

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Ref
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.requests.options import ListOptions
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.reading import get, list_page
from moorage.serve.verbs.watching import watch


def config_map(name: str, value: str = "1") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}}


async def written(api: Api, name: str = "c") -> int:
    return (await LoopbackClient(api, "test").create(KINDS.CONFIG_MAP, config_map(name), "default")).revision


async def asked(api: Api, path: str) -> Response:
    request = Request("GET", path)
    request.user = ADMIN
    answer = await Handler(api, WebPaths((), lambda accept: (b"", "")), api.metrics)(request)
    assert isinstance(answer, Response)
    return answer


async def test_an_object_is_read_as_it_is_on_any_server(two: list[Api]) -> None:
    first, second = two
    revision = await written(first)
    ref = Ref(KINDS.CONFIG_MAP, "default", "c")
    with pytest.raises(ApiError, match="not found"):
        await get(second, ref, 0)  # whatever is at hand
    assert (await get(second, ref)).revision == revision


async def test_an_object_is_not_older_than_what_was_seen(two: list[Api]) -> None:
    first, second = two
    revision = await written(first)
    await written(first, "later")
    assert (await get(second, Ref(KINDS.CONFIG_MAP, "default", "c"), revision)).revision == revision
    assert second.store.revision == revision
    assert store_of(second).caught_up == 0
    with pytest.raises(ApiError, match="Too large resource version"):
        await get(second, Ref(KINDS.CONFIG_MAP, "default", "c"), revision + 100)


async def test_a_list_has_what_was_written_on_any_server(two: list[Api]) -> None:
    first, second = two
    revision = await written(first)

    async def names(**options: Any) -> list[str]:
        page = await list_page(second, KINDS.CONFIG_MAP, "default", ListOptions(**options))
        return [item.key.rpartition("/")[2] for item in page.items]

    assert await names(resource_version=0) == []
    assert await names(resource_version=revision) == ["c"]
    await written(first, "d")
    assert await names(resource_version=revision, match="Exact") == ["c"]
    assert await names() == ["c", "d"]


async def test_a_list_goes_on_at_another_server(two: list[Api]) -> None:
    first, second = two
    for name in ("a", "b", "c"):
        await written(first, name)
    page = await list_page(first, KINDS.CONFIG_MAP, "default", ListOptions(limit=1))
    rest = await list_page(second, KINDS.CONFIG_MAP, "default", ListOptions(continues=page.continues))
    assert [item.key.rpartition("/")[2] for item in rest.items] == ["b", "c"]


async def test_a_watch_begins_with_what_was_written_on_any_server(two: list[Api]) -> None:
    first, second = two
    revision = await written(first)
    batches = await watch(second, KINDS.CONFIG_MAP, "default", ListOptions(watch=True))
    assert [event.object.name for event in await anext(batches)] == ["c"]
    await batches.aclose()
    later = await written(first, "later")
    batches = await watch(second, KINDS.CONFIG_MAP, "default", ListOptions(watch=True, resource_version=later))
    assert second.store.revision == later
    await batches.aclose()
    batches = await watch(second, KINDS.CONFIG_MAP, "default", ListOptions(watch=True, resource_version=revision))
    assert [event.object.name for event in await anext(batches)] == ["later"]
    await batches.aclose()


async def test_requests_over_http_read_the_same(two: list[Api]) -> None:
    first, second = two
    revision = await written(first)
    path = "/api/v1/namespaces/default/configmaps"
    assert b'"items":[]' in (await asked(second, f"{path}?resourceVersion=0")).body
    assert (await asked(second, f"{path}/c?resourceVersion={revision}")).status == 200
    await written(first, "d")
    assert b'"name":"d"' in (await asked(second, path)).body


async def test_what_cannot_be_known_is_not_answered_from_memory(two: list[Api]) -> None:
    first, second = two
    await written(first)
    store_of(second).is_cut_off = True
    with pytest.raises(ApiError) as refusal:
        await asked(second, "/api/v1/namespaces/default/configmaps/c")
    assert (refusal.value.code, refusal.value.reason) == (503, "ServiceUnavailable")
    assert refusal.value.message == "the store does not answer: etcd cannot be reached"
    assert b'"items":[]' in (await asked(second, "/api/v1/namespaces/default/configmaps?resourceVersion=0")).body
