"""Requests to one of several servers, and what is in them."""

from typing import Any

import msgspec

from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api

Raw = dict[str, Any]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, value: str = "1") -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}}


def namespace(name: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def pod(name: str, **spec: Any) -> Raw:
    spec = {"containers": [{"name": "c", "image": "i"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def ask(
    api: Api, method: str, path: str, body: Raw | None = None, user: User | None = ADMIN, **headers: str
) -> Response:
    """Send a request without a wire. Raises ApiError."""
    content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
    sent = {"content-type": content_type, **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = Request(method, path, sent, b"" if body is None else msgspec.json.encode(body))
    request.user = user
    answer = await handler_of(api)(request)
    assert isinstance(answer, Response)
    return answer


def handler_of(api: Api) -> Handler:
    return Handler(api, WebPaths((), lambda accept: (b"", ""), api.resources), api.metrics)


def content(answer: Response) -> Any:
    return msgspec.json.decode(answer.body)
