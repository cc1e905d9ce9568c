"""Kinds in older versions: what clients send and get, and kinds that are served only with a gate."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.resources.discovery import answer_discovery
from moorage.serve.resources.served import Resources
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]

GROUP = "/apis/resource.k8s.io"
CLAIMS = "namespaces/default/resourceclaims"
OLD_REQUEST = {"name": "r", "deviceClassName": "gpu", "tolerations": [{"key": "k"}]}
OLD_CLAIM = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c"},
    "spec": {"devices": {"requests": [OLD_REQUEST]}},
}
OLD_SLICE = {
    "apiVersion": "resource.k8s.io/v1beta1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [{"name": "a", "basic": {"attributes": {"model": {"string": "x"}}}}],
    },
}
RULE = {
    "apiVersion": "resource.k8s.io/v1alpha3",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "rule"},
    "spec": {"taint": {"key": "k", "effect": "NoExecute"}},
}
JSON, YAML = "application/json", "application/yaml"


class Server:
    """A handler on an empty store."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler

    async def ask(self, method: str, path: str, body: Any = None, content_type: str = JSON, accept: str = "") -> Any:
        """The decoded answer. Raises ApiError."""
        answer = await self.answer(method, path, body, content_type, accept)
        assert isinstance(answer, Response)
        return json.loads(answer.body)

    async def answer(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, accept: str = ""
    ) -> Response | Stream:
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request(method, f"{GROUP}/{path}", {"content-type": content_type, "accept": accept}, text)
        request.user = ADMIN
        return await self.handler(request)


@asynccontextmanager
async def new_server(**gates: bool) -> AsyncIterator[Server]:
    metrics = Metrics()
    api = Api(MemoryStore(), gates_from(gates))
    await api.start()
    await bootstrap(api, 443)
    yield Server(Handler(api, WebPaths((), metrics.render, api.resources), ApiServerMetrics(metrics)))


async def test_a_claim_of_v1beta1_is_stored_as_v1_and_shown_in_the_version_asked_for() -> None:
    async with new_server() as server:
        made = await server.ask("POST", f"v1beta1/{CLAIMS}", OLD_CLAIM)
        assert made["apiVersion"] == "resource.k8s.io/v1beta1"
        flat = {"name": "r", "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
        tolerations = [{"key": "k", "operator": "Equal"}]
        assert made["spec"]["devices"]["requests"] == [flat | {"tolerations": tolerations}]
        for version in ("v1", "v1beta2"):
            shown = await server.ask("GET", f"{version}/{CLAIMS}/c")
            assert shown["apiVersion"] == f"resource.k8s.io/{version}"
            exactly = {name: value for name, value in flat.items() if name != "name"} | {"tolerations": tolerations}
            assert shown["spec"]["devices"]["requests"] == [{"name": "r", "exactly": exactly}]


async def test_lists_tables_and_watches_speak_the_older_version() -> None:
    async with new_server() as server:
        await server.ask("POST", "v1beta1/resourceslices", OLD_SLICE)
        listed = await server.ask("GET", "v1beta1/resourceslices?fieldSelector=spec.nodeName=n,spec.driver!=x")
        assert (listed["apiVersion"], listed["kind"]) == ("resource.k8s.io/v1beta1", "ResourceSliceList")
        assert listed["items"][0]["spec"]["devices"] == OLD_SLICE["spec"]["devices"]  # type: ignore[index]
        table = "application/json;as=Table;v=v1;g=meta.k8s.io"
        shown = await server.ask("GET", "v1beta1/resourceslices?includeObject=Object", accept=table)
        assert [column["name"] for column in shown["columnDefinitions"]] == ["Name", "Node", "Driver", "Pool", "Age"]
        assert shown["rows"][0]["cells"][:4] == ["s", "n", "gpu.example.com", "p"]
        assert shown["rows"][0]["object"]["apiVersion"] == "resource.k8s.io/v1beta1"
        watch = await server.answer("GET", "v1beta1/resourceslices?watch=true&resourceVersion=0")
        assert isinstance(watch, Stream)
        line = json.loads((await anext(watch.chunks)).splitlines()[0])
        assert line["type"] == "ADDED"
        assert line["object"]["apiVersion"] == "resource.k8s.io/v1beta1"
        assert "basic" in line["object"]["spec"]["devices"][0]
        await watch.chunks.aclose()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "patch_type",
    ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"],
)
async def test_patches_in_an_older_version_are_converted(patch_type: str) -> None:
    async with new_server() as server:
        await server.ask("POST", "v1beta1/resourceslices", OLD_SLICE)
        devices = [{"name": "b", "basic": {"allowMultipleAllocations": True}}]
        patch: Raw = {"spec": {"devices": devices}}
        query = ""
        if "apply" in patch_type:
            patch |= {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice", "metadata": {"name": "s"}}
            query = "?fieldManager=me&force=true"
        patched = await server.ask("PATCH", f"v1beta1/resourceslices/s{query}", patch, patch_type)
        assert patched["spec"]["devices"] == devices
        shown = await server.ask("GET", "v1/resourceslices/s")
        assert shown["spec"]["devices"] == [{"name": "b", "allowMultipleAllocations": True}]


async def test_yaml_goes_both_ways_and_a_warning_says_that_the_version_is_deprecated() -> None:
    body = b"apiVersion: resource.k8s.io/v1beta1\nkind: DeviceClass\nmetadata: {name: gpu}\nspec: {}\n"
    async with new_server() as server:
        answer = await server.answer("POST", "v1beta1/deviceclasses", body, YAML, YAML)
        assert isinstance(answer, Response)
        assert b"apiVersion: resource.k8s.io/v1beta1" in answer.body
        warning = '299 - "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+"'
        assert ("Warning", warning) in answer.headers


@pytest.mark.parametrize(
    ("version", "body", "content_type", "code"),
    [
        ("v1beta1", OLD_CLAIM | {"apiVersion": "resource.k8s.io/v1"}, JSON, 400),
        ("v1", OLD_CLAIM, JSON, 400),
        ("v1beta1", b"k8s\x00", "application/vnd.kubernetes.protobuf", 415),
        ("v1beta1", OLD_CLAIM | {"kind": "Pod"}, JSON, 400),
        ("v1alpha3", OLD_CLAIM, JSON, 404),
    ],
)
async def test_other_versions_are_refused(version: str, body: Any, content_type: str, code: int) -> None:
    async with new_server() as server:
        with pytest.raises(ApiError) as refusal:
            await server.ask("POST", f"{version}/{CLAIMS}", body, content_type)
    assert refusal.value.code == code


async def refused(server: Server, resources: str, document: Raw) -> str:
    with pytest.raises(ApiError) as refusal:
        await server.ask("POST", f"v1beta1/{resources}?fieldValidation=Strict", document)
    return refusal.value.message


async def test_unknown_fields_are_named_as_the_older_version_has_them() -> None:
    begins = 'in version "v1beta1" cannot be handled as a ResourceClaim: strict decoding error: unknown field '
    async with new_server() as server:
        request = OLD_REQUEST | {"selectors": [{"cel": {"expression": "true", "foo": 1}}]}
        claim = OLD_CLAIM | {"spec": {"devices": {"requests": [request]}}}
        message = await refused(server, CLAIMS, claim)
        assert message == f'ResourceClaim {begins}"spec.devices.requests[0].selectors[0].cel.foo"'
        newer = OLD_CLAIM | {"spec": {"devices": {"requests": [{"name": "r", "exactly": OLD_REQUEST}]}}}
        message = await refused(server, CLAIMS, newer)
        assert message == f'ResourceClaim {begins}"spec.devices.requests[0].exactly"'
        devices = [{"name": "d", "attributes": {}}]
        slices = OLD_SLICE | {"spec": OLD_SLICE["spec"] | {"devices": devices}}  # type: ignore[operator]
        assert 'unknown field "spec.devices[0].attributes"' in await refused(server, "resourceslices", slices)


async def test_device_taint_rules_are_served_only_where_their_gate_is_on() -> None:
    async with new_server() as server:
        for version in ("v1beta2", "v1alpha3"):
            with pytest.raises(ApiError) as refusal:
                await server.ask("GET", f"{version}/devicetaintrules")
            assert refusal.value.code == 404
    async with new_server(DRADeviceTaintRules=True) as server:
        made = await server.ask("POST", "v1alpha3/devicetaintrules", RULE)
        assert made["spec"]["taint"]["timeAdded"]
        shown = await server.ask("GET", "v1beta2/devicetaintrules/rule")
        assert shown["apiVersion"] == "resource.k8s.io/v1beta2"


def test_discovery_prefers_the_newest_version_and_leaves_out_what_is_not_served() -> None:
    def resources(version: str, **gates: bool) -> set[str]:
        answer = answer_discovery(f"/apis/resource.k8s.io/{version}", served=Resources(gates_from(gates)))
        return set() if answer is None else {entry["name"] for entry in json.loads(answer.body)["resources"]}

    answer = answer_discovery("/apis/resource.k8s.io", served=Resources(gates_from({"DRADeviceTaintRules": True})))
    assert answer is not None
    group = json.loads(answer.body)
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta2", "v1beta1", "v1alpha3"]
    assert group["preferredVersion"]["version"] == "v1"
    assert "resourceclaims/status" in resources("v1beta1")
    assert "devicetaintrules" not in resources("v1beta2")
    assert "devicetaintrules" in resources("v1beta2", DRADeviceTaintRules=True)
    assert resources("v1alpha3") == set()
    assert KINDS.RESOURCE_CLAIM.in_version("v1beta1").api_version == "resource.k8s.io/v1beta1"
