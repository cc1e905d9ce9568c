"""Requests to subresources, and what a handler makes of requests: codes, forms, warnings."""

import asyncio
import json
from typing import Any

import pytest
from tests.unit.serve.verbs.bench import deployment, make, pod

from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

IN = "/api/v1/namespaces/default"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


def asked(method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any, Response | None]:
    """The answer of a handler whose store has a pod `p` and a deployment `web`: its code, its body, itself."""

    async def main() -> tuple[int, Any, Response | None]:
        metrics = Metrics()
        api = Api(MemoryStore(), gates_from({}))
        await api.start()
        await bootstrap(api, 443)
        await make(api, KINDS.POD, pod("p"))
        await make(api, KINDS.DEPLOYMENT, deployment("web", 3))
        handler = Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, target, {"content-type": "application/json", **named}, text)
        request.user = ADMIN
        try:
            answer = await handler(request)
        except ApiError as refusal:
            return refusal.code, refusal.status, None
        assert isinstance(answer, Response)
        is_json = bool(answer.body) and answer.content_type == "application/json"
        return answer.status, json.loads(answer.body) if is_json else answer.body.decode(), answer

    return asyncio.run(main())


def binding(**rest: Any) -> dict[str, Any]:
    return {"target": {"kind": "Node", "name": "n"}, **rest}


SCALE = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
TWICE = b"apiVersion: autoscaling/v1\nkind: Scale\nspec: {replicas: 4}\nspec: {replicas: 5}\n"
ANSWERS: list[tuple[str, str, Any, str, int]] = [
    ("POST", f"{IN}/pods/p/binding", binding(), "", 201),
    ("POST", f"{IN}/pods/p/binding", binding(kind="Binding", apiVersion="v1"), "", 201),
    ("POST", f"{IN}/pods/p/binding", binding(kind="Pod"), "", 400),
    ("POST", f"{IN}/pods/p/binding?dryRun=All&dryRun=All", binding(), "", 201),
    ("POST", f"{IN}/pods/p/binding?dryRun=Some", binding(), "", 422),
    ("POST", f"{IN}/bindings", binding(metadata={"name": "p"}), "", 201),
    ("POST", f"{IN}/bindings", binding(), "", 400),
    ("POST", f"{IN}/pods/p/eviction", {}, "", 201),
    ("POST", f"{IN}/pods/p/eviction", {"kind": "Eviction", "apiVersion": "policy/v1"}, "", 201),
    ("POST", f"{IN}/pods/p/eviction", {"kind": "Eviction", "apiVersion": "policy/v1beta1"}, "", 201),
    ("POST", f"{IN}/pods/p/eviction", {"kind": "Eviction", "apiVersion": "policy/v2"}, "", 400),
    ("POST", f"{IN}/pods/p/eviction", {"kind": "Pod"}, "", 400),
    ("GET", f"{IN}/pods/p/log", None, "", 204),
    ("GET", f"{IN}/pods/q/log", None, "", 404),
    ("GET", f"{WEB}/scale", None, "", 200),
    ("PUT", f"{WEB}/scale", SCALE, "", 200),
    ("PUT", f"{WEB}/scale", {**SCALE, "kind": "Pod"}, "", 400),
    ("PUT", f"{WEB}/scale?fieldValidation=Strict", {**SCALE, "odd": 1}, "", 400),
    ("PATCH", f"{WEB}/scale", {"spec": {"replicas": 5}}, MERGE, 200),
    ("PATCH", f"{WEB}/scale?force=true", {"spec": {"replicas": 5}}, MERGE, 422),
    ("PATCH", f"{WEB}/scale?fieldManager=you&force=true", SCALE, APPLY, 200),
    ("PATCH", f"{WEB}/scale?fieldManager=you", SCALE, APPLY, 409),
    ("PATCH", f"{WEB}/scale", SCALE, APPLY, 422),
    ("PATCH", f"{WEB}/scale?fieldManager=you&force=1&fieldValidation=Strict", TWICE, APPLY, 400),
    ("PATCH", f"{WEB}/scale?fieldManager=you&force=1", TWICE, APPLY, 200),
    ("PUT", "/api/v1/namespaces/default/finalize", {"metadata": {"name": "default"}}, "", 200),
    ("GET", f"{IN}/pods/p?resourceVersion=99999", None, "", 410),
    ("GET", f"{IN}/pods/p?resourceVersion=1", None, "", 200),
    ("GET", f"{IN}/pods/p?includeObject=odd", None, "", 200),
    ("DELETE", f"{IN}/pods", None, "", 200),
    ("DELETE", "/api/v1/pods", None, "", 405),
]


@pytest.mark.parametrize(("method", "target", "body", "content_type", "code"), ANSWERS)
def test_codes(method: str, target: str, body: Any, content_type: str, code: int) -> None:
    headers = {"content_type": content_type} if content_type else {}
    found, said, _ = asked(method, target, body, **headers)
    assert found == code, said


def test_what_scaling_answers() -> None:
    assert asked("PUT", f"{WEB}/scale", SCALE)[1]["spec"] == {"replicas": 5}
    applied = asked("PATCH", f"{WEB}/scale?fieldManager=you&force=1", SCALE, content_type=APPLY)
    assert applied[1]["spec"] == {"replicas": 5}
    table = asked("GET", f"{WEB}/scale", accept="application/json;as=Table;v=v1;g=meta.k8s.io")[1]
    assert (table["kind"], table["rows"][0]["cells"][0]) == ("Table", "web")


def test_warnings_are_headers() -> None:
    odd = pod("q")
    odd["spec"]["odd"] = 1
    _, _, created = asked("POST", f"{IN}/pods", odd)
    _, _, scaled = asked("PUT", f"{WEB}/scale", {**SCALE, "odd": 1})
    _, _, patched = asked("PATCH", WEB, b'{"spec":{"replicas":1,"replicas":2}}', content_type=MERGE)
    texts = [dict(answer.headers).get("Warning") for answer in (created, scaled, patched) if answer is not None]
    assert texts == [
        r'299 - "unknown field \"spec.odd\""',
        r'299 - "unknown field \"odd\""',
        r'299 - "duplicate field \"spec.replicas\""',
    ]


def test_invalid_table_options_are_refused() -> None:
    code, status, _ = asked(
        "GET", f"{IN}/pods?includeObject=odd", accept="application/json;as=Table;v=v1;g=meta.k8s.io"
    )
    why = "includeObject: Invalid value: \"odd\": must be 'Metadata', 'Object', 'None', or empty"
    assert (code, status["message"]) == (400, f"Unable to convert to Table as requested: {why}")


def test_an_answer_in_yaml() -> None:
    code, text, answer = asked("GET", f"{IN}/pods/p", accept="application/yaml")
    assert answer is not None
    assert (code, answer.content_type) == (200, "application/yaml")
    assert "kind: Pod\n" in text
