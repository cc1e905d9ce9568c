"""What fuzzing found, one request each: it was answered with a 5xx once, or done."""

import json
from typing import Any

import pytest
from tests.e2e.fuzz_documents import fine
from tests.e2e.fuzz_requests import Asked
from tests.e2e.handler_without_wire import handler_and_api, tried

from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time

_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_ATTACHMENT = "/apis/storage.k8s.io/v1/volumeattachments/a"
_NAMESPACE: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}


@pytest.mark.parametrize(
    ("method", "target", "content_type", "document", "code"),
    [
        (
            "PATCH",
            f"{_ATTACHMENT}?fieldManager=me",
            _APPLY,
            {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": 65535},
            400,
        ),
        ("DELETE", "/api/v1/namespaces/default", _JSON, {}, 403),
        ("PUT", "/api/v1/namespaces/default/finalize", _JSON, {**_NAMESPACE, "spec": "1.5Gi"}, 400),
        ("PUT", "/api/v1/namespaces/default/finalize", _JSON, {**_NAMESPACE, "spec": {"finalizers": 5}}, 400),
    ],
)
async def test_it_is_refused(method: str, target: str, content_type: str, document: Any, code: int) -> None:
    handler, _ = await handler_and_api()
    asked = Asked(method, target, {"content-type": content_type}, json.dumps(document).encode())
    assert await tried(handler, asked) == (code, "")


async def test_every_fine_document_is_fine() -> None:
    """The others are made from these: were they refused, nothing would be tested."""
    handler, _ = await handler_and_api()
    for facts in KINDS.values():
        root = f"/apis/{facts.api_version}" if facts.group else "/api/v1"
        where = "/namespaces/default" if facts.namespaced else ""
        name = "web" if facts.api_version != "v1" or facts.name != "Event" else "event"
        body = json.dumps(fine(facts, name, "default")).encode()
        asked = Asked("POST", f"{root}{where}/{facts.plural}", {"content-type": _JSON}, body)
        assert await tried(handler, asked) == (201, ""), facts.name


async def test_what_cannot_be_answered_is_not_done() -> None:
    handler, _ = await handler_and_api()
    path, kind = "/api/v1/namespaces/default/pods", {"content-type": _JSON}
    body = json.dumps(fine(KINDS.POD, "web", "default")).encode()
    assert await tried(handler, Asked("POST", path, kind, body)) == (201, "")
    evict = Asked("POST", f"{path}/web/eviction", {**kind, "accept": "text/html"}, b"{}")
    assert await tried(handler, evict) == (406, "")
    assert await tried(handler, Asked("GET", f"{path}/web", {})) == (200, "")
