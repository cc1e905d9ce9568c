"""Long pages: the chunks of every form are the same document as the page in one piece."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
import yaml

from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Request, Response, Stream, compress_stream, wants_compression
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.long_work import in_slices, next_turn
from moorage.serve.requests.options import ListOptions, WriteOptions
from moorage.serve.requests.page_stream import stream_page
from moorage.serve.requests.rendering import Form, Renderer, negotiate
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.reading import list_page
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

META = "v=v1;g=meta.k8s.io"
FORMS = [
    "application/json",
    f"application/json;as=Table;{META}",
    f"application/json;as=PartialObjectMetadataList;{META}",
    "application/yaml",
]


async def _fill(api: Api, count: int) -> None:
    for number in range(count):
        raw = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"m{number}"}, "data": {"a": "- [x]\n"}}
        await create(api, KINDS.CONFIG_MAP, "default", raw, WriteOptions("me"))


async def _ask(api: Api, path: str, accept: str) -> Response | Stream:
    metrics = Metrics()
    handler = Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))
    request = Request("GET", path, {"accept": accept})
    request.user = ADMIN
    return await handler(request)


@pytest.mark.parametrize("accept", FORMS)
async def test_chunks_are_the_page(api: Api, accept: str) -> None:
    await _fill(api, 30)
    form = negotiate(accept)
    page = await list_page(api, KINDS.CONFIG_MAP, "default", ListOptions())
    renderer = Renderer(KINDS.CONFIG_MAP, form, "Metadata", api.clock())
    stream = stream_page(page, renderer, "", api.long_work)
    chunks = [chunk async for chunk in stream.chunks]
    whole = b"".join(chunks)
    expected = msgspec.json.decode(renderer.page(page))
    assert (yaml.safe_load(whole) if form.is_yaml else msgspec.json.decode(whole)) == expected
    assert stream.content_type == ("application/yaml" if form.is_yaml else "application/json")


@pytest.mark.parametrize("accept", FORMS)
async def test_long_pages_are_streamed_and_short_ones_are_not(api: Api, accept: str) -> None:
    await _fill(api, 3)
    path = "/api/v1/namespaces/default/configmaps"
    assert isinstance(await _ask(api, path, accept), Response)
    await _fill_more(api, 300)
    answer = await _ask(api, path, accept)
    assert isinstance(answer, Stream)
    assert answer.is_whole
    body = b"".join([chunk async for chunk in answer.chunks])
    document: Any = yaml.safe_load(body) if "yaml" in accept else msgspec.json.decode(body)
    assert len(document.get("items") or document["rows"]) == 303


async def _fill_more(api: Api, count: int) -> None:
    for number in range(count):
        raw = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": f"more-{number}"}}
        await create(api, KINDS.CONFIG_MAP, "default", raw, WriteOptions("me"))


async def test_a_page_of_an_older_version_is_converted_entry_by_entry(api: Api) -> None:
    kind = KINDS.DEVICE_CLASS
    raw = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {"name": "a"}, "spec": {}}
    await create(api, kind, "", raw, WriteOptions("me"))
    page = await list_page(api, kind, "", ListOptions())
    for form in (Form(), negotiate(FORMS[1])):
        stream = stream_page(page, Renderer(kind, form, "Object", api.clock()), "v1beta1", api.long_work)
        document = msgspec.json.decode(b"".join([chunk async for chunk in stream.chunks]))
        shown = document["items"][0] if "items" in document else document["rows"][0]["object"]
        # An item of a list has no apiVersion, the object in a row has that of the version.
        assert shown.get("apiVersion") == (None if "items" in document else "resource.k8s.io/v1beta1")
        assert "kind" in shown or document["apiVersion"] == "resource.k8s.io/v1beta1"
    assert document["kind"] == "Table"


async def test_a_long_list_lets_other_tasks_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.serve.requests.long_work.SLICE_SECONDS", 0.0)
    order: list[str] = []

    async def long() -> None:
        async for place, _ in in_slices(range(20)):
            order.append(f"long {place}")

    async def short() -> None:
        order.append("short")

    await asyncio.gather(long(), short())
    assert order.index("short") < order.index("long 19")


async def test_two_long_tasks_go_on_in_a_turn_however_many_there_are() -> None:
    went_on = 0

    async def long() -> None:
        nonlocal went_on
        await next_turn()
        went_on += 1

    tasks = [asyncio.create_task(long()) for _ in range(10)]
    counts = []
    while went_on < 10:
        await asyncio.sleep(0)
        counts.append(went_on)
    assert max(later - earlier for earlier, later in pairwise(counts)) <= 2
    await asyncio.gather(*tasks)


@pytest.mark.real_time
async def test_chunks_are_compressed_for_clients_that_want_it() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for number in range(50):
            yield b"%d," % number * 1_000

    request = Request("GET", "/", {"accept-encoding": "gzip"})
    answer = Stream(chunks(), is_whole=True)
    assert wants_compression(request, answer)
    assert not wants_compression(request, Stream(chunks()))
    packed = b"".join([chunk async for chunk in compress_stream(answer).chunks])
    assert gzip.decompress(packed) == b"".join([chunk async for chunk in chunks()])
