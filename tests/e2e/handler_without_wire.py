"""A handler with an empty store, asked without a wire, and what is wrong with its answers.

In: `Asked`. Out: the code of the answer and a complaint: a 5xx, an exception, a refusal that is no Status.
"""

import asyncio
import traceback

import msgspec
from tests.e2e.fuzz_requests import Asked

from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.http.messages import Request, Response, Stream, render_head, render_refusal
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

#: The only 500 that are part of the contract: Kubernetes answers so, and clients know it. Webhooks may be gone.
_AS_KUBERNETES = (b"This pod has more than one PodDisruptionBudget", b"failed calling webhook")


async def handler_and_api() -> tuple[Handler, Api]:
    metrics = Metrics()
    api = Api(MemoryStore(), gates_from({"AllAlpha": True, "AllBeta": True}))
    await api.start()
    await bootstrap(api, 443)
    paths = WebPaths((), metrics.render)
    return Handler(api, paths, ApiServerMetrics(metrics)), api


def problem_of(answer: Response) -> str:
    """What is wrong with an answer, or nothing."""
    render_head("1.1", answer, len(answer.body), True)
    if answer.status >= 500 and not any(text in answer.body for text in _AS_KUBERNETES):
        return f"{answer.status}: {answer.body[:500]!r}"
    if b"Traceback" in answer.body:
        return "a traceback in the body"
    if 400 <= answer.status < 500:
        status = msgspec.json.decode(answer.body)
        said = (status.get("kind"), status.get("apiVersion"), status.get("status"), status.get("code"))
        if said != ("Status", "v1", "Failure", answer.status):
            return f"no Status: {status}"
        if not isinstance(status.get("message"), str) or not status["message"] or not status.get("reason"):
            return f"a Status that says nothing: {status}"
    elif answer.content_type == "application/json" and answer.body:
        msgspec.json.decode(answer.body)
    return ""


async def tried(handler: Handler, asked: Asked) -> tuple[int, str]:
    """The code of the answer, and what is wrong with it."""
    request = Request(asked.method, asked.target, asked.headers, asked.body)
    request.user = ADMIN
    try:
        try:
            answer = await handler(request)
        except ApiError as error:
            answer = render_refusal(error)
        if isinstance(answer, Stream) and answer.is_whole:
            body = b"".join([chunk async for chunk in answer.chunks])
            answer = Response(answer.status, body, answer.content_type, answer.headers)
        if isinstance(answer, Stream):
            await _listened(answer)
            return 200, ""
        return answer.status, problem_of(answer)
    except Exception:
        return 500, traceback.format_exc()


async def _listened(stream: Stream) -> None:
    """What a watch tells at once; what it would wait for is not waited for."""

    async def listen() -> None:
        async for chunk in stream.chunks:
            for line in chunk.splitlines():
                assert "type" in msgspec.json.decode(line)

    listening = asyncio.create_task(listen())
    for _ in range(5):
        await asyncio.sleep(0)
    listening.cancel()
    (outcome,) = await asyncio.gather(listening, return_exceptions=True)
    await stream.chunks.aclose()  # type: ignore[attr-defined]
    if isinstance(outcome, Exception):
        raise outcome
