"""Large documents: what is large, that others are answered meanwhile, and what is refused."""

import asyncio
import threading
from typing import Any

import msgspec
import pytest

from moorage.model.api_error import ApiError, bad_request
from moorage.model.kinds import KINDS, Ref
from moorage.model.patch.patch_error import MAX_CONTAINERS
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests import long_work
from moorage.serve.requests.decoding import decode_object
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.long_work import LongWork, is_large, is_large_body
from moorage.serve.requests.options import WARN, WriteOptions
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs import changing, registry
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.written_metadata import name_owners_once
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

pytestmark = pytest.mark.real_time

MAPS = "/api/v1/namespaces/default/configmaps"
OPTIONS = WriteOptions("me")


def _config_map(name: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", **metadata}}


def test_large_is_what_has_many_values_or_long_ones() -> None:
    assert is_large(b'{"data":[' + b"1," * 10_000)
    assert is_large(b"[" + b"{}" * 10_000)
    assert is_large(b"k: v\n" * 10_000)
    assert is_large(b'{"data":{"a":"' + b"x" * 100_000 + b'"}}')
    assert not is_large(b'{"data":{"a":"' + b"x" * 50_000 + b'"}}')
    assert not is_large(b'{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a"}]}}')
    assert is_large_body(b"\x12\0" * 4_000, "application/vnd.kubernetes.protobuf")
    assert not is_large_body(b"\x12\0" * 1_000, "application/vnd.kubernetes.protobuf")
    long_value = b'{"data":{"a":"' + b"x" * 1_000_000 + b'"}}'
    for content_type in ("application/apply-patch+yaml", "application/json"):
        assert is_large_body(long_value, content_type)
        assert not is_large_body(long_value[:50_000], content_type)


async def test_the_loop_goes_on_while_the_thread_works() -> None:
    work, released = LongWork(), threading.Event()
    assert await work.run(threading.get_ident) != threading.get_ident()

    async def release() -> None:
        released.set()

    done, _ = await asyncio.gather(work.run(released.wait, 60), release())
    assert done


class _Hogs:
    """Clients that send more long work than there are threads, none of which ends before it is released."""

    def __init__(self, work: LongWork) -> None:
        self._work, self._released, self._began = work, threading.Event(), list[str]()
        self._tasks: list[asyncio.Task[bool]] = []

    def send(self, client: str, jobs: int) -> None:
        self._tasks += [asyncio.create_task(self._run(client)) for _ in range(jobs)]

    async def release(self) -> list[str]:
        self._released.set()
        await asyncio.gather(*self._tasks)
        return self._began

    async def _run(self, client: str) -> bool:
        long_work.CLIENT.set(client)
        return await self._work.run(self._wait, client)

    def _wait(self, client: str) -> bool:
        self._began.append(client)
        return self._released.wait(60)


async def _run_as(client: str, work: LongWork) -> int:
    long_work.CLIENT.set(client)
    return await work.run(int, "7")


async def test_long_work_of_one_client_does_not_keep_others_waiting() -> None:
    work = LongWork()
    hogs = _Hogs(work)
    hogs.send("greedy", 20)
    await asyncio.sleep(0)
    assert await asyncio.create_task(_run_as("modest", work)) == 7
    assert await asyncio.create_task(_run_as("", work)) == 7
    assert len(await hogs.release()) == 20


async def test_clients_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "_MAX_THREADS", 1)
    work = LongWork()
    hogs = _Hogs(work)
    for client in ("a", "b", "c"):
        hogs.send(client, 3)
    await asyncio.sleep(0)
    assert await hogs.release() == ["a", *"abc", *"abc", *"bc"]


async def test_a_client_with_many_large_requests_is_turned_away_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "_MAX_WAITING_OF_CLIENT", 2)
    work = LongWork()
    hogs = _Hogs(work)
    hogs.send("greedy", long_work._MAX_THREADS_OF_CLIENT + 2)
    await asyncio.sleep(0)
    with pytest.raises(ApiError) as refused:
        await asyncio.create_task(_run_as("greedy", work))
    assert refused.value.code == 429
    assert await asyncio.create_task(_run_as("modest", work)) == 7
    await hogs.release()


async def test_a_refusal_in_the_thread_is_the_answer() -> None:
    def refuse() -> None:
        raise bad_request("no")

    with pytest.raises(ApiError, match="no"):
        await LongWork().run(refuse)


async def test_too_many_large_requests_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_work, "_MAX_WAITING", 0)
    with pytest.raises(ApiError) as refused:
        await LongWork().run(int)
    assert refused.value.code == 429


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "APPLY"])
async def test_large_requests_are_read_and_admitted_in_the_thread(
    api: Api, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    plain = LongWork.run

    async def run(self: LongWork, function: Any, *arguments: Any) -> Any:
        seen.append(function.__name__)
        return await plain(self, function, *arguments)

    monkeypatch.setattr(LongWork, "run", run)
    document = _config_map("large") | {"data": {f"k{i}": "v" for i in range(5_000)}}
    body = msgspec.json.encode(document)
    metrics = Metrics()
    handler = Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))
    if method in ("PUT", "PATCH"):
        await create(api, KINDS.CONFIG_MAP, "default", _config_map("large"), OPTIONS)
    types = {"PATCH": "application/merge-patch+json", "APPLY": "application/apply-patch+yaml"}
    path = MAPS if method == "POST" else f"{MAPS}/large" + ("?fieldManager=me" if method == "APPLY" else "")
    headers = {"content-type": types.get(method, "application/json")}
    request = Request("PATCH" if method == "APPLY" else method, path, headers, body)
    request.user = ADMIN
    answer = await handler(request)
    assert isinstance(answer, Response)
    assert answer.status in (200, 201)
    assert seen[0] in ("decode_object", "read_patch")
    assert {"admit_alone", "advance"} & set(seen)


async def test_a_small_change_of_a_large_object_is_made_in_the_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = _config_map("large") | {"data": {f"k{i}": "v" for i in range(5_000)}}
    await create(api, KINDS.CONFIG_MAP, "default", large, OPTIONS)
    seen: list[str] = []
    plain = api.long_work.run

    async def run(function: Any, *arguments: Any) -> Any:
        seen.append(function.__name__)
        return await plain(function, *arguments)

    monkeypatch.setattr(api.long_work, "run", run)
    new = _config_map("large") | {"data": {"a": "b"}}
    await changing.replace(api, Ref(KINDS.CONFIG_MAP, "default", "large"), new, OPTIONS)
    assert seen == ["advance"]


async def test_an_object_that_is_too_large_to_store_is_refused_as_etcd_refuses_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "MAX_OBJECT_BYTES", 1_000)
    with pytest.raises(ApiError, match="etcdserver: request is too large") as refused:
        await create(api, KINDS.CONFIG_MAP, "default", _config_map("a") | {"data": {"a": "x" * 1_000}}, OPTIONS)
    assert refused.value.code == 500
    # Without its field owners it fits, as in Kubernetes.
    some = {f"key-{i}": "" for i in range(35)}
    done = await create(api, KINDS.CONFIG_MAP, "default", _config_map("b") | {"data": some}, OPTIONS)
    assert b"managedFields" not in done.stored.value


@pytest.mark.parametrize("piece", [b"{}", b"[]"])
def test_a_document_of_very_many_objects_is_refused(piece: bytes) -> None:
    body = b'{"spec":{"containers":[' + b",".join([piece] * (MAX_CONTAINERS + 2)) + b"]}}"
    for content_type in ("application/json", "application/yaml"):
        with pytest.raises(ApiError) as refused:
            decode_object(body, content_type, KINDS.POD, WARN)
        assert refused.value.code == 413


def test_a_protobuf_bomb_is_refused() -> None:
    def field(number: int, value: bytes) -> bytes:
        length, text = len(value), b""
        while length > 127:
            text, length = text + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + text + bytes([length]) + value

    bomb = b"k8s\0" + field(1, field(1, b"v1") + field(2, b"Pod")) + field(2, field(2, field(2, b"") * 251_000))
    with pytest.raises(ApiError, match="more than 250000 fields"):
        decode_object(bomb, "application/vnd.kubernetes.protobuf", KINDS.POD, WARN)


def test_a_hundred_complaints_about_fields_are_enough() -> None:
    body = b'{"spec":{%b}}' % b",".join(b'"x%d":1' % i for i in range(5_000))
    _, warnings = decode_object(body, "application/json", KINDS.POD, WARN)
    assert len(warnings) == 100
    with pytest.raises(ApiError) as refused:
        decode_object(body, "application/json", KINDS.POD, "Strict")
    assert refused.value.message.count("unknown field") == 100


async def test_a_thousand_errors_are_enough(api: Api) -> None:
    pod: dict[str, Any] = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "default"}}
    pod["spec"] = {"containers": [{"name": "A"} for _ in range(3_000)]}
    with pytest.raises(ApiError) as refused:
        await create(api, KINDS.POD, "default", pod, OPTIONS, takes_long=True)
    assert len(refused.value.status["details"]["causes"]) == 1_000


def test_very_many_owners_are_compared_in_no_time() -> None:
    owners = [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": str(i % 20_000)} for i in range(20_001)]
    metadata: dict[str, Any] = {"ownerReferences": owners}
    warnings = name_owners_once(metadata)
    assert len(metadata["ownerReferences"]) == 20_000
    assert warnings[0].endswith("observed: 0")


async def test_the_second_pod_of_a_large_template_costs_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    plain = LongWork.run

    async def run(self: LongWork, function: Any, *arguments: Any) -> Any:
        seen.append(function.__name__)
        return await plain(self, function, *arguments)

    monkeypatch.setattr(LongWork, "run", run)
    env = [{"name": f"V{i}", "value": "v"} for i in range(3_000)]
    spec = {"containers": [{"name": "a", "image": "b", "env": env}]}
    for name in ("a", "b", "c"):
        pod: dict[str, Any] = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name}, "spec": spec}
        done = await create(api, KINDS.POD, "default", msgspec.json.decode(msgspec.json.encode(pod)), OPTIONS)
    assert seen.count("admit_alone") == 1
    assert done.stored.template is not None


async def test_a_controllers_large_template_is_admitted_in_the_thread(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    plain = LongWork.run

    async def run(self: LongWork, function: Any, *arguments: Any) -> Any:
        seen.append(function.__name__)
        return await plain(self, function, *arguments)

    monkeypatch.setattr(LongWork, "run", run)
    env = [{"name": f"V{i}", "value": "v"} for i in range(3_000)]
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "a", "image": "b", "env": env}]},
    }
    kind = KINDS.REPLICA_SET
    raw = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {"name": "a"}}
    raw |= {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}
    await create(api, kind, "default", raw, OPTIONS)
    assert "admit_alone" in seen


async def test_slices_that_a_controller_makes_together_are_admitted_in_several_turns_of_the_loop(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def made(number: int) -> dict[str, Any]:
        metadata = {"name": f"s{number}", "namespace": "default"}
        return {
            "apiVersion": KINDS.ENDPOINT_SLICE.api_version,
            "kind": "EndpointSlice",
            "metadata": metadata,
            "addressType": "IPv4",
            "endpoints": [],
            "ports": [],
        }

    seen: list[int] = []
    plain = api.admit_new

    def admit_new(*arguments: Any) -> Any:
        seen.append(turns)
        return plain(*arguments)

    monkeypatch.setattr(api, "admit_new", admit_new)
    task = asyncio.create_task(other())
    await asyncio.gather(*(create(api, KINDS.ENDPOINT_SLICE, "default", made(number), OPTIONS) for number in range(20)))
    task.cancel()
    assert max(seen.count(turn) for turn in seen) <= 2
